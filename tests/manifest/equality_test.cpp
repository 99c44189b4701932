// One signature, four readings: the program that checks calls and the walk that explains them, each
// of the plan that YAML gave and of the plan that went through the build as data. They agree on
// every workload row and on random calls.
#include <cstring>
#include <filesystem>
#include <random>

#include "plan_support.hpp"
#include "tenon/core/signature/archive.hpp"
#include "tenon/manifest/compiled.hpp"
#include "tenon/manifest/workloads.hpp"

namespace tenon::manifest::test {
namespace {

/// A tensor argument of a call, or a list of them.
struct Given {
  DType dtype = DType::kFloat32;
  std::vector<std::vector<std::int64_t>> shapes;
  bool permuted = false;  ///< strides of a transpose
};

/// A call without memory: what a test may change.
struct Trial {
  std::vector<NamedValue> params;
  std::vector<std::pair<std::string, Given>> construction;
  std::vector<std::optional<Given>> inputs;
  std::optional<Given> out;
};

/// The views of a trial, far apart in memory that is never read.
class Views {
 public:
  explicit Views(const Trial& trial) : args_(trial.inputs.size()), lists_(trial.inputs.size()) {
    std::size_t count = 1;
    for (const auto& given : trial.inputs) count += given ? given->shapes.size() : 0;
    views_.reserve(count);
    for (std::size_t i = 0; i < trial.inputs.size(); ++i) {
      if (!trial.inputs[i]) continue;
      for (const auto& shape : trial.inputs[i]->shapes)
        lists_[i].push_back(view(*trial.inputs[i], shape));
      args_[i] = {lists_[i].data(), static_cast<std::uint32_t>(lists_[i].size())};
    }
    call_.inputs = args_;
    if (trial.out) call_.out = view(*trial.out, trial.out->shapes.front());
  }
  Views(const Views&) = delete;
  Views& operator=(const Views&) = delete;
  [[nodiscard]] const CallArgs& call() const { return call_; }

 private:
  const TensorView* view(const Given& given, const std::vector<std::int64_t>& shape) {
    next_ += std::uintptr_t{1} << 40;
    TensorView v(reinterpret_cast<void*>(next_), given.dtype, Dims(std::span(shape)));
    if (given.permuted && shape.size() > 1) std::swap(v.strides[0], v.strides[1]);
    views_.push_back(v);
    return &views_.back();
  }

  std::vector<TensorView> views_;
  std::vector<TensorArg> args_;
  std::vector<std::vector<const TensorView*>> lists_;
  CallArgs call_;
  std::uintptr_t next_ = 0;
};

/// Everything that a plan says of a call, as text.
std::string reading(const SignaturePlan& plan, const Trial& trial, bool& passed) {
  passed = false;
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, given] : trial.construction) {
    constexpr std::int64_t kMost = 1 << 16;
    if (element_count(given.shapes.front()).value_or(kMost) >= kMost) return "too large";
    auto tensor = Tensor::host(given.dtype, Dims(std::span(given.shapes.front())));
    if (!tensor) return "no memory";
    tensors.emplace_back(name, *tensor);
  }
  const auto made = plan.construct(trial.params, tensors);
  if (!made) return "construction: " + made.error().to_string();
  const Views views(trial);
  const auto frame = plan.make_frame();
  const bool passes = plan.check(**made, views.call(), *frame);
  const Error reason = plan.failure(**made, views.call(), *frame);
  // The walk finds no fault exactly where the program finds none.
  CHECK(passes == (reason.code() == ErrorCode::kInternal));
  if (!passes) return "call: " + reason.to_string();
  passed = true;

  std::string text = "branch " + std::to_string(frame->branch) + frame->device.to_string();
  text += frame->nothing_to_do ? " empty" : "";
  for (const auto* outputs : {&frame->outputs, &frame->list_outputs}) {
    for (const OutputSpec& output : *outputs) {
      text += output.present ? " " + std::string(name_of(output.dtype)) + output.shape.to_string()
                             : " absent";
      text += "@" + std::to_string(output.alias_input) + "#" + std::to_string(output.list_count);
    }
  }
  for (const bool written : frame->written_inputs) text += written ? "w" : "-";
  for (const auto& [name, value] : plan.indices(**made, *frame))
    text += " " + name + "=" + value.to_string();
  for (const Traffic& t : plan.traffic(**made, views.call(), *frame)) {
    text +=
        " " + t.tensor + ":" + std::to_string(t.read_bytes) + "/" + std::to_string(t.written_bytes);
  }
  const auto cost = plan.cost(**made, views.call(), *frame);
  text += cost ? " " + std::to_string(cost->flops) + "," + std::to_string(cost->bytes)
               : " " + cost.error().to_string();
  for (std::uint32_t step = 0; step < plan.decl().steps.size(); ++step) {
    const auto active = plan.active_interface(step, **made, *frame);
    text += " step " + (active ? plan.decl().interfaces[*active].name : std::string("off"));
    if (!active) continue;
    const auto& declared = plan.decl().interfaces[*active].fields;
    std::vector<tenon_value> flow_values;
    for (const CallFieldDecl& field : declared) {
      if (field.from_flow) flow_values.push_back({TENON_VALUE_INT, 0, 0, 1, 0, nullptr});
    }
    std::vector<tenon_value> fields(declared.size());
    if (!plan.eval_call(*active, **made, views.call(), *frame, flow_values, fields)) {
      text += " without a value";
      continue;
    }
    for (const tenon_value& field : fields) {
      text += " " + std::to_string(field.kind) + ":" + std::to_string(field.i) + "x" +
              std::to_string(field.count);
    }
  }
  return text;
}

Trial trial_of(const OpDecl& decl, const WorkloadCase& c) {
  Trial trial;
  trial.params = c.params;
  trial.inputs.resize(decl.inputs.size());
  for (const CaseTensor& tensor : c.tensors) {
    if (!tensor.present) continue;
    Given given{tensor.dtype, {tensor.shape}, false};
    if (tensor.list) given.shapes = tensor.elements;
    if (tensor.role == TensorRole::kConstruction) {
      trial.construction.emplace_back(tensor.name, std::move(given));
    } else if (const auto index = decl.input_index(tensor.name)) {
      trial.inputs[*index] = std::move(given);
    }
  }
  return trial;
}

/// Turns right calls into others, right and wrong.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  void change(const OpDecl& decl, const WorkloadCase& c, Trial& trial) {
    switch (below(8)) {
      case 0:
        change_param(decl, trial);
        break;
      case 1:
        if (!trial.inputs.empty()) trial.inputs[below(trial.inputs.size())].reset();
        break;
      case 2:
        if (!trial.inputs.empty()) {
          Given fresh;
          fresh.dtype = any_dtype();
          fresh.shapes.push_back(any_shape());
          trial.inputs[below(trial.inputs.size())] = std::move(fresh);
        }
        break;
      case 3:
        give_out(decl, c, trial);
        break;
      default:
        if (Given* given = any_given(trial)) change_given(*given);
    }
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  std::int64_t any_size() {
    constexpr std::int64_t kSizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 16, 33, 4096};
    return kSizes[below(std::size(kSizes))];
  }
  std::vector<std::int64_t> any_shape() {
    std::vector<std::int64_t> shape(below(5));
    for (std::int64_t& size : shape) size = any_size();
    return shape;
  }
  DType any_dtype() { return all_dtypes()[below(kDTypeCount)]; }

  Given* any_given(Trial& trial) {
    std::vector<Given*> all;
    for (auto& input : trial.inputs) {
      if (input) all.push_back(&*input);
    }
    for (auto& [name, given] : trial.construction) all.push_back(&given);
    if (trial.out) all.push_back(&*trial.out);
    return all.empty() ? nullptr : all[below(all.size())];
  }

  void change_given(Given& given) {
    auto& shape = given.shapes[below(given.shapes.size())];
    switch (below(6)) {
      case 0:
        given.dtype = any_dtype();
        break;
      case 1:
        given.permuted = !given.permuted;
        break;
      case 2:
        if (shape.size() < kMaxRank)
          shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(below(shape.size() + 1)),
                       any_size());
        break;
      case 3:
        if (!shape.empty())
          shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(below(shape.size())));
        break;
      default:
        if (!shape.empty()) shape[below(shape.size())] = any_size();
    }
  }

  void change_param(const OpDecl& decl, Trial& trial) {
    if (trial.params.empty()) return;
    Value& value = trial.params[below(trial.params.size())].second;
    switch (below(8)) {
      case 0:
        value = Value();
        break;
      case 1:
        value = any_size();
        break;
      case 2:
        value = -1 - static_cast<int>(below(3));
        break;
      case 3:
        value = below(2) == 0;
        break;
      case 4:
        value = 0.5 * static_cast<double>(below(5));
        break;
      case 5:
        value = Value({any_size(), any_size()});
        break;
      case 6:
        value = any_dtype();
        break;
      default: {
        // A word of one of the op's enums.
        std::vector<std::string> words{"none"};
        for (const ParamDecl& param : decl.params) {
          const std::size_t open = param.type_text.find('\'');
          const std::size_t close = param.type_text.find('\'', open + 1);
          if (close != std::string::npos)
            words.push_back(param.type_text.substr(open + 1, close - open - 1));
        }
        value = words[below(words.size())];
      }
    }
  }

  void give_out(const OpDecl& decl, const WorkloadCase& c, Trial& trial) {
    const auto index = decl.buffered_output();
    if (!index) return;
    trial.out = Given{c.outputs[*index].dtype, {c.outputs[*index].shape}, false};
  }

  std::mt19937_64 random_;
};

struct Tally {
  std::size_t cases = 0;
  std::size_t passed = 0;
  std::size_t refused = 0;
};

/// Reads each row and `rounds` random changes of it with both plans.
void compare(const Entry& entry,
             const LoadedSet& loaded,
             const SignaturePlan& from_yaml,
             const SignaturePlan& from_data,
             std::size_t rounds,
             Tally& tally) {
  DiagnosticList diagnostics;
  const Workloads workloads = instantiate(entry, loaded.set.adts, diagnostics);
  Mutator mutator(entry.decl.name.size() * 1000003 + entry.decl.where.line);
  for (const WorkloadCase& c : workloads.cases) {
    INFO("case ", c.op, " ", c.id);
    bool passed = false;
    bool also = false;
    const Trial right = trial_of(from_yaml.decl(), c);
    const std::string expected = reading(from_yaml, right, passed);
    CHECK(reading(from_data, right, also) == expected);
    CHECK_MESSAGE(passed, expected);
    ++tally.cases;
    for (std::size_t round = 0; round < rounds; ++round) {
      Trial trial = right;
      for (std::size_t change = 0; change <= round % 3; ++change)
        mutator.change(from_yaml.decl(), c, trial);
      const std::string one = reading(from_yaml, trial, passed);
      const std::string other = reading(from_data, trial, also);
      CHECK(one == other);
      CHECK(passed == also);
      ++(passed ? tally.passed : tally.refused);
    }
  }
}

TEST_SUITE_BEGIN("manifest/equality");

TEST_CASE(
    "the shipped plans that the build compiled read every row and random calls as YAML's do") {
  LoadedSet loaded = load_shipped();
  const auto compiled = load_compiled();
  REQUIRE(compiled);
  REQUIRE(compiled->size() == loaded.set.entries.size());
  Tally tally;

  for (std::size_t i = 0; i < compiled->size(); ++i) {
    const Entry& entry = loaded.set.entries[i];
    const auto plan = compile(entry, loaded.set.adts, loaded.diagnostics);
    REQUIRE(plan);
    compare(entry, loaded, *plan, *(*compiled)[i], 300, tally);
  }

  CHECK(tally.cases >= 25);
  CHECK(tally.passed > 500);
  CHECK(tally.refused > 500);
}

TEST_CASE(
    "plans of every construct read every row and random calls alike, before and after being data") {
  LoadedSet loaded =
      load_folder(std::string(TENON_SOURCE_DIR) + "/tests/manifest/tileops_style").value();
  Tally tally;

  for (const Entry& entry : loaded.set.entries) {
    auto data = compile_data(entry, loaded.set.adts, loaded.diagnostics);
    REQUIRE(data);
    auto again = signature::read_plan(signature::write_plan(*data));
    REQUIRE_MESSAGE(again, again.error().to_string());
    const auto from_yaml = signature::make_plan(std::move(*data));
    const auto from_data = signature::make_plan(std::move(*again));
    compare(entry, loaded, *from_yaml, *from_data, 60, tally);
  }

  CHECK(tally.cases >= 90);
  CHECK(tally.passed > 500);
  CHECK(tally.refused > 500);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::manifest::test
