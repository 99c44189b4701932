// What the checks on real devices share.
#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "bound.hpp"
#include "elements.hpp"

namespace tenon::gpu_check {
namespace {

constexpr std::byte kPoison{0xa5};
constexpr std::size_t kGuardBytes = 512;
constexpr std::size_t kMostFailuresShown = 4;

bool is_float(DType dtype) { return info_of(dtype).category == DTypeCategory::kFloat; }

/// Strides for a layout, and how many elements lie before the first.
struct Placement {
  Dims strides;
  std::int64_t first = 0;
};
Placement place(const Dims& shape, Layout layout) {
  Placement out;
  const std::size_t rank = shape.size();
  Dims memory = shape;  // sizes as they lie in memory
  if (layout == Layout::kPadded && rank > 0) memory[rank - 1] += 8;
  if (layout == Layout::kStepped && rank > 0) memory[rank - 1] *= 2;
  if (layout == Layout::kTransposed && rank > 1) std::swap(memory[rank - 1], memory[rank - 2]);
  out.strides = dense_strides(memory);
  if (layout == Layout::kStepped && rank > 0) out.strides[rank - 1] = 2;
  if (layout == Layout::kTransposed && rank > 1)
    std::swap(out.strides[rank - 1], out.strides[rank - 2]);
  if (layout == Layout::kReversed && rank > 0) {
    out.strides[rank - 1] = -1;
    out.first = std::max<std::int64_t>(shape[rank - 1] - 1, 0);
  }
  if (layout == Layout::kExpanded && rank > 0) out.strides[0] = 0;
  if (layout == Layout::kOffset) out.first = 1;
  return out;
}

std::int64_t reach_of(const Dims& shape, const Dims& strides) {
  std::int64_t reach = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    if (strides[i] > 0) reach += (shape[i] - 1) * strides[i];
  }
  return reach + 1;
}

Tensor absolute_of(const Tensor& tensor) {
  Tensor copy = must(Tensor::host(tensor.dtype(), tensor.shape()));
  auto* to = copy.view().first();
  const std::size_t size = size_bytes_of(tensor.dtype());
  cli::for_each_element(tensor.view(), [&](const std::byte* element, std::int64_t) {
    store_from_double(tensor.dtype(), to, std::fabs(load_as_double(tensor.dtype(), element)));
    to += size;
  });
  return copy;
}

}  // namespace

std::string_view name_of(Layout layout) {
  switch (layout) {
    case Layout::kDense:
      return "dense";
    case Layout::kOffset:
      return "offset";
    case Layout::kPadded:
      return "padded";
    case Layout::kStepped:
      return "stepped";
    case Layout::kTransposed:
      return "transposed";
    case Layout::kReversed:
      return "reversed";
    case Layout::kExpanded:
      return "expanded";
  }
  return "";
}

Tensor make_host(DType dtype, const Dims& shape, Layout layout) {
  const std::size_t element = size_bytes_of(dtype);
  const auto guard = static_cast<std::int64_t>(kGuardBytes / element);
  const Placement placement = place(shape, layout);
  const std::int64_t inside = reach_of(shape, placement.strides) + placement.first;
  const Tensor all = must(Tensor::host(dtype, Dims{inside + 2 * guard}));
  std::memset(all.storage()->memory(), static_cast<int>(kPoison), all.storage()->size_bytes());
  TensorView view(all.storage()->memory(), dtype, shape, placement.strides);
  view.byte_offset = static_cast<std::uint64_t>(guard + placement.first) * element;
  return {all.storage(), view};
}

bool surroundings_are_whole(const Tensor& tensor) {
  const auto* memory = static_cast<const std::byte*>(tensor.storage()->memory());
  const std::size_t size = tensor.storage()->size_bytes();
  std::vector<char> is_element(size, 0);
  const std::size_t element = size_bytes_of(tensor.dtype());
  if (tensor.view().strides == dense_strides(tensor.shape())) {
    const auto count = static_cast<std::size_t>(element_count(tensor.shape()).value_or(0));
    if (count > 0)
      std::memset(is_element.data() + (tensor.view().first() - memory), 1, count * element);
  } else {
    cli::for_each_element(tensor.view(), [&](const std::byte* at, std::int64_t) {
      std::memset(is_element.data() + (at - memory), 1, element);
    });
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (is_element[i] == 0 && memory[i] != kPoison) return false;
  }
  return true;
}

void fill(const Tensor& tensor, Values values, std::mt19937_64& random) {
  const DType dtype = tensor.dtype();
  const std::size_t element = size_bytes_of(dtype);
  // A table is quicker than a draw for each element, and as good here.
  constexpr std::size_t kDraws = 4093;
  static const std::vector<double> kTable = [] {
    std::mt19937_64 engine(7);
    std::normal_distribution<double> normal;
    std::vector<double> draws(kDraws);
    for (double& draw : draws) draw = normal(engine);
    return draws;
  }();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> special{
      std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, 0.0, -0.0, 1e-30, -6e-8};
  std::size_t at = static_cast<std::size_t>(random() % kDraws);
  cli::for_each_element(tensor.view(), [&](std::byte* to, std::int64_t index) {
    at = at + 1 == kDraws ? 0 : at + 1;
    if (!is_float(dtype) && values == Values::kNormal) {
      const std::uint64_t bits = random();
      std::memcpy(to, &bits, std::min(element, sizeof(bits)));
      return;
    }
    double value = kTable[at];
    if (values == Values::kIntegers) value = std::floor(value * 2);
    if (values == Values::kSpecial && index % 5 == 3)
      value = special[static_cast<std::size_t>(random() % special.size())];
    store_from_double(dtype, to, value);
  });
}

void Tally::pass(const std::string& group, double ulps) {
  Row& row = rows_[group];
  ++row.passed;
  row.worst_ulps = std::max(row.worst_ulps, ulps);
}
void Tally::skip(const std::string& group, const std::string& /*why*/) { ++rows_[group].skipped; }
void Tally::fail(const std::string& group, const std::string& what) {
  Row& row = rows_[group];
  ++failures_;
  if (row.failed++ < kMostFailuresShown)
    std::printf("  FAIL %s: %s\n", group.c_str(), what.c_str());
  std::fflush(stdout);
}
bool Tally::print() const {
  std::printf(
      "%-52s %7s %7s %8s %10s\n", "kernel and dtype", "passed", "failed", "refused", "worst ulp");
  std::size_t passed = 0;
  for (const auto& [group, row] : rows_) {
    std::printf("%-52s %7zu %7zu %8zu %10.3g\n",
                group.c_str(),
                row.passed,
                row.failed,
                row.skipped,
                row.worst_ulps);
    passed += row.passed;
  }
  std::printf("%zu passed, %zu failed\n", passed, failures_);
  std::fflush(stdout);
  return failures_ == 0 && passed > 0;
}

void give_up(const Error& error) {
  std::printf("  STOP: %s\n", error.to_string().c_str());
  std::fflush(stdout);
  std::exit(3);
}

Bench::Bench(Runtime runtime, Device device)
    : runtime_(std::move(runtime)),
      device_(device),
      entry_(must(runtime_.engine().devices().find(device))),
      kind_(&runtime_.engine().devices().kind(device.kind)->table) {}

std::vector<std::string> Bench::keys(std::string_view op, DType dtype) const {
  std::vector<std::string> keys;
  const std::string prefix = std::string(device_.kind.name()) + ":";
  const OpClass* found = must(runtime_.snapshot()->op(op));
  for (const InterfaceTable& table : found->interfaces) {
    for (const auto& type : table.types) {
      if (!type->serves(device_.kind) || type->qualified.find(prefix) != 0) continue;
      bool serves = type->row.n_storage == 0;
      for (std::uint64_t i = 0; i < type->row.n_storage; ++i)
        serves = serves || dtype_from_abi(type->row.storage[i].dtype) == dtype;
      if (serves) keys.push_back(type->qualified);
    }
  }
  return keys;
}

bool Bench::is_sequential(std::string_view op, const std::string& key) const {
  const OpClass* found = must(runtime_.snapshot()->op(op));
  for (const InterfaceTable& table : found->interfaces) {
    for (const auto& type : table.types) {
      if (type->qualified == key) return type->has(TENON_KERNEL_SEQUENTIAL_SUMS);
    }
  }
  return false;
}

Result<Op> Bench::make(const Call& call, const std::string& key) {
  InstanceOptions options;
  if (!key.empty()) options.kernel_override[call.interface] = key;
  options.copies = CopyPolicy::kNever;
  return runtime_.make(call.op, call.params, options);
}

void Bench::check(const Call& call, std::string_view what) {
  for (const std::string& key : keys(call.op, call.dtype)) check_key(call, key, std::string(what));
}

void Bench::check_key(const Call& call, const std::string& key, const std::string& what) {
  const std::string group = call.op + " " + key + " " + std::string(name_of(call.dtype));
  auto op = make(call, key);
  if (!op) return tally_.fail(group, what + ": " + op.error().to_string());
  std::vector<Tensor> on_device;
  std::vector<NamedTensor> named;
  for (const auto& [name, tensor] : call.inputs) on_device.push_back(to_device(*this, tensor));
  for (std::size_t i = 0; i < on_device.size(); ++i)
    named.emplace_back(call.inputs[i].first, on_device[i]);
  const Tensor out = call.in_place
                         ? on_device[*call.in_place]
                         : to_device(*this, make_host(call.dtype, call.out_shape, call.out_layout));
  CallOptions options;
  options.out = &out.view();
  options.device = device_;
  auto results = op->call(named, options);
  if (!results) {
    if (results.error().code() == ErrorCode::kNoImplementation)
      return tally_.skip(group, results.error().message());
    return tally_.fail(group, what + ": " + results.error().to_string());
  }
  if (const auto done = devices().synchronize(*entry_); !done)
    return tally_.fail(group, what + ": " + done.error().to_string());
  const auto record = op->last_call();
  const bool empty = element_count(call.out_shape).value_or(0) == 0;
  if (record && !empty && record->kernel() != key)
    return tally_.fail(group, what + ": served by " + record->kernel());

  const Tensor got = to_host(*this, out);
  if (!surroundings_are_whole(got)) return tally_.fail(group, what + ": wrote outside");
  for (std::size_t i = 0; i < on_device.size(); ++i) {
    if (call.in_place == i) continue;
    const Tensor after = to_host(*this, on_device[i]);
    if (std::memcmp(after.storage()->memory(),
                    call.inputs[i].second.storage()->memory(),
                    after.storage()->size_bytes()) != 0)
      return tally_.fail(group, what + ": changed input " + call.inputs[i].first);
  }

  judge(expect(call, key), got.view(), group, what);
}

Expectation Bench::expect(const Call& call, const std::string& key) {
  InstanceOptions on_host;
  on_host.target = "builtin";
  Op reference_op = must(runtime_.make(call.op, call.params, on_host));
  std::vector<NamedTensor> host_inputs;
  for (const auto& [name, tensor] : call.inputs) host_inputs.emplace_back(name, tensor);
  Expectation expected{must(reference_op.call_reference(host_inputs)).front(), {}, {}};
  if (cli::sums_terms(reference_op.decl()) && is_float(call.dtype)) {
    std::vector<Tensor> absolute;
    std::vector<NamedTensor> absolute_inputs;
    for (const auto& [name, tensor] : call.inputs) absolute.push_back(absolute_of(tensor));
    for (std::size_t i = 0; i < absolute.size(); ++i)
      absolute_inputs.emplace_back(call.inputs[i].first, absolute[i]);
    expected.terms = must(reference_op.call_reference(absolute_inputs)).front();
  }
  cli::SumFacts facts;
  facts.term_count = call.term_count;
  facts.accumulate = DType::kFloat32;
  facts.sequential = is_sequential(call.op, key);
  expected.bound =
      call.exact ? cli::Bound{0.5, 0, 0} : cli::bound_of(reference_op.decl(), call.dtype, facts);
  return expected;
}

void Bench::judge(const Expectation& expected,
                  const TensorView& got,
                  const std::string& group,
                  const std::string& what) {
  const cli::OutputCheck check = cli::compare(got,
                                              expected.reference.view(),
                                              expected.terms ? &expected.terms->view() : nullptr,
                                              expected.bound);
  if (check.ok) return tally_.pass(group, check.max_ulp);
  char text[256];
  std::snprintf(text,
                sizeof(text),
                ": %lld wrong, at %lld got %.9g, reference %.9g (%.3g ulp at most)",
                static_cast<long long>(check.wrong_count),
                static_cast<long long>(check.worst_index),
                check.worst_got,
                check.worst_ref,
                check.max_ulp);
  tally_.fail(group, what + text);
}

Tensor to_device(Bench& bench, const Tensor& host) {
  const std::size_t size = host.storage()->size_bytes();
  const Tensor flat =
      must(bench.devices().make_tensor(DType::kUInt8,
                                       Dims{static_cast<std::int64_t>(size)},
                                       bench.device(),
                                       must(bench.devices().default_stream(bench.entry()))));
  must(bench.devices().copy_bytes(
      bench.device(), flat.view().first(), Device{}, host.storage()->memory(), size));
  TensorView view = host.view();
  view.data = flat.view().first();
  view.device = bench.device();
  return {flat.storage(), view};
}

Tensor to_host(Bench& bench, const Tensor& tensor) {
  const std::size_t size = tensor.storage()->size_bytes();
  const Tensor bytes = must(Tensor::host(DType::kUInt8, Dims{static_cast<std::int64_t>(size)}));
  must(bench.devices().copy_bytes(
      Device{}, bytes.storage()->memory(), bench.device(), tensor.storage()->memory(), size));
  // The storage's size counts: what lies behind it is not the tensor's.
  auto storage = std::make_shared<Storage>(
      bytes.storage()->memory(), size, Device{}, [keep = bytes.storage()](void*, std::size_t) {});
  TensorView view = tensor.view();
  view.data = bytes.storage()->memory();
  view.device = Device{};
  return {std::move(storage), view};
}

}  // namespace tenon::gpu_check
