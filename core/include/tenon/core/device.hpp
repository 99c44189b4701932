// Devices as the core names them: a kind and an index.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/core/error.hpp"

namespace tenon {

/// A device kind's name as a small number, interned for the process. Id 0 is "cpu".
class DeviceKind {
 public:
  constexpr DeviceKind() = default;
  /// Interns the name. [any-thread]
  static DeviceKind of(std::string_view name);
  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] constexpr std::uint16_t id() const { return id_; }
  friend constexpr bool operator==(DeviceKind, DeviceKind) = default;

 private:
  constexpr explicit DeviceKind(std::uint16_t id) : id_(id) {}
  std::uint16_t id_ = 0;
};

/// One device. Default: cpu:0.
struct Device {
  DeviceKind kind;
  std::int16_t index = 0;
  friend constexpr bool operator==(const Device&, const Device&) = default;
  /// "acme:0"
  [[nodiscard]] std::string to_string() const;
  /// "cpu", "acme:1". The kind's existence is not checked.
  static Result<Device> parse(std::string_view text);
};

}  // namespace tenon
