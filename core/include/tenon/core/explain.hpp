// Why a call gets the kernel that it gets, as data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/core/device.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/value.hpp"

namespace tenon {

/// What became of one candidate.
enum class Verdict : std::uint8_t {
  kChosen,
  kOutranked,
  kTied,
  kRefused,
  kUnavailable,
  kDisabled,
  kOtherTarget
};
[[nodiscard]] std::string_view name_of(Verdict verdict) noexcept;

/// Why a candidate does not serve.
struct ReasonReport {
  std::uint32_t code = 0;  ///< TENON_REASON_*
  std::string arg;         ///< name of the argument at fault, or empty
  std::string attribute;   ///< "n", "layout"
  std::string expected;
  std::string actual;
  std::string text;  ///< one sentence
};

/// An argument that a candidate gets in another form than the call has it.
struct PassedReport {
  std::string arg;
  std::string stored_as;       ///< the dtype; empty: its own
  bool cast = false;           ///< its elements are converted; else the same bytes are read
  std::int64_t padded_to = 0;  ///< the innermost size; 0: its own, or that of each list element
  bool padded = false;
  /// "mask as uint8", "x cast to float32 and padded to 1024"
  [[nodiscard]] std::string to_string() const;
};

/// One implementation in one round.
struct CandidateReport {
  std::string key;  ///< "reference"
  std::string plugin;
  std::uint32_t round = 1;
  Verdict verdict = Verdict::kUnavailable;
  ReasonReport reason;
  std::string by;                    ///< who outranks it, "plugin:key"
  std::vector<std::string> with;     ///< whom it is tied with
  std::vector<std::string> copies;   ///< arguments that it would get as dense copies
  std::vector<PassedReport> passed;  ///< arguments that the flow would cast, reinterpret or pad
};

/// One kernel interface of the call: its facts, its candidates and who won.
struct StepReport {
  std::string step;
  std::string interface;
  std::vector<NamedValue> call;       ///< the call spec
  std::vector<NamedValue> facts;      ///< one per argument: "x" -> "dense, 256-byte aligned"
  std::optional<std::string> winner;  ///< "plugin:key"
  std::uint32_t round = 0;
  std::vector<CandidateReport> candidates;
};

/// A plugin file that is not in use.
struct RejectedPluginReport {
  std::string path;
  std::string stage;
  std::string reason;
};

struct StageExplanation;

/// Which kernel a call gets and why each other one does not, as data.
struct Explanation {
  std::string op;
  Device device;
  std::string target;         ///< "builtin"
  std::string target_from;    ///< "detection", "configuration", ...
  std::string target_plugin;  ///< of a builder target
  std::vector<NamedValue>
      branch;  ///< which optional inputs are present, whether `out` is given, ...
  std::vector<StepReport> steps;
  std::vector<RejectedPluginReport> rejected_plugins;
  std::vector<std::pair<std::string, std::string>> excluded;  ///< what, and by which setting
  std::string composition;               ///< why the composition runs, where it does
  std::vector<StageExplanation> stages;  ///< of the composition, in the order in which they run
  std::optional<Error> error;

  /// For people: one block per step, the winner first.
  [[nodiscard]] std::string table() const;
};

/// What the sub-call of one stage gets.
struct StageExplanation {
  std::string stage;
  Explanation explanation;
};

}  // namespace tenon
