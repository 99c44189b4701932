// The public face of an instance: named calls, meta calls, the last record.
#include "tenon/core/op.hpp"

#include <array>

#include "runtime/given_views.hpp"
#include "runtime/instance.hpp"
#include "tenon/core/nearest.hpp"

namespace tenon {

Op::Op(std::unique_ptr<Instance> instance) : instance_(std::move(instance)) {}
Op::Op(Op&&) noexcept = default;
Op& Op::operator=(Op&&) noexcept = default;
Op::~Op() = default;

const OpDecl& Op::decl() const { return instance_->decl(); }
const SignaturePlan& Op::plan() const { return instance_->plan(); }
std::uint64_t Op::key() const { return instance_->construction.key; }

namespace {

Error unknown_input(const OpDecl& decl, std::string_view name) {
  std::vector<std::string> names;
  for (const auto& input : decl.inputs) names.push_back(input.name);
  std::string list;
  for (const auto& n : names) list += (list.empty() ? "" : ", ") + n;
  const std::string near = did_you_mean(name, names);
  return Error(ErrorCode::kSignatureMismatch,
               "op '" + decl.name + "' has no input '" + std::string(name) + "'")
      .with_hint((near.empty() ? "" : near + " ") + "its inputs are: " + list)
      .with_where(decl.where.to_string())
      .with("argument", std::string(name));
}

// Named arguments as positional ones: pointers into storage that the caller keeps.
class Positional {
 public:
  template <class Items, class ViewOf>
  Result<void> place(const OpDecl& decl, const Items& items, ViewOf&& view_of) {
    by_input_.assign(decl.inputs.size(), {});
    for (const auto& item : items) {
      const auto index = decl.input_index(item.name);
      if (!index) return fail(unknown_input(decl, item.name));
      if (!by_input_[*index].empty() && !decl.inputs[*index].list) {
        return fail(
            Error(ErrorCode::kSignatureMismatch,
                  "input '" + std::string(item.name) + "' of op '" + decl.name + "' is given twice")
                .with("argument", std::string(item.name)));
      }
      by_input_[*index].push_back(view_of(item));
    }
    args_.resize(decl.inputs.size());
    for (std::size_t i = 0; i < args_.size(); ++i) {
      if (!by_input_[i].empty())
        args_[i] = {by_input_[i].data(), static_cast<std::uint32_t>(by_input_[i].size())};
    }
    return {};
  }
  [[nodiscard]] std::span<const TensorArg> args() const { return args_; }

 private:
  std::vector<std::vector<const TensorView*>> by_input_;
  std::vector<TensorArg> args_;
};

// Views of specs at made-up addresses, each in memory of its own, so that facts can be told without
// memory.
class Imagined {
 public:
  explicit Imagined(std::size_t count) { views_.reserve(count); }
  const TensorView* view(const NamedSpec& named) {
    TensorView v(imagined_address(views_.size()),
                 named.spec.dtype,
                 named.spec.shape,
                 named.spec.strides,
                 named.spec.device);
    v.byte_offset =
        static_cast<std::uint64_t>(named.offset_elements) * size_bytes_of(named.spec.dtype);
    views_.push_back(v);
    return &views_.back();
  }

 private:
  std::vector<TensorView> views_;  // never grows past its reserve, so pointers hold
};

// Where a call without tensors lives; only such calls need it.
Result<Device> default_device(const Op::Instance& instance, std::span<const TensorArg> inputs) {
  for (const TensorArg& arg : inputs) {
    if (arg.present()) return Device{};
  }
  return instance.construction.engine->default_device();
}

}  // namespace

Result<std::vector<Tensor>> Op::call(std::span<const NamedTensor> inputs,
                                     const CallOptions& options) {
  Positional positional;
  TENON_TRY(
      positional.place(decl(), inputs, [](const NamedTensor& t) { return &t.tensor.view(); }));
  CallArgs args;
  args.inputs = positional.args();
  args.out = options.out;
  args.device = options.device;
  TENON_TRY_ASSIGN(args.default_device, default_device(*instance_, args.inputs));
  ThreadState& state = instance_->thread_state();
  TENON_TRY(instance_->call(state, args));
  std::vector<Tensor> outputs;
  outputs.reserve(state.outputs.size());
  for (std::size_t i = 0; i < state.outputs.size(); ++i) {
    if (state.outputs[i] == nullptr) {
      outputs.emplace_back();
    } else if (state.made[i].defined()) {
      outputs.push_back(std::move(state.made[i]));
      state.made[i] = Tensor();
    } else {
      // An input or `out`: the same memory, kept alive where the caller gave a Tensor.
      std::shared_ptr<Storage> keep;
      for (const NamedTensor& t : inputs) {
        if (t.tensor.view().first() == state.outputs[i]->first()) keep = t.tensor.storage();
      }
      outputs.emplace_back(std::move(keep), *state.outputs[i]);
    }
  }
  return outputs;
}

Result<std::vector<Tensor>> Op::call_reference(std::span<const NamedTensor> inputs) {
  Positional positional;
  TENON_TRY(
      positional.place(decl(), inputs, [](const NamedTensor& t) { return &t.tensor.view(); }));
  CallArgs args;
  args.inputs = positional.args();
  TENON_TRY_ASSIGN(args.default_device, default_device(*instance_, args.inputs));
  std::vector<Tensor> results;
  TENON_TRY(instance_->call_reference(args, results));
  return results;
}

namespace {

Error wrong_count(const OpDecl& decl, const char* what, std::size_t expected, std::size_t found) {
  return {ErrorCode::kUsageError,
          "op '" + decl.name + "' has " + std::to_string(expected) + " " + what +
              ", absent ones included; got " + std::to_string(found)};
}

}  // namespace

Result<void> Op::Instance::call_positional(std::span<const TensorArg> inputs,
                                           const TensorView* out,
                                           std::span<Tensor> outputs) {
  const OpDecl& d = decl();
  if (outputs.size() != d.outputs.size())
    return fail(wrong_count(d, "outputs", d.outputs.size(), outputs.size()));
  CallArgs args;
  args.inputs = inputs;
  args.out = out;
  if (inputs.empty()) TENON_TRY_ASSIGN(args.default_device, default_device(*this, inputs));
  ThreadState& state = thread_state();
  TENON_TRY(call(state, args));
  if (state.outputs.size() != outputs.size())
    return fail(wrong_count(d, "output tensors", outputs.size(), state.outputs.size()));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (state.made[i].defined()) {
      outputs[i] = std::move(state.made[i]);
    } else if (state.outputs[i] != nullptr) {
      outputs[i] = Tensor(nullptr, *state.outputs[i]);
    } else {
      outputs[i] = Tensor();
    }
  }
  return {};
}

Result<void> Op::call_into(std::span<const TensorArg> inputs, std::span<Tensor> outputs) {
  return instance_->call_positional(inputs, nullptr, outputs);
}

Result<void> Op::call_out(std::span<const TensorArg> inputs, const TensorView& out) {
  CallArgs args;
  args.inputs = inputs;
  args.out = &out;
  return instance_->call(instance_->thread_state(), args);
}

Result<Op::Inferred> Op::infer(std::span<const NamedSpec> inputs, const NamedSpec* out) {
  Imagined imagined(inputs.size() + 1);
  Positional positional;
  TENON_TRY(positional.place(decl(), inputs, [&](const NamedSpec& s) { return imagined.view(s); }));
  CallArgs args;
  args.inputs = positional.args();
  args.out = out == nullptr ? nullptr : imagined.view(*out);
  args.meta = true;
  TENON_TRY_ASSIGN(args.default_device, default_device(*instance_, args.inputs));
  TENON_TRY(check_given(decl(), args));
  const Construction& construction = *instance_->construction.construction;
  std::unique_ptr<CallFrame> frame;
  TENON_TRY_ASSIGN(frame, instance_->checked(args));
  Inferred inferred;
  inferred.device = frame->device;
  inferred.branch = frame->branch;
  inferred.outputs = frame->outputs;
  for (std::size_t i = 0; i < decl().inputs.size(); ++i) {
    if (frame->written_inputs[i]) inferred.written_inputs.push_back(decl().inputs[i].name);
  }
  inferred.indices = plan().indices(construction, *frame);
  inferred.cost = plan().cost(construction, args, *frame);
  instance_->keep_meta_record(args, *frame);
  return inferred;
}

Explanation Op::explain(std::span<const NamedSpec> inputs,
                        const NamedSpec* out,
                        std::span<const DeviceFacts> assumed) {
  Imagined imagined(inputs.size() + 1);
  Positional positional;
  const auto failed = [&](Error error) {
    Explanation e;
    e.op = decl().name;
    e.error = std::move(error);
    return e;
  };
  if (auto placed =
          positional.place(decl(), inputs, [&](const NamedSpec& s) { return imagined.view(s); });
      !placed) {
    return failed(std::move(placed).error());
  }
  CallArgs args;
  args.inputs = positional.args();
  args.out = out == nullptr ? nullptr : imagined.view(*out);
  args.meta = true;
  auto device = default_device(*instance_, args.inputs);
  if (!device) return failed(std::move(device).error());
  args.default_device = *device;
  return instance_->explain(args, assumed);
}

std::optional<SignatureCall> Op::last_call() const {
  ThreadState& state = instance_->thread_state();
  if (state.last == nullptr) return std::nullopt;
  return instance_->tell(*state.last, *state.frame);
}

std::string Op::serving_target() const {
  return instance_->serving_target(instance_->thread_state());
}

}  // namespace tenon
