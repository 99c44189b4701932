// Availability, applicability and precedence, in up to three rounds.
#include "registry/selection.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "registry/abi_text.hpp"
#include "tenon/core/plugin_calls.hpp"

namespace tenon {
namespace {

using detail::empty_reason;

// Interfaces are small; these bounds only size scratch on the stack, larger ones go to the heap.
struct CallScratch {
  void resize(std::size_t n_fields, std::size_t n_args) {
    fields.resize(n_fields);
    args.resize(n_args);
  }
  std::vector<tenon_value> fields;
  std::vector<tenon_arg_facts> args;
};

/// What a plugin refuses for: none of the host's codes, and without one some other reason.
std::uint32_t plugins_code(std::uint32_t code) {
  constexpr std::uint32_t kFirst = 16;
  return code < kFirst ? TENON_REASON_OTHER : code;
}

class Selector {
 public:
  Selector(const SelectionQuery& query, std::vector<CandidateReport>* report)
      : q_(query),
        report_(report),
        round_facts_(query.facts.size()),
        copied_(query.table.types.size(), 0) {}

  SelectionResult run() {
    SelectionResult result = play_rounds();
    result.failed = std::move(failed_);
    return result;
  }

 private:
  SelectionResult play_rounds() {
    SelectionResult result;
    const auto& types = q_.table.types;
    const bool any_for_device =
        std::any_of(types.begin(), types.end(), [&](const auto& t) { return t->serves(q_.kind); });
    for (std::uint32_t round = 1; round <= 3; ++round) {
      if (round == 2 && (!q_.copies_allowed || q_.facts.size() > kMaxCopiedArgs)) continue;
      play(round, result);
      if (result.outcome == SelectionOutcome::kChosen ||
          result.outcome == SelectionOutcome::kAmbiguous)
        return result;
    }
    result.outcome = any_for_device ? SelectionOutcome::kNone : SelectionOutcome::kNoneForDevice;
    return result;
  }

  void play(std::uint32_t round, SelectionResult& result) {
    applicable_.clear();
    for (std::size_t i = 0; i < q_.table.types.size(); ++i) {
      if (takes_part(i, round)) applicable_.push_back(i);
    }
    if (applicable_.empty()) return;
    rank(round, result);
  }

  // Whether type i is asked in this round, and serves.
  bool takes_part(std::size_t i, std::uint32_t round) {
    const KernelType& type = *q_.table.types[i];
    const bool forced = !q_.forced.empty();
    if (forced && type.qualified != q_.forced) {
      if (round == 1 && report_ != nullptr) {
        say(i, round, Verdict::kOutranked, std::string(q_.forced)).reason.text =
            "overridden by " + std::string(q_.forced_by);
      }
      return false;
    }
    for (const auto& [key, by] : q_.disabled) {
      if (key != type.qualified) continue;
      if (round == 1 && report_ != nullptr)
        say(i, round, Verdict::kDisabled).reason.text = "disabled by " + by;
      return false;
    }
    if (type.reference() && !forced && round != 3) return false;
    // What was asked as it is in round 1 gives the same answer in round 3.
    if (round == 3 && (!type.reference() || forced)) return false;
    if (round == 2) {
      if (refused_as_is_[i].final || !type.serves(q_.kind)) return false;
      return serves_with_copies(i);
    }
    copied_[i] = stand_ins(type);
    if (round == 1) refused_as_is_.resize(q_.table.types.size());
    if (copied_[i] == 0) return asks(i, round, q_.facts);
    facts_for(type, q_.facts, q_.dense_wide, q_.sizes, copied_[i], round_facts_);
    return asks(i, round, round_facts_);
  }

  [[nodiscard]] StandIn stand_in(const KernelType& type, std::size_t arg) const {
    const auto dtype = dtype_from_abi(q_.dtypes[arg]);
    if (!dtype) return {};
    return stand_in_for(type, *dtype, arg < q_.sizes.size() ? q_.sizes[arg] : ArgSize{});
  }

  // The arguments that the type never gets but as a copy of the flow's: cast, or padded.
  [[nodiscard]] std::uint64_t stand_ins(const KernelType& type) const {
    if (type.stored.empty() && type.alignment() == 1) return 0;
    if (q_.facts.size() > kMaxCopiedArgs) return 0;
    std::uint64_t mask = 0;
    for (std::size_t a = 0; a < q_.facts.size(); ++a) {
      if (q_.facts[a].present != 0 && stand_in(type, a).copies()) mask |= std::uint64_t{1} << a;
    }
    return mask;
  }

  // Adds arguments to the set of copies while that is what stands in the way.
  bool serves_with_copies(std::size_t i) {
    const KernelType& type = *q_.table.types[i];
    const std::uint64_t own = stand_ins(type);
    std::uint64_t copies = 0;
    for (std::size_t a = 0; a < q_.facts.size(); ++a) {
      if (q_.facts[a].present != 0 && !q_.interface.args[a].list && ((own >> a) & 1u) == 0 &&
          !type.takes(q_.facts[a].layout))
        copies |= std::uint64_t{1} << a;
    }
    if (copies == 0) {
      const std::int32_t at_fault = refused_as_is_[i].copyable_arg;
      if (at_fault < 0) return false;
      copies = std::uint64_t{1} << at_fault;
    }
    copies |= own;
    for (std::size_t tries = 0; tries <= q_.facts.size(); ++tries) {
      facts_for(type, q_.facts, q_.dense_wide, q_.sizes, copies, round_facts_);
      copied_[i] = copies;
      last_copyable_ = -1;
      if (asks(i, 2, round_facts_)) return true;
      if (last_copyable_ < 0 || ((copies >> last_copyable_) & 1u) != 0) return false;
      drop_last_report();
      copies |= std::uint64_t{1} << last_copyable_;
    }
    return false;
  }

  // A no from availability; the texts are made only for a report.
  template <class Expected, class Actual>
  bool no(std::size_t i,
          std::uint32_t round,
          std::uint32_t code,
          std::int32_t arg,
          const char* attribute,
          Expected&& expected,
          Actual&& actual) {
    if (code != TENON_REASON_LAYOUT) refused_as_is(i).final = true;
    if (report_ != nullptr) unavailable(i, round, code, arg, attribute, expected(), actual());
    return false;
  }

  // Availability and applicability of type i for these facts; reports a no.
  bool asks(std::size_t i, std::uint32_t round, std::span<const tenon_arg_facts> facts) {
    const KernelType& type = *q_.table.types[i];
    if (!type.serves(q_.kind)) {
      return no(
          i,
          round,
          TENON_REASON_DEVICE_KIND,
          -1,
          "device",
          [&] { return join(type.devices); },
          [&] { return std::string(q_.kind.name()); });
    }
    if (!type.archs.empty() && !shares_arch(type)) {
      return no(
          i,
          round,
          TENON_REASON_ARCH,
          -1,
          "arch",
          [&] { return join(type.archs); },
          [&] { return q_.device.fields().arch; });
    }
    if (q_.deterministic && !type.has(TENON_KERNEL_DETERMINISTIC)) {
      return no(
          i,
          round,
          TENON_REASON_DETERMINISM,
          -1,
          "determinism",
          [] { return std::string("required"); },
          [] { return std::string("not declared"); });
    }
    if (const auto newer = type.contract.newer(q_.interface, q_.fields, facts, q_.dtypes)) {
      refused_as_is(i).final = true;
      if (report_ != nullptr) {
        say(i, round, Verdict::kRefused).reason = {TENON_REASON_CONTRACT_NEWER,
                                                   arg_name(type, newer->arg),
                                                   newer->attribute,
                                                   "",
                                                   "",
                                                   newer->text};
      }
      return false;
    }
    return takes_arguments(i, round, facts) && applicable(i, round, facts);
  }

  // Availability by the dtypes and layouts of the arguments.
  bool takes_arguments(std::size_t i, std::uint32_t round, std::span<const tenon_arg_facts> facts) {
    const KernelType& type = *q_.table.types[i];
    for (std::size_t a = 0; a < facts.size() && !type.dtypes.empty(); ++a) {
      if (facts[a].present == 0) continue;
      const auto dtype = dtype_from_abi(q_.dtypes[a]);
      if (dtype && type.dtypes.contains(*dtype)) continue;
      return no(
          i,
          round,
          TENON_REASON_DTYPE,
          static_cast<std::int32_t>(a),
          "dtype",
          [&] { return join(type.dtypes); },
          [&] { return dtype ? std::string(name_of(*dtype)) : std::string("unknown"); });
    }
    for (std::size_t a = 0; a < facts.size(); ++a) {
      if (facts[a].present == 0 || type.takes(facts[a].layout)) continue;
      return no(
          i,
          round,
          TENON_REASON_LAYOUT,
          static_cast<std::int32_t>(a),
          "layout",
          [&] { return layouts(type); },
          [&] { return std::string(layout_name(facts[a].layout)); });
    }
    return can_be_passed(i, round);
  }

  // Whether the device has what casts and pads the arguments of type i.
  bool can_be_passed(std::size_t i, std::uint32_t round) {
    const KernelType& type = *q_.table.types[i];
    if (type.stored.empty() && type.alignment() == 1) return true;
    for (std::size_t a = 0; a < q_.facts.size(); ++a) {
      if (q_.facts[a].present == 0) continue;
      const std::string why = why_not_passed(type, a);
      if (why.empty()) continue;
      refused_as_is(i).final = true;
      if (report_ != nullptr) {
        const StandIn passed = stand_in(type, a);
        const auto dtype = dtype_from_abi(q_.dtypes[a]);
        say(i, round, Verdict::kUnavailable).reason = {
            passed.casts ? TENON_REASON_DTYPE : TENON_REASON_LAYOUT,
            q_.interface.args[a].name,
            passed.casts ? "storage" : "alignment",
            passed.casts ? std::string(name_of(passed.dtype)) : std::to_string(type.alignment()),
            dtype ? std::string(name_of(*dtype)) : std::string(),
            why};
      }
      return false;
    }
    return true;
  }

  // What the flow lacks for passing argument `arg` to the type; empty where it lacks nothing.
  [[nodiscard]] std::string why_not_passed(const KernelType& type, std::size_t arg) const {
    const StandIn passed = stand_in(type, arg);
    if (!passed.copies()) return {};
    const InterfaceArgDecl& a = q_.interface.args[arg];
    const std::string wish =
        passed.casts
            ? "takes " + a.name + " as " + std::string(name_of(passed.dtype))
            : "takes " + a.name + " padded to a multiple of " + std::to_string(type.alignment());
    if (q_.facts.size() > kMaxCopiedArgs) {
      return wish + ", and only calls of at most " + std::to_string(kMaxCopiedArgs) +
             " arguments can have some passed otherwise than they are";
    }
    const DType own = *dtype_from_abi(q_.dtypes[arg]);
    const DType made = passed.casts ? passed.dtype : own;
    const auto lacks = [&](DType from, DType to) {
      return q_.converts != nullptr && q_.converts(from, to)
                 ? std::string()
                 : wish + ", and device kind '" + std::string(q_.kind.name()) + "' has no " +
                       (from == to ? "CopyFwdOp kernel for " + std::string(name_of(from))
                                   : "CastFwdOp kernel from " + std::string(name_of(from)) +
                                         " to " + std::string(name_of(to)));
    };
    std::string why;
    if (a.role != TENON_ROLE_OUT) why = lacks(own, made);
    if (why.empty() && a.role != TENON_ROLE_IN) why = lacks(made, own);
    if (why.empty() && a.role != TENON_ROLE_OUT && passed.pads) why = lacks(made, made);
    return why;
  }

  bool applicable(std::size_t i, std::uint32_t round, std::span<const tenon_arg_facts> facts) {
    const KernelType& type = *q_.table.types[i];
    if (type.row.refuse == nullptr) return true;
    tenon_call call{
        sizeof(tenon_call), q_.fields.data(), q_.fields.size(), facts.data(), facts.size()};
    if (!type.contract.exact()) {
      scratch_.resize(type.contract.fields().size(), type.contract.args().size());
      type.contract.project(q_.fields, facts, scratch_.fields, scratch_.args);
      call.fields = scratch_.fields.data();
      call.n_fields = scratch_.fields.size();
      call.args = scratch_.args.data();
      call.n_args = scratch_.args.size();
    }
    tenon_reason reason = empty_reason();
    const tenon_status status = call_plugin("refuse", type.qualified, reason, [&] {
      return type.row.refuse(type.row.context, &q_.device.abi(), &call, &reason);
    });
    if (status == TENON_OK) return true;
    if (status == TENON_REFUSED) reason.code = plugins_code(reason.code);
    const std::int32_t arg = host_arg(type, reason.arg_index);
    const bool copy_may_help = reason.code == TENON_REASON_ALIGNMENT ||
                               reason.code == TENON_REASON_WIDE ||
                               reason.code == TENON_REASON_ALIAS;
    const bool copyable = copy_may_help && arg >= 0 &&
                          !q_.interface.args[static_cast<std::size_t>(arg)].list &&
                          status == TENON_REFUSED;
    if (round == 1 && copyable) refused_as_is(i).copyable_arg = arg;
    if (round == 2) last_copyable_ = copyable ? arg : -1;
    const std::string failure =
        status == TENON_REFUSED ? std::string() : detail::failure_text(status, reason);
    if (!failure.empty()) failed_.emplace_back(&type, failure);
    if (report_ != nullptr) {
      CandidateReport& c = say(i, round, Verdict::kRefused);
      const Value expected = detail::value_of(reason.expected);
      const Value actual = detail::value_of(reason.actual);
      c.reason = {reason.code,
                  arg >= 0 ? q_.interface.args[static_cast<std::size_t>(arg)].name : std::string(),
                  detail::attribute_of(reason),
                  expected.is_none() ? std::string() : expected.to_string(),
                  actual.is_none() ? std::string() : actual.to_string(),
                  detail::text_of(reason)};
      if (!failure.empty()) {
        c.reason.text = "refuse failed: " + failure;
      } else if (c.reason.text.empty()) {
        c.reason.text = "refused without a text (" + std::string(reason_name(c.reason.code)) + ")";
      }
    }
    return false;
  }

  // Exactly one of the applicable ones must win.
  void rank(std::uint32_t round, SelectionResult& result) {
    const auto& types = q_.table.types;
    std::vector<std::size_t> rest = applicable_;
    const auto keep = [&](auto&& wanted, auto&& on_drop) {
      std::vector<std::size_t> kept;
      for (const std::size_t i : rest) {
        if (wanted(i)) {
          kept.push_back(i);
        } else {
          on_drop(i);
        }
      }
      rest = std::move(kept);
    };
    std::vector<std::pair<std::size_t, std::string>> lost;  // and why
    for (const std::string& plugin : q_.prefer) {
      const auto of_plugin = [&](std::size_t i) { return types[i]->plugin->id == plugin; };
      if (std::none_of(rest.begin(), rest.end(), of_plugin)) continue;
      keep(of_plugin, [&](std::size_t i) {
        lost.emplace_back(i, "configuration prefers plugin '" + plugin + "'");
      });
      break;
    }
    if (std::any_of(
            rest.begin(), rest.end(), [&](std::size_t i) { return !types[i]->general(); })) {
      keep([&](std::size_t i) { return !types[i]->general(); },
           [&](std::size_t i) { lost.emplace_back(i, "it is general, and a special one serves"); });
    }
    const std::vector<std::size_t> before = rest;
    keep(
        [&](std::size_t i) {
          return std::none_of(
              before.begin(), before.end(), [&](std::size_t j) { return q_.table.prefers(j, i); });
        },
        [&](std::size_t i) { lost.emplace_back(i, "declared by preferred_over"); });
    result.round = round;
    if (rest.size() == 1) {
      result.outcome = SelectionOutcome::kChosen;
      result.winner = types[rest.front()].get();
      result.copied_args = copied_[rest.front()];
      if (report_ == nullptr) return;
      say(rest.front(), round, Verdict::kChosen);
      for (const auto& [i, why] : lost)
        say(i, round, Verdict::kOutranked, result.winner->qualified).reason.text = why;
      say_left_out(round, result);
      return;
    }
    result.outcome = SelectionOutcome::kAmbiguous;
    for (const std::size_t i : rest) result.tied.push_back(types[i]->qualified);
    if (report_ == nullptr) return;
    say_tie(round, rest, lost, result);
    say_left_out(round, result);
  }

  // The tied ones, and who lost to one of them.
  void say_tie(std::uint32_t round,
               const std::vector<std::size_t>& rest,
               const std::vector<std::pair<std::size_t, std::string>>& lost,
               const SelectionResult& result) {
    const auto& types = q_.table.types;
    for (const std::size_t i : rest) {
      CandidateReport& c = say(i, round, Verdict::kTied);
      for (const std::string& other : result.tied) {
        if (other != types[i]->qualified) c.with.push_back(other);
      }
      c.reason.text = "no preferred_over decides between them";
    }
    for (const auto& [i, why] : lost) {
      // Which of the tied ones: the one that is preferred over it, where that is the reason.
      const auto better = std::find_if(rest.begin(), rest.end(), [&, lost_i = i](std::size_t j) {
        return q_.table.prefers(j, lost_i);
      });
      say(i, round, Verdict::kOutranked, better == rest.end() ? "" : types[*better]->qualified)
          .reason.text = why;
    }
  }

  // Reference kernel types that an earlier round left out, so that every key is accounted for.
  void say_left_out(std::uint32_t round, const SelectionResult& result) {
    const bool won = result.winner != nullptr;
    if (round == 3) return;
    for (std::size_t i = 0; i < q_.table.types.size(); ++i) {
      const KernelType& type = *q_.table.types[i];
      if (!type.reference() || !q_.forced.empty()) continue;
      if (std::any_of(report_->begin(), report_->end(), [&](const auto& c) {
            return c.plugin == type.plugin->id && c.key == type.key;
          }))
        continue;
      if (!type.serves(q_.kind)) {
        asks(i, 3, q_.facts);
        continue;
      }
      say(i, 3, Verdict::kOutranked, won ? result.winner->qualified : std::string()).reason.text =
          "a reference kernel is asked last, and round " + std::to_string(round) +
          (won ? " has a winner" : " ends in a tie");
    }
  }

  // Only with a report: a miss that nobody watches builds no text.
  CandidateReport& say(std::size_t i, std::uint32_t round, Verdict verdict, std::string by = {}) {
    const KernelType& type = *q_.table.types[i];
    CandidateReport c;
    c.key = type.key;
    c.plugin = type.plugin->id;
    c.round = round;
    c.verdict = verdict;
    c.by = std::move(by);
    const bool is_asked = verdict != Verdict::kDisabled && type.serves(q_.kind);
    for (std::size_t a = 0; a < q_.facts.size() && is_asked; ++a) {
      if (q_.facts[a].present == 0) continue;
      if (!say_passed(type, a, c) && round == 2 && ((copied_[i] >> a) & 1u) != 0)
        c.copies.push_back(q_.interface.args[a].name);
    }
    report_->push_back(std::move(c));
    return report_->back();
  }

  // In which other form the type gets an argument; false where it gets it as it is. True also says
  // that a copy is accounted for.
  bool say_passed(const KernelType& type, std::size_t arg, CandidateReport& c) const {
    if (type.stored.empty() && type.alignment() == 1) return false;
    const auto dtype = dtype_from_abi(q_.dtypes[arg]);
    const StandIn passed = stand_in(type, arg);
    if (!dtype || (!passed.copies() && passed.dtype == *dtype)) return false;
    PassedReport report;
    report.arg = q_.interface.args[arg].name;
    if (passed.dtype != *dtype) report.stored_as = name_of(passed.dtype);
    report.cast = passed.casts;
    report.padded = passed.pads;
    if (passed.pads && !q_.interface.args[arg].list)
      report.padded_to = padded_size(q_.sizes[arg].innermost, type.alignment()).value_or(0);
    c.passed.push_back(std::move(report));
    return passed.copies();
  }

  void drop_last_report() {
    if (report_ != nullptr && !report_->empty()) report_->pop_back();
  }

  void unavailable(std::size_t i,
                   std::uint32_t round,
                   std::uint32_t code,
                   std::int32_t arg,
                   std::string attribute,
                   std::string expected,
                   std::string actual) {
    CandidateReport& c = say(i, round, Verdict::kUnavailable);
    const std::string name =
        arg < 0 ? std::string() : q_.interface.args[static_cast<std::size_t>(arg)].name;
    const std::string subject = name.empty() ? attribute : attribute + " of " + name;
    std::string text = "serves " + subject + " " + expected + ", got " + actual;
    if (code == TENON_REASON_DETERMINISM)
      text = "determinism is required and it does not declare it";
    c.reason = {
        code, name, std::move(attribute), std::move(expected), std::move(actual), std::move(text)};
  }

  struct AsIs {
    bool final = false;  // copies cannot help
    std::int32_t copyable_arg = -1;
  };
  AsIs& refused_as_is(std::size_t i) {
    if (refused_as_is_.size() < q_.table.types.size()) refused_as_is_.resize(q_.table.types.size());
    return refused_as_is_[i];
  }

  [[nodiscard]] bool shares_arch(const KernelType& type) const {
    const auto& runs = q_.device.fields().runs_archs;
    return std::any_of(type.archs.begin(), type.archs.end(), [&](const auto& a) {
      return std::find(runs.begin(), runs.end(), a) != runs.end();
    });
  }

  static std::int32_t host_arg(const KernelType& type, std::int32_t plugins) {
    const auto map = type.contract.args();
    if (plugins < 0 || static_cast<std::size_t>(plugins) >= map.size()) return -1;
    return static_cast<std::int32_t>(map[static_cast<std::size_t>(plugins)]);
  }
  [[nodiscard]] std::string arg_name(const KernelType& type, std::int32_t plugins) const {
    const std::int32_t at = host_arg(type, plugins);
    return at < 0 ? std::string() : q_.interface.args[static_cast<std::size_t>(at)].name;
  }

  static std::string join(const std::vector<DeviceKind>& kinds) {
    std::string text;
    for (const DeviceKind k : kinds) text += (text.empty() ? "" : ", ") + std::string(k.name());
    return text;
  }
  static std::string join(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& n : names) text += (text.empty() ? "" : ", ") + n;
    return text;
  }
  static std::string join(DTypeSet set) {
    std::string text;
    for (const DType d : all_dtypes()) {
      if (set.contains(d)) text += (text.empty() ? "" : ", ") + std::string(name_of(d));
    }
    return text;
  }
  static std::string layouts(const KernelType& type) {
    std::string text = "dense";
    for (std::uint32_t l = TENON_LAYOUT_INNER; l <= TENON_LAYOUT_REVERSED; ++l) {
      if (type.takes(l)) text += ", " + std::string(layout_name(l));
    }
    return text;
  }

  const SelectionQuery& q_;
  std::vector<CandidateReport>* report_;
  std::vector<tenon_arg_facts> round_facts_;
  std::vector<std::uint64_t> copied_;
  std::vector<std::size_t> applicable_;
  std::vector<AsIs> refused_as_is_;
  std::int32_t last_copyable_ = -1;
  std::vector<std::pair<const KernelType*, std::string>> failed_;
  CallScratch scratch_;
};

}  // namespace

SelectionResult select(const SelectionQuery& query, std::vector<CandidateReport>* report) {
  return Selector(query, report).run();
}

}  // namespace tenon
