// What the evaluator keeps: per plan the specialised branches, per instance the settled cells, per
// thread a frame.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "signature/call_program.hpp"
#include "signature/program.hpp"
#include "tenon/core/plan.hpp"
#include "tenon/core/signature/cell.hpp"
#include "tenon/core/signature/evaluate.hpp"
#include "tenon/core/signature/specialise.hpp"

namespace tenon::signature {

/// A branch with everything that calls on it need, made at first use and kept.
struct BranchEntry {
  std::uint64_t key = 0;            ///< presences that decide the branch
  std::uint64_t expected_mask = 0;  ///< presences that the branch then demands
  Branch branch;
  Program program;
  bool simple_effects = false;  ///< nothing is written but new outputs and `out`
  std::uint32_t effect = 0;     ///< index into OpDecl::branches
  std::vector<OutputSpec> outputs;
  std::vector<bool> written;
  bool returns_or_writes = false;
  std::vector<std::vector<Expr>>
      fields;  ///< by interface and field, folded; kNoExpr where the flow computes it
  std::vector<std::int32_t>
      active;                    ///< by step: the interface, -1 for none, -2 where payloads decide
  std::vector<Expr> conditions;  ///< by interface, folded; kNoExpr where it has none
  std::vector<CallProgram> calls;  ///< by interface
  std::uint32_t cell_count = 0;    ///< of the program and those of the calls
  std::vector<std::vector<Expr>>
      temporary_dtypes;  ///< by interface and argument; kNoExpr where it has none
  BranchEntry* next = nullptr;
};

/// The branches that share a choice of construction-time discriminants.
struct PrefixEntry {
  Prefix prefix;
  static constexpr std::size_t kBuckets = 64;
  std::array<std::atomic<BranchEntry*>, kBuckets> buckets{};
  std::mutex building;
  std::vector<std::unique_ptr<BranchEntry>> owned;
};

class Instance final : public Construction {
 public:
  explicit Instance(std::uint64_t number) : id(number) {}
  std::vector<Value>& mutable_params() { return params_; }
  std::vector<std::optional<Tensor>>& mutable_tensors() { return tensors_; }

  const std::uint64_t id;  ///< never reused, so that a frame knows whose cells it holds
  Arena arena;
  std::vector<Cell> cells;  ///< by symbol; kUnset where construction does not settle it
  PrefixEntry* prefix = nullptr;
  std::optional<Device> device;  ///< the `device` parameter
};

/// The cells of one branch for one instance on one thread.
struct State {
  const BranchEntry* entry = nullptr;
  std::uint64_t mask = 0;            ///< presences that lead here
  std::vector<Cell> cells;           ///< by symbol, then the program's own
  std::vector<std::int64_t> shapes;  ///< storage of Shape symbols
  Arena hoisted;                     ///< what was evaluated once
  bool walk = false;                 ///< the program does not suit this instance
  struct CallState {
    std::vector<tenon_value> fields;  ///< constants in their places
    bool walk = false;
  };
  std::vector<CallState> calls;      ///< by interface
  std::vector<std::int32_t> active;  ///< by step: the interface, or -1
};

class Frame final : public CallFrame {
 public:
  Frame() { env.arena = &arena; }

  Arena arena{2048};
  Env env;  ///< of programs: the arena alone
  std::uint64_t instance_id = 0;
  State* state = nullptr;
  std::vector<std::unique_ptr<State>> states;
};

}  // namespace tenon::signature
