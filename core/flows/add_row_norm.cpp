// A row normalisation of x + residual, which also returns the sum: one kernel, or an add and a
// norm.
#include <array>

#include "flows/composed_flows.hpp"
#include "tenon/core/composition.hpp"

namespace tenon {
namespace {

class AddRowNormFlow final : public FoldedFlow {
 public:
  [[nodiscard]] std::string_view name() const override { return "add_row_norm"; }
  [[nodiscard]] bool composes() const override { return true; }

  // The sum goes straight to the output that returns it, and the norm reads it there.
  [[nodiscard]] Result<void> compose(Composition& c) const override {
    const TensorView* x = c.input("x");
    const TensorView* residual = c.input("residual");
    const TensorView* weight = c.input("weight");
    const TensorView* sum = c.output("residual_out");
    const TensorView* normed = c.output("output");
    if (x == nullptr || residual == nullptr || sum == nullptr || normed == nullptr ||
        x->shape.empty()) {
      return fail(ErrorCode::kManifestInvalid,
                  "flow 'add_row_norm' of op '" + c.decl().name +
                      "' needs inputs x, residual and outputs output, residual_out");
    }
    Composition::Delegate add;
    TENON_TRY_ASSIGN(add, c.delegate_for("add", {}, [] { return std::vector<NamedValue>(); }));
    const std::array<TensorArg, 2> addends{TensorArg{&x, 1}, TensorArg{&residual, 1}};
    TENON_TRY(c.run(add, addends, *sum));

    const std::array<std::int64_t, 1> row{x->shape[x->shape.size() - 1]};
    Composition::Delegate norm;
    TENON_TRY_ASSIGN(norm, c.delegate_for("norm", row, [&] {
      return std::vector<NamedValue>{{"normalized_shape", Value{row[0]}}, {"eps", c.param("eps")}};
    }));
    const std::array<TensorArg, 2> rows{TensorArg{&sum, 1},
                                        weight == nullptr ? TensorArg{} : TensorArg{&weight, 1}};
    return c.run(norm, rows, *normed);
  }
};

}  // namespace

const Flow& add_row_norm_flow() {
  static const AddRowNormFlow kFlow;
  return kFlow;
}

}  // namespace tenon
