// Prepares calls: the op, its parameters, its tensors and their device.
#include "prepared_call.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "fill.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/loader/npy.hpp"

namespace tenon::cli {
namespace {

/// The device on which the tensors live: named, that of the target, or the default one.
Result<Device> device_of_call(const Session& session,
                              const PreparedCall& call,
                              std::optional<Device> assumed) {
  if (call.text.device) return *call.text.device;
  if (assumed) return *assumed;
  if (call.text.target) {
    const auto kinds = call.snapshot->kinds();
    const std::string name = call.text.target->substr(0, call.text.target->find(':'));
    const bool is_kind = std::any_of(
        kinds.begin(), kinds.end(), [&](DeviceKind kind) { return kind.name() == name; });
    if (is_kind) return Device::parse(*call.text.target);
  }
  return session.engine().default_device();
}

/// Turns --inplace into what the op has for it: a parameter, or `out` being the first input.
Result<void> settle_in_place(PreparedCall& call) {
  if (!call.text.in_place) return {};
  const OpDecl& decl = call.decl();
  const bool has_parameter =
      std::any_of(decl.params.begin(), decl.params.end(), [](const ParamDecl& param) {
        return param.name == "inplace";
      });
  if (has_parameter) {
    call.params.emplace_back("inplace", true);
    return {};
  }
  const auto out = decl.buffered_output();
  const bool may_be_first =
      out && !decl.inputs.empty() &&
      std::find(decl.outputs[*out].may_alias.begin(),
                decl.outputs[*out].may_alias.end(),
                decl.inputs.front().name) != decl.outputs[*out].may_alias.end();
  if (!may_be_first) {
    return fail(ErrorCode::kUsageError, fmt::format("{} has no in-place form", decl.name));
  }
  if (call.tensors.out != nullptr) {
    return fail(ErrorCode::kUsageError,
                fmt::format("--inplace and {}= both name the result", decl.outputs[*out].name));
  }
  call.out_is_first_input = true;
  return {};
}

const TensorSource* first_input(const PreparedCall& call) {
  for (const TensorSource* source : call.tensors.inputs) {
    if (source->name == call.decl().inputs.front().name) return source;
  }
  return nullptr;
}

}  // namespace

Result<PreparedCall> prepare_call(const Session& session,
                                  const Arguments& arguments,
                                  std::optional<Device> assumed) {
  PreparedCall call;
  TENON_TRY_ASSIGN(call.text, parse_call(arguments));
  call.snapshot = session.snapshot();
  TENON_TRY_ASSIGN(call.op, call.snapshot->op(call.text.op));
  TENON_TRY_ASSIGN(call.tensors, sort_tensors(call.decl(), call.text));
  TENON_TRY_ASSIGN(call.params, parse_sets(call.decl(), call.text));
  TENON_TRY(settle_in_place(call));
  TENON_TRY_ASSIGN(call.device, device_of_call(session, call, assumed));
  return call;
}

Result<void> require_device(const Session& session, const PreparedCall& call) {
  DeviceTable& table = session.engine().devices();
  auto found = table.find(call.device);
  if (found) return {};
  std::vector<std::string> names;
  for (const DeviceKindEntry* kind : table.kinds()) {
    const auto devices = table.devices(kind->kind);
    if (!devices) continue;
    for (const DeviceEntry& entry : *devices) {
      if (table.find(entry.device)) names.push_back(entry.device.to_string());
    }
  }
  std::vector<std::string> kinds;
  for (const DeviceKindEntry* kind : table.kinds()) kinds.emplace_back(kind->kind.name());
  std::string hint = table.kind(call.device.kind) == nullptr
                         ? did_you_mean(call.device.kind.name(), kinds)
                         : std::string();
  if (!hint.empty()) hint += "; ";
  hint += fmt::format("available: {}",
                      names.empty() ? "no device" : fmt::format("{}", fmt::join(names, ", ")));
  const std::string key = fmt::format("devices.visible.{}", call.device.kind.name());
  if (const auto& visible = session.config().get(key); !visible.key.empty())
    hint += fmt::format("; {} ({}) is {}", key, visible.from(), visible.value.to_string());
  std::vector<std::string> unused;
  for (const PluginRecord& plugin : call.snapshot->plugins()) {
    if (plugin.state == PluginState::kActive || plugin.state == PluginState::kShadowed) continue;
    unused.push_back(fmt::format(
        "plugin {} is {}", plugin.id.empty() ? plugin.path : plugin.id, name_of(plugin.state)));
  }
  // Reasons are long, and were told when the plugins were looked at.
  if (!unused.empty()) {
    constexpr std::size_t kMost = 4;
    const bool cut = unused.size() > kMost;
    if (cut) unused.resize(kMost);
    hint += fmt::format(
        "; {}{}; 'tenon plugins' says why", fmt::join(unused, ", "), cut ? ", ..." : "");
  }
  return fail(std::move(found).error().with_hint(std::move(hint)));
}

Result<Op> make_instance(const Session& session,
                         const PreparedCall& call,
                         InstanceOptions options) {
  if (!options.target) options.target = call.text.target;
  if (options.tensors.empty()) {
    for (const TensorSource* source : call.tensors.construction) {
      auto host = host_tensor(*source);
      if (!host) return fail(std::move(host).error());
      options.tensors.emplace_back(source->name, std::move(*host));
    }
  }
  return session.engine().make(call.decl().full_name(), call.params, options);
}

namespace {

Result<void> require_sizes(const TensorSource& source) {
  if (!source.is_ranged()) return {};
  return fail(
      Error(ErrorCode::kUsageError,
            fmt::format(
                "'{}={}' gives ranges, but each size is needed here", source.name, source.text))
          .with_hint("only the inputs and the output of tenon infer may have ranges"));
}

}  // namespace

Result<Tensor> host_tensor(const TensorSource& source) {
  TENON_TRY(require_sizes(source));
  return source.is_file() ? load_npy(source.file, source.carried) : make_tensor(source);
}

Result<NamedSpec> spec_of(const TensorSource& source, Device device) {
  TENON_TRY(require_sizes(source));
  TensorSpec spec = source.spec;
  if (source.is_file()) {
    auto loaded = load_npy(source.file, source.carried);
    if (!loaded) return fail(std::move(loaded).error());
    spec = loaded->spec();
  }
  spec.device = device;
  return NamedSpec{source.name, spec, source.offset_elements};
}

Result<CallSpecs> specs_of(const PreparedCall& call) {
  CallSpecs specs;
  const OpDecl& decl = call.decl();
  for (const TensorSource* source : call.tensors.inputs) {
    const auto index = decl.input_index(source->name);
    const bool on_cpu = index && decl.inputs[*index].on_cpu;
    auto spec = spec_of(*source, on_cpu ? Device{} : call.device);
    if (!spec) return fail(std::move(spec).error());
    specs.inputs.push_back(std::move(*spec));
  }
  const TensorSource* const out = call.out_is_first_input ? first_input(call) : call.tensors.out;
  if (out != nullptr) {
    auto spec = spec_of(*out, call.device);
    if (!spec) return fail(std::move(spec).error());
    specs.out = std::move(*spec);
  }
  return specs;
}

Result<Tensor> moved_to(DeviceTable& devices, const Tensor& tensor, Device device) {
  return tensor.device() == device ? Result<Tensor>(tensor) : copied_to(devices, tensor, device);
}

Result<Tensor> copied_to(DeviceTable& devices, const Tensor& tensor, Device device) {
  if (!tensor.defined()) return tensor;
  const std::size_t element_size = size_bytes_of(tensor.dtype());
  const auto storage_elements =
      static_cast<std::int64_t>(tensor.storage()->size_bytes() / element_size);
  const Tensor flat(
      tensor.storage(),
      TensorView(
          tensor.storage()->memory(), tensor.dtype(), Dims{storage_elements}, tensor.device()));
  auto moved = devices.to_device(flat, device);
  if (!moved) return fail(std::move(moved).error());
  TensorView view = tensor.view();
  // Offsets count from the start of the allocation, on either side.
  view.byte_offset += static_cast<std::uint64_t>(
      static_cast<std::byte*>(view.data) - static_cast<std::byte*>(tensor.storage()->memory()));
  view.data = moved->view().data;
  view.byte_offset += moved->view().byte_offset;
  view.device = device;
  return Tensor(moved->storage(), view);
}

}  // namespace tenon::cli
