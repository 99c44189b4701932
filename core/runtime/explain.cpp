// Explaining a call: the same preparation and selection as a miss, with everything reported and
// nothing built.
#include <algorithm>

#include <fmt/format.h>

#include "registry/abi_text.hpp"
#include "runtime/call_stack.hpp"
#include "runtime/given_views.hpp"
#include "runtime/step_run.hpp"

namespace tenon {
namespace {

std::string describe(const tenon_arg_facts& facts) {
  if (facts.present == 0) return "absent";
  std::string text(layout_name(facts.layout));
  text += ", " + std::to_string(1u << facts.align_log2) + "-byte aligned";
  if (facts.wide != 0) text += ", wide";
  return text;
}

std::vector<NamedValue> branch_of(const OpDecl& decl,
                                  const CallArgs& args,
                                  const CallFrame& frame) {
  std::vector<NamedValue> branch;
  for (std::size_t i = 0; i < decl.inputs.size(); ++i) {
    if (decl.inputs[i].optional != When::kNever)
      branch.emplace_back("present(" + decl.inputs[i].name + ")", args.inputs[i].present());
    if (frame.written_inputs[i]) branch.emplace_back("written(" + decl.inputs[i].name + ")", true);
  }
  if (decl.buffered_output()) branch.emplace_back("present(out)", args.out != nullptr);
  return branch;
}

}  // namespace

namespace {

// Inputs are imagined before it; no call has as many.
constexpr std::size_t kFirstImaginedOutput = 4096;

}  // namespace

class Explainer {
 public:
  Explainer(Op::Instance& instance, const CallArgs& args, std::span<const DeviceFacts> assumed)
      : instance_(instance), args_(args), assumed_(assumed) {
    state_.frame = instance.plan().make_frame();
  }

  Explanation run() {
    const OpDecl& decl = instance_.decl();
    e_.op = decl.name;
    for (const PluginRecord& record : instance_.construction.snapshot->plugins()) {
      if (record.state == PluginState::kDisabled) {
        e_.excluded.emplace_back(record.id, record.reason);
      } else if (record.state != PluginState::kActive && record.state != PluginState::kShadowed) {
        e_.rejected_plugins.push_back(
            {record.path, std::string(name_of(record.stage)), record.reason});
      }
    }
    const auto& excluded = instance_.engine().options.excluded;
    e_.excluded.insert(e_.excluded.end(), excluded.begin(), excluded.end());
    if (auto given = check_given(decl, args_); !given) {
      e_.error = std::move(given).error();
      return std::move(e_);
    }
    const Construction& construction = *instance_.construction.construction;
    if (!instance_.plan().check(construction, args_, *state_.frame)) {
      e_.error = instance_.plan().failure(construction, args_, *state_.frame);
      return std::move(e_);
    }
    e_.device = state_.frame->device;
    e_.branch = branch_of(decl, args_, *state_.frame);
    if (!choose_target()) return std::move(e_);
    if (builder_ != nullptr) {
      explain_builder();
      imagine_outputs();
      compose_if_nothing_serves();
      return std::move(e_);
    }
    imagine_outputs();
    for (std::uint32_t step = 0; step < decl.steps.size() && !e_.error; ++step) {
      const auto interface = instance_.plan().active_interface(step, construction, *state_.frame);
      if (interface) explain_step(step, *interface);
    }
    if (decl.interfaces.empty()) {
      e_.error = Error(
          ErrorCode::kOpNotAvailable,
          "op '" + decl.name + "' has no kernel interfaces: only a builder target can serve it");
    }
    compose_if_nothing_serves();
    return std::move(e_);
  }

 private:
  // The composition stands behind the op's own kernels, and only where none serves.
  void compose_if_nothing_serves() {
    if (!e_.error || forced_ || !instance_.composes()) return;
    const ErrorCode code = e_.error->code();
    if (code != ErrorCode::kNoImplementation && code != ErrorCode::kOpNotAvailable) return;
    const std::string& why = e_.error->message();
    e_.composition = "its stages run, for " + why.substr(0, why.find('\n'));
    explain_composition(instance_, state_, args_, assumed_, e_);
  }

  bool choose_target() {
    auto choice = instance_.choose_target(e_.device);
    if (!choice) {
      e_.error = choice.error();
      return false;
    }
    e_.target = choice->name;
    e_.target_from = choice->from;
    builder_ = choice->builder;
    if (builder_ != nullptr) e_.target_plugin = builder_->plugin->id;
    const bool mismatch = (builder_ != nullptr && !builder_->serves(e_.device.kind)) ||
                          (choice->kind && *choice->kind != e_.device.kind) ||
                          (choice->device_index && *choice->device_index != e_.device.index);
    if (mismatch) e_.error = target_mismatch(*choice, e_.device);
    return true;
  }

  // A builder target serves the op whole, or not at all; the kernel types stay aside.
  void explain_builder() {
    const OpDecl& decl = instance_.decl();
    if (!builder_->index_of(decl.full_name()) && !e_.error) {
      e_.error = Error(ErrorCode::kOpNotAvailable,
                       "target '" + builder_->name + "' of plugin '" + builder_->plugin->id +
                           "' has no builder for op '" + decl.name + "'");
    }
    const auto& tables = instance_.construction.op_class->interfaces;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      StepReport report;
      report.step = decl.steps[decl.interfaces[i].step].name;
      report.interface = decl.interfaces[i].name;
      if (!e_.error) report.winner = builder_->qualified;
      for (const auto& type : tables[i].types) {
        CandidateReport c;
        c.key = type->key;
        c.plugin = type->plugin->id;
        c.verdict = Verdict::kOtherTarget;
        c.by = builder_->qualified;
        c.reason.text = "target '" + builder_->name + "' serves the op whole";
        report.candidates.push_back(std::move(c));
      }
      e_.steps.push_back(std::move(report));
    }
  }

  // Outputs that a call would make: dense and fully aligned.
  void imagine_outputs() {
    const CallFrame& frame = *state_.frame;
    const OpDecl& decl = instance_.decl();
    std::size_t total = 0;
    state_.output_first.clear();
    for (std::size_t i = 0; i < frame.outputs.size(); ++i) {
      state_.output_first.push_back(static_cast<std::uint32_t>(total));
      total += decl.outputs[i].list ? frame.outputs[i].list_count : 1;
    }
    state_.output_first.push_back(static_cast<std::uint32_t>(total));
    imagined_.reserve(total);
    std::size_t from_lists = 0;
    for (std::size_t i = 0; i < frame.outputs.size(); ++i) {
      const OutputSpec& spec = frame.outputs[i];
      for (std::uint32_t at = state_.output_first[i]; at < state_.output_first[i + 1]; ++at) {
        const OutputSpec& one = decl.outputs[i].list ? frame.list_outputs[from_lists++] : spec;
        if (!one.present) {
          state_.outputs.push_back(nullptr);
        } else if (decl.outputs[i].buffer_out && args_.out != nullptr) {
          state_.outputs.push_back(args_.out);
        } else if (one.alias_input >= 0) {
          state_.outputs.push_back(
              args_.inputs[static_cast<std::size_t>(one.alias_input)].single());
        } else {
          imagined_.emplace_back(imagined_address(kFirstImaginedOutput + imagined_.size()),
                                 one.dtype,
                                 one.shape,
                                 frame.device);
          state_.outputs.push_back(&imagined_.back());
        }
      }
    }
  }

  // It would win, and the configuration wants an error instead.
  void refuse_reference(StepReport& report) const {
    for (CandidateReport& c : report.candidates) {
      if (c.verdict != Verdict::kChosen) continue;
      c.verdict = Verdict::kRefused;
      c.reason.text = fmt::format("selection.reference is error ({})",
                                  instance_.engine().options.selection.reference.from);
    }
    report.winner.reset();
  }

  // What round 2 would have changed, where a setting leaves it out.
  void say_left_out_copies(const StepRun& run,
                           const SelectionQuery& query,
                           const SelectionResult& result) {
    const std::string by = run.left_out_copies(query.kind);
    if (by.empty() || result.round == 1) return;
    SelectionQuery with_copies = query;
    with_copies.copies_allowed = true;
    const SelectionResult other = select(with_copies);
    if (other.round != 2) return;
    e_.excluded.emplace_back(
        fmt::format("round 2 of interface {}, in which {} would serve on dense copies",
                    run.interface_decl().name,
                    other.winner != nullptr ? other.winner->qualified
                                            : fmt::format("{}", fmt::join(other.tied, ", "))),
        by);
  }

  static void sort_candidates(StepReport& report) {
    std::stable_sort(
        report.candidates.begin(), report.candidates.end(), [](const auto& a, const auto& b) {
          if ((a.verdict == Verdict::kChosen) != (b.verdict == Verdict::kChosen))
            return a.verdict == Verdict::kChosen;
          if (a.round != b.round) return a.round < b.round;
          return std::pair(a.plugin, a.key) < std::pair(b.plugin, b.key);
        });
  }

  void explain_step(std::uint32_t step, std::uint32_t interface) {
    StepRun run(instance_, state_, args_, step, interface);
    StepReport report;
    report.step = instance_.decl().steps[step].name;
    report.interface = run.interface_decl().name;
    if (auto prepared = run.prepare(); !prepared) {
      e_.error = std::move(prepared).error();
      e_.steps.push_back(std::move(report));
      return;
    }
    const InterfaceDecl& decl = run.interface_decl();
    for (std::size_t i = 0; i < decl.fields.size(); ++i)
      report.call.emplace_back(decl.fields[i].name, detail::value_of(state_.fields[i]));
    for (std::size_t a = 0; a < decl.args.size(); ++a)
      report.facts.emplace_back(decl.args[a].name, Value(describe(state_.facts[a])));
    const DeviceFacts* facts = nullptr;
    for (const DeviceFacts& a : assumed_) {
      if (a.fields().kind == e_.device.kind.name() && a.fields().index == e_.device.index)
        facts = &a;
    }
    const DeviceEntry* entry = nullptr;
    if (facts == nullptr) {
      auto found = instance_.engine().devices->find(e_.device);
      if (!found) {
        e_.error = std::move(found).error();
        e_.steps.push_back(std::move(report));
        return;
      }
      entry = *found;
      facts = &entry->facts;
    }
    std::string forced;
    std::string forced_by;
    const SelectionQuery query = run.query(*facts, e_.device.kind, forced, forced_by);
    forced_ = forced_ || !query.forced.empty();
    const SelectionResult result = select(query, &report.candidates);
    report.round = result.round;
    if (result.winner != nullptr) report.winner = result.winner->qualified;
    const bool refused_reference = run.refuses_reference(query, result);
    if (refused_reference) refuse_reference(report);
    say_left_out_copies(run, query, result);
    if ((result.outcome != SelectionOutcome::kChosen || refused_reference) && !e_.error) {
      DeviceEntry imagined;
      imagined.device = e_.device;
      imagined.facts = *facts;
      e_.error = run.selection_error(query, entry == nullptr ? imagined : *entry);
    }
    sort_candidates(report);
    e_.steps.push_back(std::move(report));
  }

  Op::Instance& instance_;
  const CallArgs& args_;
  std::span<const DeviceFacts> assumed_;
  ThreadState state_;
  const BuilderTarget* builder_ = nullptr;
  bool forced_ = false;  // a kernel is forced: its refusal stands
  std::vector<TensorView> imagined_;
  Explanation e_;
};

void* imagined_address(std::size_t ordinal) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): nothing is ever read there
  return reinterpret_cast<void*>((ordinal + 1) << 44);
}

Explanation Op::Instance::explain(const CallArgs& args, std::span<const DeviceFacts> assumed) {
  return Explainer(*this, args, assumed).run();
}

}  // namespace tenon
