// Workload rows as calls: what a row says, turned into parameters, tensors and contents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/core/op_decl.hpp"
#include "tenon/core/plan.hpp"
#include "tenon/core/signature/plan_data.hpp"
#include "tenon/core/value.hpp"
#include "tenon/manifest/compile.hpp"
#include "tenon/manifest/diagnostic.hpp"
#include "tenon/manifest/entry.hpp"
#include "tenon/manifest/generators.hpp"

namespace tenon::manifest {

/// A tensor of a call: its dtype and shape, and for metadata its contents.
struct CaseTensor {
  std::string name;
  TensorRole role = TensorRole::kInput;
  bool present = false;  ///< of an output: returned
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;  ///< of one tensor
  bool list = false;
  std::vector<std::vector<std::int64_t>> elements;  ///< of a list: the shape of each
  std::optional<GeneratedTensor> values;
};

/// One call that a row determines.
struct WorkloadCase {
  std::string op;  ///< "RMSNormFwdOp"
  std::string id;  ///< "llama-8b-prefill-float16": unique in the entry
  std::string label;
  std::uint32_t row = 0;
  SourceLocation where;
  std::vector<NamedValue> params;   ///< every parameter, in manifest order
  std::vector<NamedValue> indices;  ///< every index and let that inference solves
  std::vector<CaseTensor> tensors;  ///< construction-time tensors, then inputs, in manifest order
  std::vector<CaseTensor> outputs;
  std::optional<Cost> cost;  ///< absent where the roofline is a function that is not here
};

/// A row that names a generator or predicate which this build does not have.
struct SkippedRow {
  std::uint32_t row = 0;
  std::string label;
  std::string reason;
};

/// What the rows of one entry gave.
struct Workloads {
  std::vector<WorkloadCase> cases;
  std::vector<SkippedRow> skipped;
};

/// Turns every row of an entry into calls and checks them: given indices are exactly those that the
/// row must give, generators run, shapes unify, refinements and `requires` hold, and inference on
/// the call alone gives the row back. Across rows: case ids are unique, and every optional tensor
/// of an implemented entry is passed in one row and absent in another. `data` and `plan` are the
/// entry's, compiled.
[[nodiscard]] Workloads instantiate(const Entry& entry,
                                    const signature::PlanData& data,
                                    const SignaturePlan& plan,
                                    DiagnosticList& diagnostics);

/// The same for an entry that is not compiled yet. Nothing where it does not compile.
[[nodiscard]] Workloads instantiate(const Entry& entry,
                                    const Adts& adts,
                                    DiagnosticList& diagnostics);

}  // namespace tenon::manifest
