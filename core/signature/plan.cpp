// SignaturePlan over plan data: branches by presence, made at first use and kept.
#include "signature/plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "signature/walker.hpp"

namespace tenon::signature {

std::shared_ptr<const SignaturePlan> make_plan(PlanData data) {
  return std::make_shared<Plan>(std::move(data));
}

Plan::Plan(PlanData data) : SignaturePlan(data.decl), data_(std::move(data)) {
  for (const Discriminant& d : data_.discriminants) {
    const SymbolKind kind = data_.symbols[d.symbol].kind;
    at_construction_.push_back(kind == SymbolKind::kParam || kind == SymbolKind::kConstruction);
  }
  // Presence bits: every input that may be absent, then `out`.
  std::uint32_t bit = 0;
  for (std::uint32_t i = 0; i < data_.decl.inputs.size(); ++i) {
    if (data_.decl.inputs[i].optional == When::kNever) continue;
    if (data_.decl.inputs[i].optional == When::kAlways) deciding_bits_ |= std::uint64_t{1} << bit;
    optional_inputs_.push_back(i);
    ++bit;
  }
  out_bit_ = std::uint64_t{1} << bit;
  deciding_bits_ |= out_bit_;
  if (const auto output = data_.decl.buffered_output())
    buffered_output_ = static_cast<std::int32_t>(*output);
  for (std::uint32_t i = 0; i < data_.symbols.size(); ++i) {
    if (data_.symbols[i].kind == SymbolKind::kShape) ++shape_count_;
  }
  shapes_.resize(data_.interfaces.size());
  for (std::uint32_t i = 0; i < data_.interfaces.size(); ++i) {
    for (std::uint32_t arg = 0; arg < data_.interfaces[i].args.size(); ++arg)
      shapes_[i].push_back(make_shape_program(data_, i, arg, constants_));
  }
}

std::uint64_t Plan::mask_of(const CallArgs& args) const {
  std::uint64_t mask = args.out != nullptr ? out_bit_ : 0;
  for (std::size_t bit = 0; bit < optional_inputs_.size(); ++bit) {
    if (args.inputs[optional_inputs_[bit]].present()) mask |= std::uint64_t{1} << bit;
  }
  return mask;
}

std::unique_ptr<CallFrame> Plan::make_frame() const {
  auto frame = std::make_unique<Frame>();
  frame->outputs.resize(data_.decl.outputs.size());
  frame->written_inputs.resize(data_.decl.inputs.size());
  return frame;
}

PrefixEntry& Plan::prefix_for(const Choices& choices) const {
  const std::lock_guard lock(prefixes_mutex_);
  std::unique_ptr<PrefixEntry>& entry = prefixes_[choices];
  if (!entry) {
    entry = std::make_unique<PrefixEntry>();
    entry->prefix = make_prefix(data_, choices);
  }
  return *entry;
}

const BranchEntry& Plan::branch_for(PrefixEntry& prefix, std::uint64_t key) const {
  std::atomic<BranchEntry*>& bucket = prefix.buckets[(key * 0x9e3779b97f4a7c15ull) >> 58];
  for (const BranchEntry* e = bucket.load(std::memory_order_acquire); e != nullptr; e = e->next) {
    if (e->key == key) return *e;
  }
  const std::lock_guard lock(prefix.building);
  for (const BranchEntry* e = bucket.load(std::memory_order_acquire); e != nullptr; e = e->next) {
    if (e->key == key) return *e;
  }
  prefix.owned.push_back(make_entry(prefix.prefix, key));
  BranchEntry* made = prefix.owned.back().get();
  made->next = bucket.load(std::memory_order_relaxed);
  bucket.store(made, std::memory_order_release);
  return *made;
}

std::unique_ptr<BranchEntry> Plan::make_entry(const Prefix& prefix, std::uint64_t key) const {
  auto entry = std::make_unique<BranchEntry>();
  entry->key = key;
  Choices choices = prefix.choices;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Discriminant& d = data_.discriminants[i];
    if (d.kind == Discriminant::Kind::kOutPresence) choices[i] = (key & out_bit_) != 0 ? 1 : 0;
    if (d.kind != Discriminant::Kind::kTensorPresence || at_construction_[i]) continue;
    const auto bit =
        std::find(
            optional_inputs_.begin(), optional_inputs_.end(), data_.symbols[d.symbol].ordinal) -
        optional_inputs_.begin();
    choices[i] = (key >> bit) & 1u ? 1 : 0;
  }
  entry->branch = make_branch(data_, prefix, choices);
  const Branch& branch = entry->branch;
  entry->expected_mask = branch.has_out ? out_bit_ : 0;
  for (std::size_t bit = 0; bit < optional_inputs_.size(); ++bit) {
    if (branch.facts.presence[data_.first_input + optional_inputs_[bit]] == 1)
      entry->expected_mask |= std::uint64_t{1} << bit;
  }
  if (branch.rejected_by || branch.error) return entry;
  finish_entry(*entry);
  entry->program = make_program(data_, prefix, entry->branch);
  entry->cell_count =
      std::max(static_cast<std::uint32_t>(data_.symbols.size()), entry->program.cell_count);
  for (std::uint32_t i = 0; i < data_.interfaces.size(); ++i) {
    entry->calls.push_back(make_call_program(
        data_, prefix, entry->branch, decl_.interfaces[i], entry->fields[i], entry->cell_count));
    entry->cell_count = entry->calls.back().program.cell_count;
  }
  return entry;
}

std::vector<bool> Plan::unsolved_lets(const BranchEntry& entry) const {
  std::vector<bool> unsolved(data_.lets.size(), true);
  for (const Step& s : entry.branch.steps) {
    if (s.kind == StepKind::kLet) unsolved[data_.symbols[s.target].ordinal] = false;
  }
  return unsolved;
}

namespace {

/// Folds an interface's fields and the dtypes of its temporaries.
void fold_interface(Folder& folder,
                    const InterfaceData& interface,
                    std::vector<Expr>& fields,
                    std::vector<Expr>& temporary_dtypes) {
  for (const TextExpr& field : interface.fields) {
    fields.push_back(field.given() ? folder.fold(field.root) : kNoExpr);
    folder.forget_error();
  }
  for (const ArgData& arg : interface.args) {
    temporary_dtypes.push_back(arg.dtype.given() ? folder.fold(arg.dtype.root) : kNoExpr);
    folder.forget_error();
  }
}

}  // namespace

void Plan::finish_entry(BranchEntry& entry) const {
  Branch& branch = entry.branch;
  entry.written = branch.written;
  std::vector<std::uint32_t> written;
  for (std::uint32_t i = 0; i < branch.written.size(); ++i) {
    if (branch.written[i]) written.push_back(i);
  }
  for (std::uint32_t i = 0; i < decl_.branches.size(); ++i) {
    const EffectBranch& effect = decl_.branches[i];
    if (effect.written_inputs == written && effect.has_out == branch.has_out && !effect.in_place)
      entry.effect = i;
  }
  entry.returns_or_writes = !written.empty();
  entry.simple_effects = written.empty();
  for (std::uint32_t i = 0; i < decl_.outputs.size(); ++i) {
    OutputSpec spec;
    spec.present = branch.outputs[i].passed;
    entry.returns_or_writes = entry.returns_or_writes || spec.present;
    if (const auto alias = decl_.input_index(decl_.outputs[i].alias);
        alias && branch.written[*alias]) {
      spec.alias_input = static_cast<std::int32_t>(*alias);
      entry.simple_effects = false;
    }
    entry.outputs.push_back(spec);
  }
  // Interfaces: which one each step uses, and its fields as they are here.
  Folder folder(data_, branch.facts, branch.pool);
  folder.inline_lets(unsolved_lets(entry));
  entry.active.assign(std::max<std::size_t>(decl_.steps.size(), 1), -1);
  entry.fields.resize(data_.interfaces.size());
  entry.temporary_dtypes.resize(data_.interfaces.size());
  for (std::uint32_t i = 0; i < data_.interfaces.size(); ++i) {
    const InterfaceData& interface = data_.interfaces[i];
    fold_interface(folder, interface, entry.fields[i], entry.temporary_dtypes[i]);
    const std::uint32_t step = decl_.interfaces[i].step;
    entry.conditions.push_back(interface.when.given() ? folder.fold(interface.when.root) : kNoExpr);
    folder.forget_error();
    const bool always = entry.conditions.back() == kNoExpr && !interface.when.given();
    const auto known =
        always ? std::optional(true) : constant_bool(branch.pool, entry.conditions.back());
    if (!known) entry.active[step] = -2;
    if (known == true && entry.active[step] == -1)
      entry.active[step] = static_cast<std::int32_t>(i);
  }
}

}  // namespace tenon::signature
