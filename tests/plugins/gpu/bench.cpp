// tenon_gpu_bench: device times of the rows that scripts/gpu_bench.sh compares with PyTorch, and
// the rate at which the host enqueues calls. One line of JSON for each row.
//
//   tenon_gpu_bench --plugin PATH... [--kind KIND] [--only TEXT] [--bare PATH]
#include "bench.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

namespace {

using namespace tenon;             // NOLINT(google-build-using-namespace)
using namespace tenon::gpu_check;  // NOLINT(google-build-using-namespace)

/// More than twice the second-level cache of any card so far.
constexpr std::int64_t kRotateBytes = std::int64_t{256} << 20;
constexpr int kFewestCalls = 20;

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

/// False where the row could not be measured, which is printed.
bool bench_row(Bench& bench, const Row& row, const std::string& key, void* stream) {
  auto op = bench.make(row.call, key);
  if (!op) {
    std::printf(
        "{\"row\": \"%s\", \"error\": \"%s\"}\n", row.name.c_str(), op.error().message().c_str());
    return false;
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
  return true;
}

}  // namespace

int main(int count, char** texts) {
  RuntimeOptions options;
  std::string kind = "cuda";
  std::string only;
  std::string bare;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string text = texts[i];
    if (text == "--plugin") options.plugin_paths.emplace_back(texts[i + 1]);
    if (text == "--kind") kind = texts[i + 1];
    if (text == "--only") only = texts[i + 1];
    if (text == "--bare") bare = texts[i + 1];
  }
  options.standard_folders = false;
  options.settings = {{"selection.reference", "allow"}};
  Bench bench(must(Runtime::create(options)), Device{DeviceKind::of(kind), 0});
  tenon_reason reason{};
  reason.struct_size = sizeof reason;
  void* stream = nullptr;
  bench.kind().stream_create(bench.kind().context, &bench.entry().launch, &stream, &reason);
  // First, while the card is cool: after large products its clock is lower for a while, and a small
  // kernel an eighth slower.
  if (std::string("launches").find(only) != std::string::npos) bench_launches(bench, stream, bare);
  bool all_measured = true;
  for (const Row& each : rows()) {
    if (each.name.find(only) == std::string::npos) continue;
    // The card's clock recovers, as it does while the peer compiles its rows.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    all_measured = bench_row(bench, each, "", stream) && all_measured;
  }
  return all_measured ? 0 : 1;
}
