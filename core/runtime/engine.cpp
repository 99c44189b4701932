// Engine: makes ops, keeps the process default target.
#include "tenon/core/engine.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/fence.hpp"
#include "runtime/instance.hpp"
#include "tenon/core/nearest.hpp"

namespace tenon {

std::shared_ptr<Engine> Engine::create(EngineOptions options, LogSink log) {
  return std::shared_ptr<Engine>(new Engine(std::move(options), std::move(log)));
}

Engine::Engine(EngineOptions options, LogSink log) : internals_(std::make_unique<Internals>()) {
  internals_->options = std::move(options);
  internals_->log = std::move(log);
}

Engine::~Engine() = default;

Registry& Engine::registry() { return internals_->registry; }
DeviceTable& Engine::devices() { return *internals_->devices; }
const EngineOptions& Engine::options() const { return internals_->options; }

void Engine::log(int level, std::string_view component, std::string_view text) const {
  if (internals_->log) internals_->log(level, component, text);
}

std::uint64_t Engine::next_instance_key() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

namespace {

std::string nearest_or_all(const std::string& wrong, const std::vector<std::string>& names) {
  if (std::string near = did_you_mean(wrong, names); !near.empty()) return near;
  return names.empty() ? "there is none" : fmt::format("there are: {}", fmt::join(names, ", "));
}

// A kernel that is forced must exist: a mistyped one would otherwise only show on a call.
Result<void> check_override(const Snapshot& snapshot,
                            const OpClass& op_class,
                            const std::string& interface,
                            const std::string& key) {
  const OpDecl& decl = op_class.plan->decl();
  std::vector<std::string> names;
  std::size_t at = 0;
  while (at < decl.interfaces.size() && decl.interfaces[at].name != interface) ++at;
  if (at == decl.interfaces.size()) {
    names.reserve(decl.interfaces.size());
    for (const auto& i : decl.interfaces) names.push_back(i.name);
    return fail(
        Error(ErrorCode::kUsageError,
              fmt::format("kernel_override names interface '{}', which op '{}' does not have",
                          interface,
                          decl.name))
            .with_hint(nearest_or_all(interface, names)));
  }
  for (const auto& type : op_class.interfaces[at].types) {
    if (type->qualified == key) return {};
    names.push_back(type->qualified);
  }
  std::string state = why_not_active(snapshot.plugins(), key.substr(0, key.find(':')));
  return fail(
      Error(ErrorCode::kUsageError,
            fmt::format("kernel_override names '{}', which no plugin registered for interface '{}'",
                        key,
                        interface))
          .with_hint(state.empty() ? nearest_or_all(key, names) : std::move(state)));
}

}  // namespace

Result<Op> Engine::make(std::string_view op,
                        std::span<const NamedValue> params,
                        const InstanceOptions& options) {
  auto snapshot = internals_->registry.snapshot();
  auto found = snapshot->op(op);
  if (!found) {
    Error error = std::move(found).error();
    if (const auto failed = failed_plugins_text(*snapshot); !failed.empty())
      error.with_hint(error.hint() + "; " + failed);
    return fail(std::move(error));
  }
  auto made =
      make_instance(shared_from_this(), std::move(snapshot), **found, params, options, nullptr);
  if (!made) return fail(std::move(made).error());
  return wrap(std::move(*made));
}

Op wrap(std::unique_ptr<Op::Instance> instance) { return Op(std::move(instance)); }

namespace {

// Sub-ops that are given must be of the op that their stage declares.
Result<void> check_delegates(const OpDecl& decl, const InstanceOptions& options) {
  for (const auto& given : options.delegates) {
    const std::string& stage = given.first;
    const std::shared_ptr<Op>& op = given.second;
    const auto at = std::find_if(
        decl.stages.begin(), decl.stages.end(), [&](const auto& s) { return s.name == stage; });
    if (at == decl.stages.end()) {
      std::vector<std::string> names;
      names.reserve(decl.stages.size());
      for (const auto& s : decl.stages) names.push_back(s.name);
      return fail(Error(ErrorCode::kUsageError,
                        fmt::format("op '{}' has no stage '{}' for a sub-op", decl.name, stage))
                      .with_hint(did_you_mean(stage, names)));
    }
    if (op == nullptr || (op->decl().name != at->op && op->decl().full_name() != at->op)) {
      return fail(ErrorCode::kUsageError,
                  fmt::format("stage '{}' of op '{}' calls op '{}', not '{}'",
                              stage,
                              decl.name,
                              at->op,
                              op == nullptr ? "nothing" : op->decl().full_name()));
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Op::Instance>> make_instance(std::shared_ptr<Engine> engine,
                                                    std::shared_ptr<const Snapshot> snapshot,
                                                    const OpClass& op_class,
                                                    std::span<const NamedValue> params,
                                                    const InstanceOptions& options,
                                                    const Op::Instance* outermost) {
  prepare_fences();
  auto instance = std::make_unique<Op::Instance>();
  ConstructionGroup& c = instance->construction;
  c.engine = std::move(engine);
  c.snapshot = std::move(snapshot);
  c.op_class = &op_class;
  c.options = options;
  c.outermost = outermost;
  const OpDecl& decl = op_class.plan->decl();
  auto construction = op_class.plan->construct(params, options.tensors);
  if (!construction) return fail(std::move(construction).error());
  c.construction = std::move(*construction);
  const EngineOptions& configured = c.engine->options();
  if (const auto own = configured.ops.find(decl.full_name()); own != configured.ops.end()) {
    c.configured = own->second;
    for (const auto& key : c.configured.disable) c.disabled.emplace_back(key.value, key.from);
  }
  for (const auto& [interface, key] : options.kernel_override) {
    TENON_TRY(check_override(*c.snapshot, op_class, interface, key));
  }
  TENON_TRY(check_delegates(decl, options));
  c.key = Engine::next_instance_key();
  // An unknown target is refused here already, whoever asked for it.
  if (auto target = instance->requested_target(); !target) return fail(std::move(target).error());
  Engine::Internals& internals = c.engine->internals();
  const std::lock_guard lock(internals.instances_mutex);
  internals.instances.emplace(c.key, instance.get());
  return instance;
}

Result<void> Engine::set_default_target(std::string target, std::string from) {
  if (!target.empty()) {
    auto parsed = parse_target(*internals_->registry.snapshot(), target, from);
    if (!parsed) return fail(std::move(parsed).error());
  }
  const std::lock_guard lock(internals_->default_mutex);
  if (target.empty()) {
    internals_->process_default.reset();
  } else {
    internals_->process_default = Setting<std::string>{std::move(target), std::move(from)};
  }
  internals_->default_version.fetch_add(1, std::memory_order_acq_rel);
  return {};
}

Setting<std::string> Engine::default_target() const {
  const std::lock_guard lock(internals_->default_mutex);
  if (internals_->process_default) return *internals_->process_default;
  if (internals_->options.target) return *internals_->options.target;
  return {};
}

Result<Device> Engine::default_device() const {
  if (const auto& configured = internals_->options.default_device)
    return Device::parse(configured->value);
  const Setting<std::string> target = default_target();
  if (target.value.empty()) return Device{};
  auto parsed = parse_target(*internals_->registry.snapshot(), target.value, target.from);
  if (!parsed) return fail(std::move(parsed).error());
  if (!parsed->kind) return Device{};
  return Device{*parsed->kind, parsed->device_index.value_or(0)};
}

}  // namespace tenon
