// Tensors of a call on the host and on its device, and repeated timed calls.
#include "run_call.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "process_state.hpp"

namespace tenon::cli {
namespace {

constexpr std::size_t kWarmUps = 3;
constexpr std::size_t kFewestRuns = 10;
constexpr std::size_t kMostRuns = 1000;
constexpr std::chrono::milliseconds kTimeForRuns{500};

using Clock = std::chrono::steady_clock;

double quantile(const std::vector<double>& sorted, double share) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(last * share))];
}

/// A tensor with an expanded axis takes little memory and may still have more elements than any
/// kernel will visit in this life.
Result<void> require_runnable(const TensorSource& source) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 36;
  const auto count = element_count(source.spec.shape);
  if (source.is_file() || (count && *count <= kMostElements)) return {};
  return fail(Error(ErrorCode::kUsageError,
                    fmt::format("'{}' has {} elements; run takes tensors of at most {}",
                                source.name,
                                count ? std::to_string(*count) : "too many",
                                kMostElements))
                  .with_hint("'tenon explain' and 'tenon infer' take any size"));
}

/// One call with everything named, or by position into `out` where the op allows that.
class Repeater {
 public:
  Repeater(Op& op,
           const PreparedCall& call,
           const NamedTensors& tensors,
           const std::vector<Tensor>& results)
      : op_(op), tensors_(tensors) {
    const OpDecl& decl = call.decl();
    options_.device = call.device;
    if (tensors.out) out_ = tensors.out->view();
    const bool has_lists =
        std::any_of(decl.inputs.begin(), decl.inputs.end(), [](const TensorDecl& input) {
          return input.list.has_value();
        });
    by_position_ = decl.outputs.size() == 1 && decl.outputs.front().buffer_out && !has_lists &&
                   results.size() == 1;
    if (!by_position_) return;
    if (!out_) out_ = results.front().view();
    views_.assign(decl.inputs.size(), nullptr);
    for (const NamedTensor& named : tensors.inputs)
      views_[*decl.input_index(named.name)] = &named.tensor.view();
    for (const TensorView* const& view : views_) {
      arguments_.push_back(view == nullptr ? TensorArg{} : TensorArg{&view, 1});
    }
  }

  Result<void> operator()() {
    if (by_position_) return op_.call_out(arguments_, *out_);
    if (out_) options_.out = &*out_;
    auto results = op_.call(tensors_.inputs, options_);
    if (!results) return fail(std::move(results).error());
    return {};
  }

 private:
  Op& op_;
  const NamedTensors& tensors_;
  CallOptions options_;
  std::optional<TensorView> out_;
  bool by_position_ = false;
  std::vector<const TensorView*> views_;
  std::vector<TensorArg> arguments_;
};

}  // namespace

Result<NamedTensors> host_tensors(const PreparedCall& call) {
  NamedTensors tensors;
  for (const TensorSource* source : call.tensors.inputs) {
    TENON_TRY(require_runnable(*source));
    auto tensor = host_tensor(*source);
    if (!tensor) return fail(std::move(tensor).error());
    tensors.inputs.emplace_back(source->name, *tensor);
  }
  if (call.tensors.out != nullptr) {
    auto tensor = host_tensor(*call.tensors.out);
    if (!tensor) return fail(std::move(tensor).error());
    tensors.out = std::move(*tensor);
  }
  return tensors;
}

Result<NamedTensors> on_device(DeviceTable& devices,
                               const PreparedCall& call,
                               const NamedTensors& host,
                               Placement placement) {
  const auto place = [&](const Tensor& tensor, Device device) {
    return placement == Placement::kCopy ? copied_to(devices, tensor, device)
                                         : moved_to(devices, tensor, device);
  };
  NamedTensors moved;
  const OpDecl& decl = call.decl();
  for (const NamedTensor& named : host.inputs) {
    const auto index = decl.input_index(named.name);
    const bool stays = index && decl.inputs[*index].on_cpu;
    auto tensor = place(named.tensor, stays ? Device{} : call.device);
    if (!tensor) return fail(std::move(tensor).error());
    moved.inputs.emplace_back(named.name, *tensor);
  }
  if (host.out) {
    auto tensor = place(*host.out, call.device);
    if (!tensor) return fail(std::move(tensor).error());
    moved.out = std::move(*tensor);
  }
  if (call.out_is_first_input) {
    for (const NamedTensor& named : moved.inputs) {
      if (named.name == decl.inputs.front().name) moved.out = named.tensor;
    }
  }
  return moved;
}

Result<Tensor> copy_of(const Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const auto size_bytes = static_cast<std::int64_t>(tensor.storage()->size_bytes());
  auto bytes = Tensor::host(DType::kUInt8, Dims{size_bytes});
  if (!bytes) return fail(std::move(bytes).error());
  std::memcpy(
      bytes->storage()->memory(), tensor.storage()->memory(), static_cast<std::size_t>(size_bytes));
  TensorView view = tensor.view();
  view.byte_offset += static_cast<std::uint64_t>(
      static_cast<std::byte*>(view.data) - static_cast<std::byte*>(tensor.storage()->memory()));
  view.data = bytes->storage()->memory();
  return Tensor(bytes->storage(), view);
}

namespace {

/// The results in host memory.
Result<std::vector<Tensor>> to_host(DeviceTable& devices, const std::vector<Tensor>& results) {
  std::vector<Tensor> host;
  for (const Tensor& result : results) {
    if (result.defined() && result.device() != Device{}) {
      auto entry = devices.find(result.device());
      if (!entry) return fail(std::move(entry).error());
      TENON_TRY(devices.synchronize(**entry));
    }
    auto moved = moved_to(devices, result, Device{});
    if (!moved) return fail(std::move(moved).error());
    host.push_back(std::move(*moved));
  }
  return host;
}

}  // namespace

Result<CalledOnce> call_once(const Session& session,
                             Op& op,
                             const PreparedCall& call,
                             const NamedTensors& host,
                             Placement placement) {
  DeviceTable& devices = session.engine().devices();
  CalledOnce called;
  TENON_TRY_ASSIGN(called.tensors, on_device(devices, call, host, placement));
  CallOptions options;
  options.device = call.device;
  const std::optional<TensorView> out =
      called.tensors.out ? std::optional(called.tensors.out->view()) : std::nullopt;
  if (out) options.out = &*out;
  TENON_TRY_ASSIGN(called.results, op.call(called.tensors.inputs, options));
  // The core does not own what was passed as `out`; this call does.
  const auto& outputs = call.decl().outputs;
  for (std::size_t i = 0; i < called.results.size() && i < outputs.size(); ++i) {
    if (called.tensors.out && outputs[i].buffer_out) called.results[i] = *called.tensors.out;
  }
  auto record = op.last_call();
  if (!record) return fail(ErrorCode::kInternal, "the call left no record");
  called.record = std::move(*record);
  TENON_TRY_ASSIGN(called.host_results, to_host(devices, called.results));
  return called;
}

Result<RunTime> time_call(const Session& session,
                          Op& op,
                          const PreparedCall& call,
                          const NamedTensors& tensors,
                          const std::vector<Tensor>& results,
                          Waiting& waiting,
                          Progress& progress) {
  DeviceTable& devices = session.engine().devices();
  auto entry = devices.find(call.device);
  if (!entry) return fail(std::move(entry).error());
  Repeater repeat(op, call, tensors, results);
  const auto once = [&]() -> Result<void> {
    TENON_TRY(repeat());
    return devices.synchronize(**entry);
  };
  for (std::size_t i = 0; i < kWarmUps; ++i) {
    TENON_TRY(once());
  }
  waiting.end();
  const RepeatedCalls repeated;
  std::vector<double> times_ns;
  const Clock::time_point begin = Clock::now();
  while (times_ns.size() < kFewestRuns ||
         (times_ns.size() < kMostRuns && Clock::now() - begin < kTimeForRuns)) {
    const Clock::time_point start = Clock::now();
    TENON_TRY(once());
    times_ns.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
    progress.update(times_ns.size(), 0);
  }
  std::sort(times_ns.begin(), times_ns.end());
  RunTime time;
  time.repeats = times_ns.size();
  time.median_ns = quantile(times_ns, 0.5);
  time.p10_ns = quantile(times_ns, 0.1);
  time.p90_ns = quantile(times_ns, 0.9);
  return time;
}

}  // namespace tenon::cli
