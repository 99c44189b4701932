// Waiting for devices, never while a stream of them captures, and what waits for that with it; the
// errors that earlier work left behind.
#include <algorithm>

#include "registry/abi_text.hpp"
#include "registry/device_kind_state.hpp"
#include "registry/open_streams.hpp"
#include "tenon/core/device_calls.hpp"
#include "tenon/core/plugin_record.hpp"

namespace tenon {
namespace {

bool is_synchronous(const DeviceEntry& device) {
  return (device.launch.flags & TENON_DEVICE_FLAG_SYNCHRONOUS) != 0;
}

}  // namespace

// What shall end once a device has passed it, and could not be waited for yet.
struct DeviceTable::Kind::PutOff {
  std::shared_ptr<const Kind> kind;
  const DeviceEntry* device;
  std::shared_ptr<void> what;
};

// Of the process: what is put off may outlive its table.
struct DeviceTable::Kind::PutOffs {
  std::mutex mutex;
  std::vector<PutOff> all;
  std::atomic<std::size_t> count{0};

  static PutOffs& of_process() {
    // Where a leak checker finds it.
    static auto* const kAll = new PutOffs;
    return *kAll;
  }
  void add(PutOff one) {
    const std::lock_guard lock(mutex);
    all.push_back(std::move(one));
    count.store(all.size(), std::memory_order_release);
  }
  /// Those of the device.
  std::vector<PutOff> take(const DeviceEntry& device) {
    const std::lock_guard lock(mutex);
    const auto kept = std::stable_partition(
        all.begin(), all.end(), [&](const PutOff& one) { return one.device != &device; });
    std::vector<PutOff> taken(std::make_move_iterator(kept), std::make_move_iterator(all.end()));
    all.erase(kept, all.end());
    count.store(all.size(), std::memory_order_release);
    return taken;
  }
  /// The devices that something waits for, with their kinds.
  std::vector<std::pair<std::shared_ptr<const Kind>, const DeviceEntry*>> devices() {
    std::vector<std::pair<std::shared_ptr<const Kind>, const DeviceEntry*>> found;
    const std::lock_guard lock(mutex);
    for (const PutOff& one : all) {
      const std::pair each{one.kind, one.device};
      if (std::find(found.begin(), found.end(), each) == found.end()) found.push_back(each);
    }
    return found;
  }
};

bool DeviceTable::Kind::captures(const DeviceEntry& device, void* stream) const {
  if (entry.table.stream_is_capturing == nullptr) return false;
  std::uint32_t yes = 0;
  tenon_reason reason = detail::empty_reason();
  const tenon_status status = call_owner(entry,
                                         "stream_is_capturing",
                                         entry.table.stream_is_capturing,
                                         reason,
                                         &device.launch,
                                         stream,
                                         &yes);
  return status == TENON_OK && yes != 0;
}

bool DeviceTable::Kind::captures(const DeviceEntry& device) const {
  if (is_synchronous(device) || entry.table.stream_is_capturing == nullptr) return false;
  std::vector<void*> streams = detail::streams_that_may_capture(device.device);
  const Stream& own = default_streams[static_cast<std::size_t>(device.device.index)];
  // One that was never asked for captures nothing.
  const bool is_made = own.phase.load(std::memory_order_acquire) == detail::Phase::kDone;
  if (entry.table.stream_default == nullptr || (is_made && !own.failure))
    streams.push_back(own.stream);
  return std::any_of(
      streams.begin(), streams.end(), [&](void* stream) { return captures(device, stream); });
}

Result<void> DeviceTable::Kind::wait(const DeviceEntry& device) const {
  tenon_reason reason = detail::empty_reason();
  const tenon_status status =
      call_owner(entry, "synchronize", entry.table.synchronize, reason, &device.launch);
  if (status == TENON_OK) return {};
  return fail(
      error(device, "synchronize", "synchronising " + device.device.to_string(), status, reason));
}

Result<void> DeviceTable::synchronize(const DeviceEntry& device) {
  const Kind* k = find_kind(device.device.kind);
  if (k->is_of_parent()) return fail(enumerated(device.device.kind).error());
  auto waited = k->wait(device);
  let_go_of_passed();
  return waited;
}

Result<void> DeviceTable::settle(const DeviceEntry& device, const std::string& what, bool is_new) {
  if (is_synchronous(device)) return {};
  if (find_kind(device.device.kind)->captures(device)) {
    return fail(Error(ErrorCode::kUsageError,
                      what + " is not possible while a stream of " + device.device.to_string() +
                          " captures: it waits for the device, which would end the capture")
                    .with_hint("do it before the capture begins or after it has ended; an op, "
                               "CopyFwdOp for one, copies within the capture"));
  }
  if (is_new) return {};
  return synchronize(device);
}

void DeviceTable::let_go_when_passed(const DeviceEntry& device, std::shared_ptr<void> what) {
  find_kind(device.device.kind)->let_go_when_passed(device, std::move(what));
}

void DeviceTable::Kind::let_go_when_passed(const DeviceEntry& device,
                                           std::shared_ptr<void> what) const {
  if (!is_of_parent() && !is_synchronous(device)) {
    if (detail::any_capture_open(device.device) || captures(device)) {
      PutOffs::of_process().add({shared_from_this(), &device, std::move(what)});
      return;
    }
    (void)wait(device);  // it goes, whatever became of the work
  }
  what.reset();
  let_go_of_passed();
}

void DeviceTable::let_go_of_passed() { Kind::let_go_of_passed(); }

void DeviceTable::Kind::let_go_of_passed() {
  PutOffs& put_off = PutOffs::of_process();
  if (put_off.count.load(std::memory_order_acquire) == 0) return;
  for (const auto& [kind, device] : put_off.devices()) {
    // In a forked child it stays: nobody may be called for it.
    if (kind->is_of_parent() || detail::any_capture_open(device->device) || kind->captures(*device))
      continue;
    // Taken before the wait: what is put off meanwhile may have been launched after it.
    const std::vector<PutOff> taken = put_off.take(*device);
    if (!taken.empty()) (void)kind->wait(*device);
  }
}

// ---- Errors of earlier work
// ---------------------------------------------------------------------------------------

std::optional<Error> DeviceTable::Kind::late_error(const DeviceEntry& device,
                                                   tenon_status status,
                                                   std::string_view met_by) const {
  if (status != TENON_DEVICE) return std::nullopt;
  ask_whether_lost(device);
  if (entry.table.last_error == nullptr) return std::nullopt;
  tenon_reason reason = detail::empty_reason();
  const tenon_status earlier = call_owner(
      entry, "last_error", entry.table.last_error, reason, &device.launch, std::uint32_t{0});
  // One that throws has said nothing.
  if (earlier == TENON_OK || earlier == kThrew) return std::nullopt;
  const std::string why = detail::text_of(reason);
  return Error(ErrorCode::kDeviceError,
               "earlier work on " + device.device.to_string() + " failed" +
                   (why.empty() ? std::string() : ": " + why))
      .with("plugin", entry.plugin)
      .with("status", std::string(status_name(earlier)))
      .with("late", "true")
      .with("met_by", std::string(met_by));
}

Error DeviceTable::Kind::error(const DeviceEntry& device,
                               const char* function,
                               std::string what,
                               tenon_status status,
                               const tenon_reason& reason) const {
  if (auto late = late_error(device, status, std::string(function) + " of " + entry.plugin))
    return *std::move(late);
  return detail::owner_error(
      detail::code_of(status), entry, function, std::move(what), status, reason);
}

std::optional<Error> DeviceTable::late_error(const DeviceEntry& device,
                                             tenon_status status,
                                             std::string_view met_by) {
  return find_kind(device.device.kind)->late_error(device, status, met_by);
}

Error DeviceTable::function_error(const DeviceEntry& device,
                                  const char* function,
                                  std::string what,
                                  tenon_status status,
                                  const tenon_reason& reason) {
  return find_kind(device.device.kind)->error(device, function, std::move(what), status, reason);
}

}  // namespace tenon
