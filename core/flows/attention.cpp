// Attention: one kernel, or attention over runs of the keys and the sum of those.
#include <array>

#include "flows/composed_flows.hpp"
#include "tenon/core/composition.hpp"

namespace tenon {
namespace {

// Where few queries face many keys, runs of keys are what there is to do at the same time. A power
// of two, so that the sub-ops of an instance are few, whatever the lengths.
std::int64_t splits_of(std::int64_t queries, std::int64_t keys) {
  constexpr std::int64_t kFewQueries = 8;
  constexpr std::int64_t kKeysOfARun = 256;
  constexpr std::int64_t kMostSplits = 16;
  std::int64_t splits = 1;
  while (queries <= kFewQueries && splits < kMostSplits && keys / splits > kKeysOfARun) splits *= 2;
  return splits;
}

class AttentionFlow final : public AsDeclaredFlow {
 public:
  [[nodiscard]] std::string_view name() const override { return "attention"; }
  [[nodiscard]] bool contracts() const override { return true; }
  [[nodiscard]] bool composes() const override { return true; }

  [[nodiscard]] Result<void> compose(Composition& c) const override {
    const TensorView* q = c.input("q");
    const TensorView* k = c.input("k");
    const TensorView* v = c.input("v");
    const TensorView* output = c.output("output");
    if (q == nullptr || k == nullptr || v == nullptr || output == nullptr || q->shape.size() != 4 ||
        k->shape.size() != 4) {
      return fail(ErrorCode::kManifestInvalid,
                  "flow 'attention' of op '" + c.decl().name +
                      "' needs inputs q, k, v of rank 4 and an output 'output'");
    }
    const std::array<std::int64_t, 1> splits{splits_of(q->shape[1], k->shape[1])};
    Composition::Delegate partial;
    TENON_TRY_ASSIGN(partial, c.delegate_for("partial", splits, [&] {
      return std::vector<NamedValue>{{"splits", Value(splits[0])},
                                     {"is_causal", c.param("is_causal")},
                                     {"scale", c.param("scale")}};
    }));
    const std::array<TensorArg, 3> all{TensorArg{&q, 1}, TensorArg{&k, 1}, TensorArg{&v, 1}};
    std::array<Tensor, 2> parts;  // of each run: its attention, and the log of its weight
    TENON_TRY(c.run(partial, all, parts));

    const std::array<std::int64_t, 1> dtype{static_cast<std::int64_t>(output->dtype)};
    Composition::Delegate combine;
    TENON_TRY_ASSIGN(combine, c.delegate_for("combine", dtype, [&] {
      return std::vector<NamedValue>{{"to", Value(output->dtype)}};
    }));
    const TensorView* attended = &parts[0].view();
    const TensorView* lse = &parts[1].view();
    const std::array<TensorArg, 2> runs{TensorArg{&attended, 1}, TensorArg{&lse, 1}};
    return c.run(combine, runs, *output);
  }
};

}  // namespace

const Flow& attention_flow() {
  static const AttentionFlow kFlow;
  return kFlow;
}

}  // namespace tenon
