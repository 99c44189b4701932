// Devices at run time: the kinds that plugins own, their devices, and memory and streams through
// their owners.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/device.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/plugin.h"

namespace tenon {

/// What the owner of a device reports of it, owned. `abi()` is the view that crosses to plugins.
class DeviceFacts {
 public:
  DeviceFacts() = default;
  /// Copies strings and lists. @pre `described.kind` is valid UTF-8.
  explicit DeviceFacts(const tenon_device& described);
  /// Facts by hand, for hardware that is not here (explain --assume).
  struct Fields {
    std::string kind, arch, name, pci, uuid;
    std::vector<std::string> runs_archs;
    std::int32_t index = 0;
    std::int32_t dlpack_type = 0;
    std::uint32_t unit_count = 0;
    std::uint32_t warp_size = 1;
    std::uint64_t memory_bytes = 0;
    std::uint64_t shared_per_block_bytes = 0;
    std::uint64_t shared_per_unit_bytes = 0;
    std::uint64_t flags = 0;
  };
  explicit DeviceFacts(Fields fields);

  [[nodiscard]] const Fields& fields() const { return *fields_; }
  /// For refuse and identity: `native` is null. Points into this object's shared part.
  [[nodiscard]] const tenon_device& abi() const { return abi_; }

 private:
  void bind();
  std::shared_ptr<const Fields> fields_ = std::make_shared<const Fields>();
  std::shared_ptr<const std::vector<tenon_str>> archs_;
  tenon_device abi_{};
};

/// One device of one kind: what it is, or why it cannot be used.
struct DeviceEntry {
  Device device;
  DeviceFacts facts;
  tenon_device launch{};  ///< `facts` with the owner's native handle: for builds and launches
  std::optional<Error> failure;
  std::vector<Device>
      same_as;  ///< the same physical card under other kinds, by PCI address or UUID
};

/// A device kind and its owner.
struct DeviceKindEntry {
  DeviceKind kind;
  std::string plugin;                ///< id of the owner
  tenon_device_kind table;           ///< normalised: what the plugin did not fill is null
  const tenon_host* host = nullptr;  ///< the owner's, through which what happens to it is logged
};

/// An application's own pool for the memory of a device kind.
/// Owner    kept until the last of its memory has come back: tensors may outlive the Runtime, and a
///          thread keeps workspaces for its next call.
/// Threads  both functions are called from any thread, several at a time, and do not throw
struct DeviceAllocator {
  /// At least 256-byte aligned memory of the device, usable on `stream` at once; null: none is
  /// left.
  std::function<void*(Device device, std::size_t size_bytes, void* stream)> alloc;
  /// Takes back what alloc gave, with the same size, once `stream` has passed this point.
  std::function<void(Device device, void* memory, std::size_t size_bytes, void* stream)> free;
  /// Who has no memory left, in the error that says so.
  std::string name = "the application's allocator";
  /// Each workspace is asked for by itself and in the very size that its kernel named, not as part
  /// of a larger block: for an allocator that watches the ends of what it gives.
  bool separate_workspaces = false;
};

/// All device kinds of a Runtime. Devices are enumerated at first need, once per kind.
class DeviceTable {
 public:
  DeviceTable();
  ~DeviceTable();
  DeviceTable(const DeviceTable&) = delete;
  DeviceTable& operator=(const DeviceTable&) = delete;

  /// Adds a kind. @errors PluginRejected when it has an owner already; both are named.
  Result<void> add(DeviceKindEntry kind);
  /// Hides devices: only these indices of the kind are visible; they keep their numbers. `from`
  /// is the setting that says so, for errors.
  void set_visible(DeviceKind kind, std::vector<std::int32_t> indices, std::string from = {});
  /// Asked once per kind before its owner is asked for devices; the error is the reason that there
  /// are none. Before anything is enumerated; called from any thread, no lock held.
  void set_gate(std::function<std::optional<Error>(const DeviceKindEntry&)> gate);

  /// From here on outputs, workspaces and what plugins ask the host for come from the application's
  /// pool; pinned and managed memory still comes from the owner. To be set before the first memory
  /// of the kind is asked for. @errors UsageError: a function is missing, memory was given already;
  /// DeviceError: no such kind.
  Result<void> set_allocator(DeviceKind kind, DeviceAllocator allocator);
  /// Whether the device's memory comes from an allocator that wants workspaces apart.
  [[nodiscard]] bool separates_workspaces(const DeviceEntry& device) const;

  [[nodiscard]] const DeviceKindEntry* kind(DeviceKind kind) const;
  [[nodiscard]] std::vector<const DeviceKindEntry*> kinds() const;
  /// Every device of the kind; enumerates at first use. An empty list comes with the owner's
  /// reason. [any-thread] Later calls take no lock.
  Result<std::span<const DeviceEntry>> devices(DeviceKind kind);
  /// The reason that the owner gave for having no device; empty if it has some.
  [[nodiscard]] std::string no_devices_reason(DeviceKind kind);
  /// The same physical card under other kinds, by PCI address and, where both give one, UUID.
  [[nodiscard]] std::vector<Device> same_card_as(const DeviceEntry& device);
  /// One device. @errors DeviceError: no such kind, index out of range (the range is named),
  /// hidden, failed.
  Result<const DeviceEntry*> find(Device device);

  /// After `status` of a function that `met_by` names. Where it is DEVICE the owner is asked
  /// whether the device can still go on (where not, it is lost from here on: find() says so to
  /// whoever asks, and no kept call is served any more), and whether the failure is that of earlier
  /// work: then this is the error to give, with the field `late`.
  std::optional<Error> late_error(const DeviceEntry& device,
                                  tenon_status status,
                                  std::string_view met_by);
  /// The error of a function of the device's kind that was called to do `what`, in the owner's
  /// words; a late one where late_error gives one.
  Error function_error(const DeviceEntry& device,
                       const char* function,
                       std::string what,
                       tenon_status status,
                       const tenon_reason& reason);

  /// Whether this is a forked child and the device, of another kind than cpu, is its parent's: its
  /// owner must not be called any more. find() says so in an error.
  [[nodiscard]] bool is_of_parent(const DeviceEntry& device) const;

  // ---- Memory and streams, through the kind's owner
  // ---------------------------------------------------
  /// Memory of the device in stream order, at least 256-byte aligned.
  Result<void*> alloc(const DeviceEntry& device,
                      std::uint32_t memory_kind,
                      std::size_t size_bytes,
                      void* stream);
  void free(const DeviceEntry& device,
            std::uint32_t memory_kind,
            void* memory,
            std::size_t size_bytes,
            void* stream);
  /// The device's default stream, made by its owner at first use.
  Result<void*> default_stream(const DeviceEntry& device);
  /// Waits until everything that was enqueued on the device, on any stream, is done. Not while one
  /// of its streams captures: that would end the capture. @errors DeviceError, late ones as well.
  Result<void> synchronize(const DeviceEntry& device);
  /// Lets go of `what` once everything that was enqueued on the device so far is done: after
  /// waiting for the device, or, where that would end a capture, at a later wait that does not. For
  /// what launches on any stream may still use. [any-thread] @pre No lock is held.
  void let_go_when_passed(const DeviceEntry& device, std::shared_ptr<void> what);
  /// Lets go of what had to be kept for the sake of a capture, where there is none any more.
  void let_go_of_passed();

  /// Bytes between two devices; between two kinds other than cpu they go through host memory.
  /// Order    after everything that was enqueued on both devices before the call, on any stream of
  ///          the application's, too; done when it returns.
  /// @errors UsageError while a stream of one of them captures: it waits for both. DeviceError,
  /// late ones as well.
  Result<void> copy_bytes(
      Device dst_device, void* dst, Device src_device, const void* src, std::size_t size_bytes);
  /// A dense tensor without contents. For kind `cpu` without an owner this is host memory.
  Result<Tensor> make_tensor(DType dtype, const Dims& shape, Device device, void* stream = nullptr);
  /// A dense copy of a dense tensor on another device, with what all work that was enqueued on the
  /// tensor's device before leaves in it. Complete when it is returned: work on any stream may read
  /// it. @errors as copy_bytes; UsageError: it is not dense.
  Result<Tensor> to_device(const Tensor& tensor, Device device);

 private:
  struct Kind;
  class DeviceMemory;
  struct Bytes;
  /// Waits for an asynchronous device before `what` is done to its memory, unless that is new.
  /// @errors UsageError while one of its streams captures.
  Result<void> settle(const DeviceEntry& device, const std::string& what, bool is_new);
  Result<void> copy(const Bytes& to, const Bytes& from, std::size_t size_bytes);
  /// One that the owner of a kind makes, on the default stream of its device.
  Result<void> copy_by(const DeviceEntry& owner,
                       const Bytes& to,
                       const Bytes& from,
                       std::size_t size_bytes,
                       const std::string& what);
  Kind* find_kind(DeviceKind kind) const;
  Result<Kind*> enumerated(DeviceKind kind);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon
