// tenon_gpu_bench: device times of the rows that scripts/gpu_bench.sh compares with PyTorch, and
// the rate at which the host enqueues calls. One line of JSON for each row.
//
//   tenon_gpu_bench --plugin PATH... [--kind KIND] [--kernel OP=KEY]...
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include "check.hpp"

namespace {

using namespace tenon;             // NOLINT(google-build-using-namespace)
using namespace tenon::gpu_check;  // NOLINT(google-build-using-namespace)

/// More than twice the second-level cache of any card so far.
constexpr std::int64_t kRotateBytes = std::int64_t{256} << 20;
constexpr int kFewestCalls = 20;
constexpr int kReplays = 15;

struct Row {
  std::string name;
  Call call;
  std::vector<std::pair<std::string, Dims>> inputs;
  DType input_dtype = DType::kBFloat16;
  double bytes = 0;
  double flops = 0;
  bool transpose_b = false;
};

tenon_reason empty_reason() {
  tenon_reason reason{};
  reason.struct_size = sizeof(reason);
  reason.arg_index = -1;
  return reason;
}

std::int64_t bytes_of(const Dims& shape, DType dtype) {
  return element_count(shape).value_or(0) * static_cast<std::int64_t>(size_bytes_of(dtype));
}

Row row(const std::string& name,
        const char* op,
        const char* interface,
        std::vector<NamedValue> params,
        std::vector<std::pair<std::string, Dims>> inputs,
        const Dims& out,
        double flops = 0) {
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

std::vector<Row> rows() {
  std::vector<Row> all;
  const auto size = [](std::int64_t m, std::int64_t n) {
    return std::to_string(m) + "x" + std::to_string(n);
  };
  for (const auto& [m, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 4096}, {2048, 4096}, {32768, 4096}, {32768, 16384}}) {
    all.push_back(row("rms_norm " + size(m, n),
                      "RMSNormFwdOp",
                      "rms_norm_fwd",
                      {{"normalized_shape", Value({n})}, {"eps", 1e-6}},
                      {{"x", Dims{m, n}}, {"weight", Dims{n}}},
                      Dims{m, n}));
  }
  for (const auto& [m, n] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{2048, 4096}, {32768, 4096}}) {
    all.push_back(row("layer_norm " + size(m, n),
                      "LayerNormFwdOp",
                      "layer_norm_fwd",
                      {{"normalized_shape", Value({n})}},
                      {{"x", Dims{m, n}}, {"weight", Dims{n}}, {"bias", Dims{n}}},
                      Dims{m, n}));
  }
  for (const auto& [m, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {32768, 1024}, {32768, 4096}, {4, 128256}}) {
    all.push_back(row("softmax " + size(m, n),
                      "SoftmaxFwdOp",
                      "softmax_fwd",
                      {},
                      {{"x", Dims{m, n}}},
                      Dims{m, n}));
  }
  all.push_back(row("sum 2048x4096 last",
                    "SumFwdOp",
                    "sum_fwd",
                    {{"dim", Value({-1})}},
                    {{"x", Dims{2048, 4096}}},
                    Dims{2048}));
  all.push_back(row("sum 2048x4096 first",
                    "SumFwdOp",
                    "sum_fwd",
                    {{"dim", Value({0})}},
                    {{"x", Dims{2048, 4096}}},
                    Dims{4096}));
  all.push_back(row("add 67108864",
                    "AddFwdOp",
                    "add_fwd",
                    {},
                    {{"self", Dims{67108864}}, {"other", Dims{67108864}}},
                    Dims{67108864}));
  all.push_back(
      row("gelu 67108864", "GeluFwdOp", "gelu_fwd", {}, {{"x", Dims{67108864}}}, Dims{67108864}));
  all.push_back(
      row("copy 67108864", "CopyFwdOp", "copy_fwd", {}, {{"x", Dims{67108864}}}, Dims{67108864}));
  for (const auto& [from, to] : {std::pair(DType::kFloat32, DType::kBFloat16),
                                 std::pair(DType::kBFloat16, DType::kFloat32),
                                 std::pair(DType::kBFloat16, DType::kFloat8E4M3FN)}) {
    constexpr std::int64_t kCount = 67108864;
    Row made = row("cast " + std::to_string(kCount) + " " + std::string(name_of(from)) + " to " +
                       std::string(name_of(to)),
                   "CastFwdOp",
                   "cast_fwd",
                   {{"to", Value(to)}},
                   {{"x", Dims{kCount}}},
                   Dims{kCount});
    made.input_dtype = from;
    made.call.dtype = to;
    made.bytes = static_cast<double>(bytes_of(Dims{kCount}, from) + bytes_of(Dims{kCount}, to));
    all.push_back(std::move(made));
  }
  struct Gemm {
    std::int64_t m, n, k;
  };
  for (const Gemm& g : {Gemm{4096, 4096, 4096},
                        Gemm{8192, 8192, 8192},
                        Gemm{2048, 14336, 4096},
                        Gemm{1, 4096, 4096},
                        Gemm{16, 4096, 4096}}) {
    Row made = row(
        "gemm NT " + std::to_string(g.m) + "x" + std::to_string(g.n) + "x" + std::to_string(g.k),
        "MatMulFwdOp",
        "matmul_fwd",
        {},
        {{"a", Dims{g.m, g.k}}, {"b", Dims{g.n, g.k}}},
        Dims{g.m, g.n},
        2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k));
    made.transpose_b = true;
    all.push_back(std::move(made));
  }
  return all;
}

/// One set of tensors of a row, with its arguments.
struct Set {
  std::vector<Tensor> tensors;
  std::vector<TensorView> views;
  std::vector<const TensorView*> pointers;
  std::vector<TensorArg> arguments;
  Tensor out;
};

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

struct Times {
  double median_us = 0;
  double low_us = 0;
  double high_us = 0;
};

/// Device time of `calls` enqueued by `enqueue`, captured once and replayed.
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

void bench_row(Bench& bench, const Row& row, const std::string& key, void* stream) {
  auto op = bench.make(row.call, key);
  if (!op) {
    std::printf(
        "{\"row\": \"%s\", \"error\": \"%s\"}\n", row.name.c_str(), op.error().message().c_str());
    return;
  }
  const auto set_bytes = static_cast<std::int64_t>(row.bytes);
  const auto wanted =
      std::clamp<std::int64_t>(kRotateBytes / std::max<std::int64_t>(set_bytes, 1), 2, 64);
  std::vector<std::unique_ptr<Set>> sets;
  for (std::int64_t i = 0; i < wanted; ++i) sets.push_back(make_set(bench, row, op->decl()));
  const int calls = std::max<int>(kFewestCalls, static_cast<int>(sets.size()));
  const auto enqueue = [&] {
    for (int i = 0; i < calls; ++i) {
      Set& set = *sets[static_cast<std::size_t>(i) % sets.size()];
      must(on_stream(
          bench.device(), stream, [&] { return op->call_out(set.arguments, set.out.view()); }));
    }
  };
  enqueue();
  must(bench.devices().synchronize(bench.entry()));
  const std::string kernel = op->last_call() ? op->last_call()->kernel() : "";
  const Times times = time_replays(bench, stream, calls, enqueue);
  std::printf(
      "{\"row\": \"%s\", \"kernel\": \"%s\", \"us\": %.2f, \"p10_us\": %.2f, "
      "\"p90_us\": %.2f, \"gb_per_s\": %.0f, \"tflop_per_s\": %.1f, \"sets\": %lld}\n",
      row.name.c_str(),
      kernel.c_str(),
      times.median_us,
      times.low_us,
      times.high_us,
      row.bytes / times.median_us / 1e3,
      row.flops / times.median_us / 1e6,
      static_cast<long long>(wanted));
  std::fflush(stdout);
}

/// Host time of a call and of the bare launch of the same built kernel is in
/// tests/bench; here: how many calls a second the host enqueues.
void bench_launches(Bench& bench, void* stream) {
  const Row small = row("launches",
                        "AddFwdOp",
                        "add_fwd",
                        {},
                        {{"self", Dims{4096}}, {"other", Dims{4096}}},
                        Dims{4096});
  Op op = must(bench.make(small.call, ""));
  const auto set = make_set(bench, small, op.decl());
  constexpr std::size_t kBytes = 8192;  // of an operand
  // Behind each other in one allocation, as those of the bare launches: a small kernel is told by
  // the translation of its addresses.
  const Tensor memory =
      must(bench.devices().make_tensor(DType::kBFloat16,
                                       Dims{std::int64_t{3} * 4096},
                                       bench.device(),
                                       must(bench.devices().default_stream(bench.entry()))));
  for (std::size_t i = 0; i < 2; ++i) {
    must(bench.devices().copy_bytes(bench.device(),
                                    memory.view().first() + i * kBytes,
                                    bench.device(),
                                    set->views[i].first(),
                                    kBytes));
    set->views[i].data = memory.view().data;
    set->views[i].byte_offset = memory.view().byte_offset + i * kBytes;
  }
  TensorView out = set->out.view();
  out.data = memory.view().data;
  out.byte_offset = memory.view().byte_offset + 2 * kBytes;
  constexpr int kCalls = 20000;
  std::vector<double> rates;
  for (int round = -1; round < 7; ++round) {
    const auto start = std::chrono::steady_clock::now();
    must(on_stream(bench.device(), stream, [&]() -> Result<void> {
      for (int i = 0; i < kCalls; ++i) TENON_TRY(op.call_out(set->arguments, out));
      return {};
    }));
    must(bench.devices().synchronize(bench.entry()));
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (round >= 0) rates.push_back(kCalls / seconds);
  }
  std::sort(rates.begin(), rates.end());
  const Times replay = time_replays(bench, stream, 1000, [&] {
    for (int i = 0; i < 1000; ++i)
      must(on_stream(bench.device(), stream, [&] { return op.call_out(set->arguments, out); }));
  });
  std::printf("{\"row\": \"launches of add 4096\", \"calls_per_s\": %.0f, \"replay_us\": %.3f}\n",
              rates[rates.size() / 2],
              replay.median_us);
}

}  // namespace

int main(int count, char** texts) {
  RuntimeOptions options;
  std::string kind = "cuda";
  std::string only;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string text = texts[i];
    if (text == "--plugin") options.plugin_paths.emplace_back(texts[i + 1]);
    if (text == "--kind") kind = texts[i + 1];
    if (text == "--only") only = texts[i + 1];
  }
  options.standard_folders = false;
  options.settings = {{"selection.reference", "allow"}};
  Bench bench(must(Runtime::create(options)), Device{DeviceKind::of(kind), 0});
  tenon_reason reason = empty_reason();
  void* stream = nullptr;
  bench.kind().stream_create(bench.kind().context, &bench.entry().launch, &stream, &reason);
  // First, while the card is cool: after large products its clock is lower for a while, and a small
  // kernel an eighth slower.
  if (std::string("launches").find(only) != std::string::npos) bench_launches(bench, stream);
  for (const Row& each : rows()) {
    if (each.name.find(only) == std::string::npos) continue;
    // The card's clock recovers, as it does while the peer compiles its rows.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    bench_row(bench, each, "", stream);
  }
  return 0;
}
