// Views of what the host hands to a plugin: device facts, argument facts, host services, builds,
// launches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tenon/plugin/values.hpp"

namespace tenon {
inline namespace sdk {

/// What a device's owner reports of it. Refusals and identities may read this and nothing else of a
/// device. Owner    borrowed for the call; strings are static.
class DeviceView {
 public:
  explicit DeviceView(const tenon_device& raw) noexcept : raw_(&raw) {}

  [[nodiscard]] std::string_view kind() const noexcept { return to_view(raw_->kind); }
  [[nodiscard]] std::int32_t index() const noexcept { return raw_->index; }
  [[nodiscard]] std::string_view name() const noexcept { return to_view(raw_->name); }
  /// The most specific arch tag.
  [[nodiscard]] std::string_view arch() const noexcept { return to_view(raw_->arch); }
  /// Whether code for this tag runs here. Tags compare as whole strings.
  [[nodiscard]] bool runs(std::string_view arch_tag) const noexcept {
    for (std::uint64_t i = 0; i < raw_->n_runs_archs; ++i) {
      if (to_view(raw_->runs_archs[i]) == arch_tag) return true;
    }
    return false;
  }
  [[nodiscard]] std::uint32_t unit_count() const noexcept { return raw_->unit_count; }
  [[nodiscard]] std::uint32_t warp_size() const noexcept { return raw_->warp_size; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return raw_->memory_bytes; }
  [[nodiscard]] std::uint64_t shared_per_block_bytes() const noexcept {
    return raw_->shared_per_block_bytes;
  }
  [[nodiscard]] std::uint64_t shared_per_unit_bytes() const noexcept {
    return raw_->shared_per_unit_bytes;
  }
  [[nodiscard]] std::uint64_t flags() const noexcept { return raw_->flags; }
  /// The owner's documented handle. Null in refusals and identities.
  [[nodiscard]] void* native() const noexcept { return raw_->native; }
  [[nodiscard]] const tenon_device& raw() const noexcept { return *raw_; }

 private:
  const tenon_device* raw_;
};

/// The name that plugins use. The core has a DeviceFacts of its own: a test that includes both
/// defines TENON_SDK_BESIDE_CORE first and says DeviceView.
#ifndef TENON_SDK_BESIDE_CORE
using DeviceFacts = DeviceView;
#endif

/// The facts of each argument, by index in the contract's order. Borrowed for the call.
class ArgFacts {
 public:
  explicit ArgFacts(const tenon_call& call) noexcept : args_(call.args), count_(call.n_args) {}

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// Of an index outside: an absent argument.
  [[nodiscard]] tenon_arg_facts operator[](std::size_t i) const noexcept {
    if (i >= count_) return tenon_arg_facts{0, TENON_LAYOUT_DENSE, 0, -1, 0, 0};
    return args_[i];
  }
  [[nodiscard]] bool present(std::size_t i) const noexcept { return (*this)[i].present != 0; }
  [[nodiscard]] std::uint32_t layout(std::size_t i) const noexcept { return (*this)[i].layout; }
  [[nodiscard]] bool dense(std::size_t i) const noexcept { return layout(i) == TENON_LAYOUT_DENSE; }
  /// Alignment of the first element's address, at most 256.
  [[nodiscard]] std::uint32_t align_bytes(std::size_t i) const noexcept {
    return 1u << ((*this)[i].align_log2 & 31u);
  }
  [[nodiscard]] bool wide(std::size_t i) const noexcept { return (*this)[i].wide != 0; }
  /// Whether any argument needs more than 31 bits to address an element.
  [[nodiscard]] bool any_wide() const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (args_[i].wide != 0) return true;
    }
    return false;
  }
  /// Index of the earlier argument that is the very same view, or -1.
  [[nodiscard]] std::int32_t alias_of(std::size_t i) const noexcept { return (*this)[i].alias_of; }

 private:
  const tenon_arg_facts* args_;
  std::size_t count_;
};

/// A call as it crosses, for kernel types that read it without a generated `Call`.
class RawCall {
 public:
  explicit RawCall(const tenon_call& raw) noexcept : raw_(&raw) {}
  static RawCall from(const tenon_call& raw) noexcept { return RawCall(raw); }

  template <class T>
  [[nodiscard]] T field(std::size_t index, std::string_view name = "field") const {
    return read<T>(*raw_, index, name);
  }
  [[nodiscard]] ArgFacts args() const noexcept { return ArgFacts(*raw_); }
  [[nodiscard]] const tenon_call& raw() const noexcept { return *raw_; }

 private:
  const tenon_call* raw_;
};

/// The host's services, alive as long as the process. A default-made one has none.
/// Threads  [any-thread]
class Host {
 public:
  Host() noexcept = default;
  explicit Host(const tenon_host* raw) noexcept : raw_(raw) {}

  [[nodiscard]] const tenon_host* raw() const noexcept { return raw_; }
  [[nodiscard]] explicit operator bool() const noexcept { return raw_ != nullptr; }

  /// level: TENON_LOG_*.
  void log(std::int32_t level, std::string_view text) const noexcept {
    if (TENON_HAS(raw_, log) && raw_->log != nullptr) raw_->log(raw_, level, to_str(text));
  }
  void error(std::string_view text) const noexcept { log(TENON_LOG_ERROR, text); }
  void warn(std::string_view text) const noexcept { log(TENON_LOG_WARN, text); }
  void info(std::string_view text) const noexcept { log(TENON_LOG_INFO, text); }
  void debug(std::string_view text) const noexcept { log(TENON_LOG_DEBUG, text); }

  /// Host memory, owned, free with dealloc and the same sizes.
  /// Errors   throws Failure OUT_OF_MEMORY.
  [[nodiscard]] void* alloc(std::uint64_t size_bytes, std::uint64_t align_bytes = 64) const {
    void* memory = raw_ == nullptr ? nullptr : raw_->alloc(raw_, size_bytes, align_bytes);
    if (memory == nullptr) throw Failure(TENON_OUT_OF_MEMORY, "the host gave no memory");
    return memory;
  }
  void dealloc(void* memory,
               std::uint64_t size_bytes,
               std::uint64_t align_bytes = 64) const noexcept {
    if (raw_ != nullptr && memory != nullptr) raw_->dealloc(raw_, memory, size_bytes, align_bytes);
  }

  /// Device memory in stream order, 256-byte aligned, owned, free with device_free.
  /// Errors   throws Failure with the host's status.
  [[nodiscard]] void* device_alloc(const DeviceView& device,
                                   std::uint64_t size_bytes,
                                   void* stream,
                                   std::uint32_t memory_kind = TENON_MEMORY_DEVICE) const {
    void* out = nullptr;
    const tenon_status status =
        raw_ == nullptr
            ? TENON_UNAVAILABLE
            : raw_->device_alloc(raw_, &device.raw(), memory_kind, size_bytes, stream, &out);
    if (status != TENON_OK) throw Failure(status, "the host gave no device memory");
    return out;
  }
  void device_free(const DeviceView& device, void* memory, void* stream) const noexcept {
    if (raw_ != nullptr && memory != nullptr) {
      static_cast<void>(raw_->device_free(raw_, &device.raw(), memory, stream));
    }
  }

  /// One of the plugin's own options: bool, std::int64_t, double or std::string_view (valid for the
  /// process). Errors   throws Failure NOT_FOUND if the plugin does not declare it.
  template <class T>
  [[nodiscard]] T option(std::string_view name) const {
    tenon_value value{};
    const tenon_status status =
        raw_ == nullptr ? TENON_NOT_FOUND : raw_->option(raw_, to_str(name), &value);
    if (status != TENON_OK) {
      detail::TextBuffer text;
      text << "the plugin has no option '" << name << "'";
      throw Failure(status, text.view());
    }
    return detail::ValueReader<T>::read(value, name);
  }

  /// Bytes kept in the host's store under this plugin's build and `key`; nothing where absent.
  [[nodiscard]] std::optional<std::vector<std::uint8_t>> cache_get(std::string_view key) const {
    if (raw_ == nullptr) return std::nullopt;
    std::vector<std::uint8_t> bytes;
    std::uint64_t size_bytes = 0;
    for (int round = 0; round < 3; ++round) {  // another process may replace the item in between
      const tenon_status status =
          raw_->cache_get(raw_, to_str(key), bytes.data(), bytes.size(), &size_bytes);
      if (status != TENON_OK) return std::nullopt;
      if (size_bytes <= bytes.size()) {
        bytes.resize(static_cast<std::size_t>(size_bytes));
        return bytes;
      }
      bytes.resize(static_cast<std::size_t>(size_bytes));
    }
    return std::nullopt;
  }
  /// Keeps bytes; false where the host could not.
  bool cache_put(std::string_view key, const void* bytes, std::size_t size_bytes) const noexcept {
    return raw_ != nullptr && raw_->cache_put(raw_, to_str(key), bytes, size_bytes) == TENON_OK;
  }

  /// A table of further services, or null.
  template <class T>
  [[nodiscard]] const T* extension(std::string_view name,
                                   std::uint32_t min_version) const noexcept {
    if (!TENON_HAS(raw_, extension) || raw_->extension == nullptr) return nullptr;
    return static_cast<const T*>(raw_->extension(raw_, to_str(name), min_version));
  }

 private:
  const tenon_host* raw_ = nullptr;
};

/// What a kernel's constructor may use. Borrowed for the constructor; `host()` outlives it.
class BuildContext {
 public:
  BuildContext(const tenon_host* host, const tenon_build& build) noexcept
      : host_(host), build_(&build) {}

  [[nodiscard]] DeviceView device() const noexcept { return DeviceView(*build_->device); }
  [[nodiscard]] Host host() const noexcept { return host_; }
  /// What `config()` of an earlier, tuned build said, or empty.
  [[nodiscard]] std::string_view tuned_config() const noexcept {
    return to_view(build_->tuned_config);
  }
  /// Facts of the arguments. Empty in a builder target.
  [[nodiscard]] ArgFacts args() const noexcept {
    static constexpr tenon_call kNone{sizeof(tenon_call), nullptr, 0, nullptr, 0};
    return ArgFacts(build_->call == nullptr ? kNone : *build_->call);
  }
  [[nodiscard]] const tenon_build& raw() const noexcept { return *build_; }

 private:
  Host host_;
  const tenon_build* build_;
};

namespace detail {

/// Whether elements of `dtype` may be read as T. Only C++'s own arithmetic types are judged: one
/// byte is raw memory, an unsigned integer carries the bits of any element of its size, and a class
/// is what its author says.
template <class T>
constexpr bool holds_elements(ElementType dtype) noexcept {
  using Plain = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<Plain, bool>) {
    return dtype.bits() == 8 &&
           (dtype.code() == TENON_DTYPE_BOOL || dtype.code() == TENON_DTYPE_UINT);
  } else if constexpr (!std::is_arithmetic_v<Plain> || sizeof(Plain) == 1) {
    return true;
  } else {
    const bool fits = dtype.bits() == 8 * sizeof(Plain);
    if constexpr (std::is_floating_point_v<Plain>) return fits && dtype.code() == TENON_DTYPE_FLOAT;
    if constexpr (std::is_signed_v<Plain>) return fits && dtype.code() == TENON_DTYPE_INT;
    return fits;
  }
}

template <class T>
constexpr std::string_view cpp_name() noexcept {
  using Plain = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<Plain, bool>) return "bool";
  if constexpr (std::is_same_v<Plain, long double>) return "long double";
  if constexpr (std::is_floating_point_v<Plain>) return sizeof(Plain) == 4 ? "float" : "double";
  constexpr bool kSigned = std::is_signed_v<Plain>;
  if constexpr (sizeof(Plain) == 2) return kSigned ? "std::int16_t" : "std::uint16_t";
  if constexpr (sizeof(Plain) == 4) return kSigned ? "std::int32_t" : "std::uint32_t";
  return kSigned ? "std::int64_t" : "std::uint64_t";
}

/// Throws Failure INVALID_ARGUMENT where elements of `dtype` are read as T by mistake.
template <class T>
void require_elements(ElementType dtype) {
  if constexpr (!std::is_void_v<T>) {
    if (holds_elements<T>(dtype)) return;
    throw Failure(TENON_INVALID_ARGUMENT,
                  "an argument of dtype " + std::string(dtype.name()) + " is read as " +
                      std::string(cpp_name<T>()));
  }
}

}  // namespace detail

/// One tensor of a launch, or the shape and dtype of one in a target's build. Borrowed for the
/// call. An absent one has no data, rank 0 and no dtype.
class TensorRef {
 public:
  constexpr TensorRef() noexcept = default;
  explicit TensorRef(const tenon_tensor* raw) noexcept : raw_(raw) {}

  [[nodiscard]] bool present() const noexcept { return raw_ != nullptr; }
  [[nodiscard]] explicit operator bool() const noexcept { return raw_ != nullptr; }
  /// Address of the first element; null only where there are no elements, or the tensor is absent.
  /// Errors   throws Failure INVALID_ARGUMENT if T is an arithmetic type that cannot hold elements
  /// of this dtype: an unsigned integer holds the bits of any element of its size, one byte and
  /// classes hold anything.
  template <class T = void>
  [[nodiscard]] T* data_or_null() const {
    if (raw_ == nullptr || raw_->data == nullptr) return nullptr;
    detail::require_elements<T>(raw_->dtype);
    return static_cast<T*>(static_cast<void*>(static_cast<char*>(raw_->data) + raw_->byte_offset));
  }
  /// The same of a tensor that must be there.
  /// Errors   throws Failure INVALID_ARGUMENT if it is absent, or as above.
  template <class T = void>
  [[nodiscard]] T* data() const {
    if (raw_ == nullptr) throw Failure(TENON_INVALID_ARGUMENT, "a required argument is absent");
    return data_or_null<T>();
  }
  [[nodiscard]] std::size_t rank() const noexcept {
    return raw_ == nullptr ? 0 : static_cast<std::size_t>(raw_->rank);
  }
  /// In elements.
  [[nodiscard]] Span<const std::int64_t> shape() const noexcept {
    return raw_ == nullptr ? Span<const std::int64_t>()
                           : Span<const std::int64_t>(raw_->shape, rank());
  }
  /// In elements; those of size-1 axes and of empty tensors mean nothing.
  [[nodiscard]] Span<const std::int64_t> strides() const noexcept {
    if (raw_ == nullptr || raw_->strides == nullptr) return {};
    return {raw_->strides, rank()};
  }
  [[nodiscard]] std::int64_t size(std::size_t axis) const noexcept { return raw_->shape[axis]; }
  [[nodiscard]] std::int64_t stride(std::size_t axis) const noexcept { return raw_->strides[axis]; }
  [[nodiscard]] std::int64_t element_count() const noexcept {
    if (raw_ == nullptr) return 0;
    std::int64_t count = 1;
    for (const std::int64_t extent : shape()) count *= extent;
    return count;
  }
  [[nodiscard]] ElementType dtype() const noexcept {
    return raw_ == nullptr ? ElementType() : ElementType(raw_->dtype);
  }
  [[nodiscard]] const tenon_tensor* raw() const noexcept { return raw_; }

 private:
  const tenon_tensor* raw_ = nullptr;
};

/// One argument of a launch: a tensor, nothing, or a list of tensors. Borrowed for the call.
class ArgView : public TensorRef {
 public:
  ArgView(const tenon_tensor* const* first, std::size_t count) noexcept
      : TensorRef(count == 0 ? nullptr : first[0]), first_(first), count_(count) {}

  /// Tensors of a list argument; 1 for any other, present or not.
  [[nodiscard]] std::size_t list_size() const noexcept { return count_; }
  [[nodiscard]] TensorRef operator[](std::size_t i) const noexcept {
    return TensorRef(i < count_ ? first_[i] : nullptr);
  }

 private:
  const tenon_tensor* const* first_;
  std::size_t count_;
};

/// One launch. Enqueue on `stream` and return; allocate nothing, wait for nothing. Borrowed for the
/// call.
class Launch {
 public:
  explicit Launch(const tenon_launch& raw) noexcept : raw_(&raw) {}

  /// Argument i of the contract; of an index outside: an absent one.
  [[nodiscard]] ArgView operator[](std::size_t i) const noexcept {
    if (i >= raw_->n_args) return ArgView(nullptr, 0);
    const std::uint32_t first = raw_->arg_first[i];
    return ArgView(raw_->tensors + first, raw_->arg_first[i + 1] - first);
  }
  [[nodiscard]] std::size_t arg_count() const noexcept {
    return static_cast<std::size_t>(raw_->n_args);
  }
  /// The stream as the device kind's owner documents it; T is a pointer type.
  template <class T = void*>
  [[nodiscard]] T stream() const noexcept {
    static_assert(std::is_pointer_v<T>,
                  "stream<T>(): T is the pointer type of the device kind's streams");
    return static_cast<T>(raw_->stream);
  }
  template <class T = void>
  [[nodiscard]] T* workspace() const noexcept {
    return static_cast<T*>(raw_->workspace);
  }
  [[nodiscard]] std::uint64_t workspace_bytes() const noexcept { return raw_->workspace_bytes; }
  [[nodiscard]] DeviceView device() const noexcept { return DeviceView(*raw_->device); }
  /// Every floating tensor is float64, whatever the call's dtype says; only for kernel types
  /// flagged `reference`.
  [[nodiscard]] bool wide() const noexcept { return (raw_->flags & TENON_LAUNCH_WIDE) != 0; }
  /// The call; only for kernel types, not for builder targets.
  template <class Call>
  [[nodiscard]] Call call() const {
    if (raw_->call == nullptr) throw Failure(TENON_INVALID_ARGUMENT, "the launch carries no call");
    return Call::from(*raw_->call);
  }
  [[nodiscard]] const tenon_launch& raw() const noexcept { return *raw_; }

 private:
  const tenon_launch* raw_;
};

}  // namespace sdk
}  // namespace tenon
