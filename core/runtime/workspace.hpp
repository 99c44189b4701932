// Scratch memory of a thread on one device and stream: grows, is reused, never shared by two
// launches at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenon/core/device_table.hpp"

namespace tenon {

class BuiltEntry;

/// One thread's blocks on one device and stream. Taken and given back like a stack.
class WorkspaceArena {
 public:
  /// Of a thread's calls on a stream: its device's default one, or one of the caller's.
  WorkspaceArena(std::shared_ptr<DeviceTable> devices, const DeviceEntry* device, void* stream);
  /// Of a capture: memory is allocated on another stream, which does not capture.
  WorkspaceArena(std::shared_ptr<DeviceTable> devices,
                 const DeviceEntry* device,
                 void* stream,
                 void* alloc_stream)
      : devices_(std::move(devices)),
        device_(device),
        stream_(stream),
        alloc_stream_(alloc_stream),
        separate_(devices_->separates_workspaces(*device)) {}
  ~WorkspaceArena();
  WorkspaceArena(const WorkspaceArena&) = delete;
  WorkspaceArena& operator=(const WorkspaceArena&) = delete;

  [[nodiscard]] bool is_for(const DeviceTable* devices,
                            const DeviceEntry* device,
                            void* stream) const {
    return devices_.get() == devices && device_ == device && stream_ == stream;
  }

  [[nodiscard]] bool is_last_user() const { return devices_.use_count() == 1; }

  /// Marks the top; what is taken after it goes back when the mark is released.
  struct Mark {
    std::size_t block = 0;
    std::size_t used = 0;
  };
  [[nodiscard]] Mark mark() const { return top_; }
  void release(Mark mark) { top_ = mark; }
  /// What it holds, taken or not.
  [[nodiscard]] std::size_t held_bytes() const;
  /// 256-byte aligned bytes.
  Result<void*> take(std::size_t size_bytes);

 private:
  Result<void*> take_separate(std::size_t size_bytes);
  /// Adds a block behind those that are there.
  Result<void> add_block(std::size_t size_bytes);
  struct Block {
    std::byte* memory = nullptr;
    std::size_t size_bytes = 0;
  };
  struct Returned;
  std::shared_ptr<DeviceTable> devices_;
  const DeviceEntry* device_;
  void* stream_;
  void* alloc_stream_;
  bool separate_;              // what is taken is a block of its own, and of that very size
  bool is_of_caller_ = false;  ///< the stream may be gone when the memory goes
  std::vector<Block> blocks_;
  Mark top_;
};

/// This thread's arena for a device and stream, or the open CaptureScope's. [any-thread] No lock;
/// allocates at the thread's first use.
WorkspaceArena& workspace_of_thread(const std::shared_ptr<DeviceTable>& devices,
                                    const DeviceEntry* device,
                                    void* stream);

/// The error of memory that was asked for a kernel. `what` is "the workspace of 8 bytes".
[[nodiscard]] Error error_for(std::string what, const BuiltEntry& kernel, const Error& why);
[[nodiscard]] Error workspace_error(std::uint64_t size_bytes,
                                    const BuiltEntry& kernel,
                                    const Error& why);

/// Gives back what was taken within a scope.
class WorkspaceScope {
 public:
  explicit WorkspaceScope(WorkspaceArena& arena) : arena_(arena), mark_(arena.mark()) {}
  ~WorkspaceScope() { arena_.release(mark_); }
  WorkspaceScope(const WorkspaceScope&) = delete;
  WorkspaceScope& operator=(const WorkspaceScope&) = delete;
  Result<void*> take(std::size_t size_bytes) { return arena_.take(size_bytes); }
  /// For a launch of a kernel, whose name the error tells.
  Result<void*> take_workspace(std::uint64_t size_bytes, const BuiltEntry& kernel) {
    auto taken = arena_.take(static_cast<std::size_t>(size_bytes));
    if (!taken) [[unlikely]]
      return fail(workspace_error(size_bytes, kernel, taken.error()));
    return taken;
  }

 private:
  WorkspaceArena& arena_;
  WorkspaceArena::Mark mark_;
};

}  // namespace tenon
