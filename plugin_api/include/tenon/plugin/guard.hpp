// The wall at the C boundary: runs code that may throw and turns what it throws into a status and a
// sentence.
#pragma once

#include <exception>
#include <new>
#include <string_view>
#include <type_traits>

#include "tenon/plugin/values.hpp"

namespace tenon {
inline namespace sdk {
namespace detail {

inline void write_text(tenon_reason* reason, std::string_view text) noexcept {
  if (TENON_HAS(reason, text)) copy_text(reason->text, sizeof(reason->text), text);
}

/// Calls body, which returns void or a tenon_status. No path out of here throws.
template <class Body>
tenon_status guarded(tenon_reason* reason, Body&& body) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return TENON_OK;
    } else {
      return body();
    }
  } catch (const Failure& failure) {
    write_text(reason, failure.what());
    return failure.status();
  } catch (const std::bad_alloc&) {
    write_text(reason, "out of host memory");
    return TENON_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    write_text(reason, error.what());
    return TENON_INTERNAL;
  } catch (...) {
    write_text(reason, "an exception that is no std::exception");
    return TENON_INTERNAL;
  }
}

}  // namespace detail
}  // namespace sdk
}  // namespace tenon
