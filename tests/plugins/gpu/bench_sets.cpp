// Rows of the timings, their tensors, and device times by replays.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench.hpp"

namespace tenon::gpu_check {
namespace {

constexpr int kReplays = 15;

tenon_reason empty_reason() {
  tenon_reason reason{};
  reason.struct_size = sizeof(reason);
  reason.arg_index = -1;
  return reason;
}

Tensor random_tensor(Bench& bench, const Dims& shape, DType dtype) {
  // Random data made once, and copied on: what the values are does not matter, but not zeros.
  static std::mt19937_64 random(5);
  const std::int64_t count = element_count(shape).value_or(0);
  const std::int64_t some = std::min<std::int64_t>(count, 1 << 22);
  const Tensor host = must(Tensor::host(dtype, Dims{some}));
  fill(host, Values::kNormal, random);
  Tensor out = must(bench.devices().make_tensor(
      dtype, shape, bench.device(), must(bench.devices().default_stream(bench.entry()))));
  const auto element = static_cast<std::int64_t>(size_bytes_of(dtype));
  must(bench.devices().copy_bytes(bench.device(),
                                  out.view().first(),
                                  Device{},
                                  host.view().first(),
                                  static_cast<std::size_t>(some * element)));
  for (std::int64_t done = some; done < count; done += some) {
    const std::int64_t next = std::min(some, count - done);
    must(bench.devices().copy_bytes(bench.device(),
                                    out.view().first() + done * element,
                                    bench.device(),
                                    out.view().first(),
                                    static_cast<std::size_t>(next * element)));
  }
  return out;
}

}  // namespace

std::int64_t bytes_of(const Dims& shape, DType dtype) {
  return element_count(shape).value_or(0) * static_cast<std::int64_t>(size_bytes_of(dtype));
}

Row row(const std::string& name,
        const char* op,
        const char* interface,
        std::vector<NamedValue> params,
        std::vector<std::pair<std::string, Dims>> inputs,
        const Dims& out,
        double flops) {
  Row made;
  made.name = name;
  made.call = {op,
               interface,
               std::move(params),
               {},
               DType::kBFloat16,
               out,
               Layout::kDense,
               1,
               false,
               std::nullopt};
  made.inputs = std::move(inputs);
  made.bytes = static_cast<double>(bytes_of(out, made.call.dtype));
  for (const auto& [input, shape] : made.inputs)
    made.bytes += static_cast<double>(bytes_of(shape, made.call.dtype));
  made.flops = flops;
  return made;
}

std::unique_ptr<Set> make_set(Bench& bench, const Row& row, const OpDecl& decl) {
  auto set = std::make_unique<Set>();
  for (const auto& [name, shape] : row.inputs)
    set->tensors.push_back(random_tensor(bench, shape, row.input_dtype));
  for (std::size_t i = 0; i < row.inputs.size(); ++i) {
    TensorView view = set->tensors[i].view();
    if (row.transpose_b && row.inputs[i].first == "b") {
      view.shape = Dims{view.shape[1], view.shape[0]};
      view.strides = Dims{1, view.shape[0]};
    }
    set->views.push_back(view);
  }
  set->out = must(bench.devices().make_tensor(row.call.dtype,
                                              row.call.out_shape,
                                              bench.device(),
                                              must(bench.devices().default_stream(bench.entry()))));
  set->pointers.assign(decl.inputs.size(), nullptr);
  for (std::size_t i = 0; i < row.inputs.size(); ++i)
    set->pointers[*decl.input_index(row.inputs[i].first)] = &set->views[i];
  for (const TensorView* const& view : set->pointers)
    set->arguments.push_back(view == nullptr ? TensorArg{} : TensorArg{&view, 1});
  return set;
}

Times time_replays(Bench& bench, void* stream, int calls, const std::function<void()>& enqueue) {
  const auto* graph = bench.extension<tenon_device_graph>(TENON_EXTENSION_DEVICE_GRAPH);
  const tenon_device_kind& kind = bench.kind();
  const tenon_device* device = &bench.entry().launch;
  tenon_reason reason = empty_reason();
  const auto require = [&](tenon_status status) {
    if (status == TENON_OK) return;
    std::printf("STOP: %s\n", reason.text);
    std::exit(3);
  };
  require(graph->begin(kind.context, device, stream, &reason));
  enqueue();
  void* captured = nullptr;
  require(graph->end(kind.context, device, stream, &captured, &reason));
  void* start = nullptr;
  void* stop = nullptr;
  require(kind.event_create(kind.context, device, &start, &reason));
  require(kind.event_create(kind.context, device, &stop, &reason));
  std::vector<double> times;
  for (int replay = -3; replay < kReplays; ++replay) {
    require(kind.event_record(kind.context, device, start, stream, &reason));
    require(graph->launch(kind.context, device, captured, stream, &reason));
    require(kind.event_record(kind.context, device, stop, stream, &reason));
    require(kind.stream_synchronize(kind.context, device, stream, &reason));
    std::uint64_t elapsed_ns = 0;
    require(kind.event_elapsed_ns(kind.context, device, start, stop, &elapsed_ns, &reason));
    if (replay >= 0) times.push_back(static_cast<double>(elapsed_ns) / 1e3 / calls);
  }
  kind.event_destroy(kind.context, device, start, &reason);
  kind.event_destroy(kind.context, device, stop, &reason);
  graph->destroy(kind.context, device, captured, &reason);
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() / 10], times[times.size() * 9 / 10]};
}

}  // namespace tenon::gpu_check
