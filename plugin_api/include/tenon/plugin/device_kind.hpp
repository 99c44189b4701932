// Device kinds: turns a class that owns a kind of device into a tenon_device_kind row.
//
// The class (T) is written like this, with D for `const DeviceFacts&`; what is marked * may be left
// out. Every function may throw Failure. plugin.h says what each must do.
//   static constexpr auto kind = "acme";
// * static constexpr std::int32_t dlpack_type = 12;
// * static constexpr std::uint32_t flags = TENON_DEVICE_FLAG_SYNCHRONOUS;
//   T(Host) or T();                       touches no driver
//   DeviceCount count();                  a number, or no_devices("why")
//   void describe(std::uint32_t index, tenon_device& out);
//                                         kind, index, dlpack_type and flags are filled already
//   void* alloc(D, std::uint32_t memory_kind, std::uint64_t size_bytes, void* stream);
//   void free(D, std::uint32_t memory_kind, void*, std::uint64_t size_bytes, void* stream);
//   void copy(D dst_device, void* dst, D src_device, const void* src, std::uint64_t size_bytes,
//             void* stream);
// * void fill(D, void* dst, std::uint8_t value, std::uint64_t size_bytes, void* stream);
// * MemoryInfo mem_info(D);
// * void* stream_create(D);               void stream_destroy(D, void* stream);
// * void* stream_default(D);              void stream_synchronize(D, void* stream);
// * void stream_wait_event(D, void* stream, void* event);
// * bool stream_is_capturing(D, void* stream);
// * void* event_create(D);                void event_record(D, void* event, void* stream);
// * bool event_query(D, void* event);     void event_destroy(D, void* event);
// * std::uint64_t event_elapsed_ns(D, void* start, void* end);
//   void synchronize(D);
//   void last_error(D, bool clear);       throws the error that an earlier launch left behind
// * const void* extension(std::string_view name, std::uint32_t min_version);
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "tenon/plugin/detect.hpp"
#include "tenon/plugin/guard.hpp"
#include "tenon/plugin/views.hpp"

namespace tenon {
inline namespace sdk {

/// How many devices there are, and why none if there is a reason.
struct DeviceCount {
  std::uint32_t count = 0;
  const char* why = "";  ///< borrowed until count() returns to the SDK
  DeviceCount(std::uint32_t device_count) noexcept
      : count(device_count) {}  // NOLINT(google-explicit-constructor)
  DeviceCount(std::uint32_t device_count, const char* reason) noexcept
      : count(device_count), why(reason) {}
};
/// No devices, and why: a driver's own words.
[[nodiscard]] inline DeviceCount no_devices(const char* why) noexcept {
  return DeviceCount(0, why);
}

/// Free and total bytes of a device.
struct MemoryInfo {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
};

namespace detail {

TENON_DETAIL_MEMBER(dlpack_type);
TENON_DETAIL_MEMBER(flags);
TENON_DETAIL_MEMBER(fill);
TENON_DETAIL_MEMBER(mem_info);
TENON_DETAIL_MEMBER(stream_create);
TENON_DETAIL_MEMBER(stream_destroy);
TENON_DETAIL_MEMBER(stream_default);
TENON_DETAIL_MEMBER(stream_synchronize);
TENON_DETAIL_MEMBER(stream_wait_event);
TENON_DETAIL_MEMBER(stream_is_capturing);
TENON_DETAIL_MEMBER(event_create);
TENON_DETAIL_MEMBER(event_record);
TENON_DETAIL_MEMBER(event_query);
TENON_DETAIL_MEMBER(event_elapsed_ns);
TENON_DETAIL_MEMBER(event_destroy);
TENON_DETAIL_MEMBER(extension);

template <class T>
constexpr std::int32_t dlpack_type_of() noexcept {
  if constexpr (Has_dlpack_type<T>::value) {
    return T::dlpack_type;
  } else {
    return 12;  // kDLExtDev
  }
}
template <class T>
constexpr std::uint32_t device_flags_of() noexcept {
  if constexpr (Has_flags<T>::value) {
    return T::flags;
  } else {
    return 0;
  }
}

// The functions of a row whose context is a T.
template <class T>
struct DeviceKindFunctions {
  using Dev = const tenon_device*;
  using Why = tenon_reason*;
  static T& self(void* context) noexcept { return *static_cast<T*>(context); }
  static DeviceView facts(Dev device) noexcept { return DeviceView(*device); }

  static tenon_status count(void* c, std::uint32_t* count, Why why) noexcept {
    return guarded(why, [&] {
      const DeviceCount found = self(c).count();
      *count = found.count;
      if (found.count == 0) write_text(why, found.why);
    });
  }
  static tenon_status describe(void* c, std::uint32_t index, tenon_device* out, Why why) noexcept {
    return guarded(why, [&] {
      out->kind = to_str(T::kind);
      out->index = static_cast<std::int32_t>(index);
      out->dlpack_type = dlpack_type_of<T>();
      out->flags = device_flags_of<T>();
      self(c).describe(index, *out);
    });
  }
  static tenon_status alloc(void* c,
                            Dev d,
                            std::uint32_t kind,
                            std::uint64_t size_bytes,
                            void* stream,
                            void** out,
                            Why why) noexcept {
    return guarded(why, [&] { *out = self(c).alloc(facts(d), kind, size_bytes, stream); });
  }
  static tenon_status free(void* c,
                           Dev d,
                           std::uint32_t kind,
                           void* memory,
                           std::uint64_t size_bytes,
                           void* stream,
                           Why why) noexcept {
    return guarded(why, [&] { self(c).free(facts(d), kind, memory, size_bytes, stream); });
  }
  static tenon_status copy(void* c,
                           Dev dst_device,
                           void* dst,
                           Dev src_device,
                           const void* src,
                           std::uint64_t size_bytes,
                           void* stream,
                           Why why) noexcept {
    return guarded(why, [&] {
      self(c).copy(facts(dst_device), dst, facts(src_device), src, size_bytes, stream);
    });
  }
  static tenon_status fill(void* c,
                           Dev d,
                           void* dst,
                           std::uint32_t value,
                           std::uint64_t size_bytes,
                           void* stream,
                           Why why) noexcept {
    return guarded(why, [&] {
      self(c).fill(facts(d), dst, static_cast<std::uint8_t>(value), size_bytes, stream);
    });
  }
  static tenon_status mem_info(
      void* c, Dev d, std::uint64_t* free_bytes, std::uint64_t* total_bytes, Why why) noexcept {
    return guarded(why, [&] {
      const MemoryInfo info = self(c).mem_info(facts(d));
      *free_bytes = info.free_bytes;
      *total_bytes = info.total_bytes;
    });
  }
  static tenon_status stream_create(void* c, Dev d, void** out, Why why) noexcept {
    return guarded(why, [&] { *out = self(c).stream_create(facts(d)); });
  }
  static tenon_status stream_destroy(void* c, Dev d, void* stream, Why why) noexcept {
    return guarded(why, [&] { self(c).stream_destroy(facts(d), stream); });
  }
  static tenon_status stream_default(void* c, Dev d, void** out, Why why) noexcept {
    return guarded(why, [&] { *out = self(c).stream_default(facts(d)); });
  }
  static tenon_status stream_synchronize(void* c, Dev d, void* stream, Why why) noexcept {
    return guarded(why, [&] { self(c).stream_synchronize(facts(d), stream); });
  }
  static tenon_status stream_wait_event(
      void* c, Dev d, void* stream, void* event, Why why) noexcept {
    return guarded(why, [&] { self(c).stream_wait_event(facts(d), stream, event); });
  }
  static tenon_status stream_is_capturing(
      void* c, Dev d, void* stream, std::uint32_t* yes, Why why) noexcept {
    return guarded(why, [&] { *yes = self(c).stream_is_capturing(facts(d), stream) ? 1u : 0u; });
  }
  static tenon_status event_create(void* c, Dev d, void** out, Why why) noexcept {
    return guarded(why, [&] { *out = self(c).event_create(facts(d)); });
  }
  static tenon_status event_record(void* c, Dev d, void* event, void* stream, Why why) noexcept {
    return guarded(why, [&] { self(c).event_record(facts(d), event, stream); });
  }
  static tenon_status event_query(
      void* c, Dev d, void* event, std::uint32_t* done, Why why) noexcept {
    return guarded(why, [&] { *done = self(c).event_query(facts(d), event) ? 1u : 0u; });
  }
  static tenon_status event_elapsed_ns(
      void* c, Dev d, void* start, void* end, std::uint64_t* elapsed_ns, Why why) noexcept {
    return guarded(why, [&] { *elapsed_ns = self(c).event_elapsed_ns(facts(d), start, end); });
  }
  static tenon_status event_destroy(void* c, Dev d, void* event, Why why) noexcept {
    return guarded(why, [&] { self(c).event_destroy(facts(d), event); });
  }
  static tenon_status synchronize(void* c, Dev d, Why why) noexcept {
    return guarded(why, [&] { self(c).synchronize(facts(d)); });
  }
  static tenon_status last_error(void* c, Dev d, std::uint32_t clear, Why why) noexcept {
    return guarded(why, [&] { self(c).last_error(facts(d), clear != 0); });
  }
  static const void* extension(void* c, tenon_str name, std::uint32_t min_version) noexcept {
    try {
      return self(c).extension(to_view(name), min_version);
    } catch (...) {
      return nullptr;
    }
  }
};

/// The row of device kind T, whose functions act on `object`.
template <class T>
tenon_device_kind device_kind_row(T* object) noexcept {
  using F = DeviceKindFunctions<T>;
  tenon_device_kind row{};
  row.struct_size = sizeof(row);
  row.kind = to_str(T::kind);
  row.dlpack_type = dlpack_type_of<T>();
  row.flags = device_flags_of<T>();
  row.context = object;
  row.count = &F::count;
  row.describe = &F::describe;
  row.alloc = &F::alloc;
  row.free = &F::free;
  row.copy = &F::copy;
  if constexpr (Has_fill<T>::value) row.fill = &F::fill;
  if constexpr (Has_mem_info<T>::value) row.mem_info = &F::mem_info;
  if constexpr (Has_stream_create<T>::value) row.stream_create = &F::stream_create;
  if constexpr (Has_stream_destroy<T>::value) row.stream_destroy = &F::stream_destroy;
  if constexpr (Has_stream_default<T>::value) row.stream_default = &F::stream_default;
  if constexpr (Has_stream_synchronize<T>::value) row.stream_synchronize = &F::stream_synchronize;
  if constexpr (Has_stream_wait_event<T>::value) row.stream_wait_event = &F::stream_wait_event;
  if constexpr (Has_stream_is_capturing<T>::value)
    row.stream_is_capturing = &F::stream_is_capturing;
  if constexpr (Has_event_create<T>::value) row.event_create = &F::event_create;
  if constexpr (Has_event_record<T>::value) row.event_record = &F::event_record;
  if constexpr (Has_event_query<T>::value) row.event_query = &F::event_query;
  if constexpr (Has_event_elapsed_ns<T>::value) row.event_elapsed_ns = &F::event_elapsed_ns;
  if constexpr (Has_event_destroy<T>::value) row.event_destroy = &F::event_destroy;
  row.synchronize = &F::synchronize;
  row.last_error = &F::last_error;
  if constexpr (Has_extension<T>::value) row.extension = &F::extension;
  return row;
}

}  // namespace detail
}  // namespace sdk
}  // namespace tenon
