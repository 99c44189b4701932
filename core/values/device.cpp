// Interned device kind names and the "kind:index" form.
#include "tenon/core/device.hpp"

#include <atomic>
#include <charconv>
#include <deque>
#include <mutex>

#include "values/kind_name.hpp"

namespace tenon {
namespace {

// Names are never removed, so readers take no lock: they read only below the published count.
struct KindTable {
  static constexpr std::size_t kMax = 1024;
  std::mutex mutex;
  std::array<std::string, kMax> names;
  std::atomic<std::uint16_t> count{0};
  KindTable() {
    names[0] = "cpu";
    count.store(1, std::memory_order_release);
  }
};

KindTable& table() {
  static auto* const kTable = new KindTable;  // never destroyed: devices outlive static destruction
  return *kTable;
}

}  // namespace

DeviceKind DeviceKind::of(std::string_view name) {
  KindTable& t = table();
  const auto find = [&](std::uint16_t from) -> std::uint16_t {
    const std::uint16_t n = t.count.load(std::memory_order_acquire);
    for (std::uint16_t i = from; i < n; ++i) {
      if (t.names[i] == name) return i;
    }
    return n;
  };
  std::uint16_t at = find(0);
  if (at < t.count.load(std::memory_order_acquire)) return DeviceKind(at);
  const std::lock_guard lock(t.mutex);
  at = find(0);
  const std::uint16_t n = t.count.load(std::memory_order_relaxed);
  if (at < n) return DeviceKind(at);
  if (n >= KindTable::kMax) return DeviceKind(static_cast<std::uint16_t>(KindTable::kMax - 1));
  t.names[n] = name;
  t.count.store(static_cast<std::uint16_t>(n + 1), std::memory_order_release);
  return DeviceKind(n);
}

std::string_view DeviceKind::name() const { return table().names[id_]; }

std::string Device::to_string() const {
  std::string text(kind.name());
  text += ':';
  text += std::to_string(index);
  return text;
}

Result<Device> Device::parse(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    std::string message = "'";
    message.append(text).append("' is not a device: ").append(why);
    return fail(Error(ErrorCode::kUsageError, std::move(message))
                    .with_hint("write a device kind, or KIND:INDEX such as cpu:0"));
  };
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  if (kind.empty()) return bad("the kind is empty");
  if (!detail::is_kind_name(kind)) return bad(detail::kKindNameRule);
  Device device{DeviceKind::of(kind), 0};
  if (colon == std::string_view::npos) return device;
  const std::string_view digits = text.substr(colon + 1);
  std::int16_t index = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (status != std::errc{} || end != digits.data() + digits.size() || digits.front() == '-') {
    return bad("the index '" + std::string(digits) + "' is not a number from 0 to 32767");
  }
  device.index = index;
  return device;
}

}  // namespace tenon
