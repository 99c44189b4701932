// Every op of the shipped manifest that has a boundary, through a toy tracer, cold.
#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>

#include "examples/toy_tracer/tracer.hpp"
#include "runtime/cpu_runtime.hpp"
#include "tenon/manifest/reader.hpp"
#include "tenon/manifest/workloads.hpp"

using namespace tenon;

namespace {

std::int64_t elements_of(const manifest::WorkloadCase& c) {
  std::int64_t sum = 0;
  for (const auto& t : c.tensors)
    sum += std::accumulate(t.shape.begin(), t.shape.end(), std::int64_t{1}, std::multiplies<>());
  return sum;
}

// The least case of an entry: what is traced does not depend on sizes.
manifest::WorkloadCase least_case(const manifest::LoadedSet& loaded, const std::string& op) {
  manifest::DiagnosticList diagnostics;
  const auto rows = manifest::instantiate(*loaded.set.find(op), loaded.set.adts, diagnostics).cases;
  REQUIRE_FALSE(rows.empty());
  return *std::min_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return elements_of(a) < elements_of(b);
  });
}

// The meta call by key on sizes that are ranges: of one size each, they say what sizes say; wider
// ones hold it.
void check_ranges(const Runtime& runtime, const Op& op, const manifest::WorkloadCase& c) {
  for (const std::int64_t slack : {0, 3}) {
    std::vector<std::optional<RangedTensor>> inputs;
    for (const manifest::CaseTensor& t : c.tensors) {
      if (t.role != TensorRole::kInput) continue;
      inputs.emplace_back();
      if (!t.present) continue;
      RangedTensor ranged{t.dtype, {}, {}};
      for (const std::int64_t size : t.shape) ranged.sizes.push_back({size, size + slack});
      inputs.back() = ranged;
    }
    const auto told = meta_by_key(runtime.engine(), op.key(), inputs);
    REQUIRE_MESSAGE(told, told.error().to_string());
    REQUIRE(told->outputs.size() == c.outputs.size());
    for (std::size_t i = 0; i < c.outputs.size(); ++i) {
      const RangedOutputs::Output& output = told->outputs[i];
      CHECK(output.dtype == c.outputs[i].dtype);
      REQUIRE(output.sizes.size() == c.outputs[i].shape.size());
      for (std::size_t k = 0; k < output.sizes.size(); ++k) {
        const std::int64_t size = c.outputs[i].shape[k];
        CHECK(output.sizes[k].low <= size);
        CHECK(output.sizes[k].high >= size);
        if (slack == 0) CHECK(output.sizes[k].low == output.sizes[k].high);
      }
    }
    if (slack == 0) CHECK(told->guards.empty());
  }
  CHECK_FALSE(op.last_call());
}

}  // namespace

TEST_SUITE("runtime/boundary") {
  TEST_CASE("every op with a boundary is one node: traced without running, and replayed") {
    const Runtime runtime = tenon::test::cpu_runtime();
    const auto loaded = manifest::load_folder(TENON_SOURCE_DIR "/manifest/ops").value();
    int traced = 0;
    for (const auto& [name, op_class] : runtime.snapshot()->ops()) {
      CAPTURE(name);
      const OpDecl& decl = op_class.plan->decl();
      if (!has_boundary(decl)) continue;
      const manifest::WorkloadCase c = least_case(loaded, decl.name);
      auto op = runtime.make(decl.name, c.params);
      REQUIRE_MESSAGE(op, op.error().to_string());
      for (const EffectBranch& branch : decl.branches)
        CHECK(boundary_schema(decl, branch).value().find("(int instance, Tensor") !=
              std::string::npos);

      toy::Graph graph(runtime.engine());
      std::vector<Tensor> inputs;
      std::vector<int> arguments;
      for (const manifest::CaseTensor& t : c.tensors) {
        if (t.role != TensorRole::kInput) continue;
        if (!t.present) {
          arguments.push_back(-1);
          continue;
        }
        inputs.push_back(Tensor::host(t.dtype, Dims(t.shape)).value());
        arguments.push_back(graph.input(inputs.back().spec()));
      }
      const auto results = graph.record(*op, arguments);
      REQUIRE_MESSAGE(results, results.error().to_string());
      CHECK_FALSE(op->last_call());  // nothing ran
      CHECK(op->last_meta()->meta);
      CHECK(op->serving_target().empty());
      check_ranges(runtime, *op, c);

      const auto tensors = graph.replay(inputs);

      REQUIRE_MESSAGE(tensors, tensors.error().to_string());
      for (std::size_t i = 0; i < results->size(); ++i) {
        const Tensor& out = (*tensors)[static_cast<std::size_t>((*results)[i])];
        CHECK(std::ranges::equal(out.shape(), c.outputs[i].shape));
        CHECK(out.dtype() == c.outputs[i].dtype);
      }
      CHECK(op->last_call()->kernels.size() == 1);
      ++traced;
    }
    CHECK(traced >= 9);
  }
}
