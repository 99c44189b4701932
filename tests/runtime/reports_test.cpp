// Public reports turned into checks over the whole shipped manifest.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/support/fake_rows.hpp"
#include "runtime/cpu_runtime.hpp"
#include "support/test_env.hpp"
#include "tenon/manifest/reader.hpp"
#include "tenon/manifest/workloads.hpp"

using namespace tenon;
using tenon::test::cpu_runtime;
using tenon::test::FakeKind;
using tenon::test::FakePlugin;
using tenon::test::FakeRow;

namespace {

std::vector<manifest::WorkloadCase> cases_of(const manifest::LoadedSet& loaded,
                                             const std::string& op) {
  manifest::DiagnosticList diagnostics;
  return manifest::instantiate(*loaded.set.find(op), loaded.set.adts, diagnostics).cases;
}

// An op that takes no tensor.
constexpr const char* kFill =
    "FillFwdOp:\n  family: own\n  status: implemented\n  signature:\n"
    "    params: {n: {type: int}}\n"
    "    outputs: {y: {dtype: float32, shape: \"[n]\"}}\n"
    "    shape_rules: [\"n >= 0\"]\n"
    "  workloads: [{n: 4, label: a}]\n"
    "  roofline: {flops: \"0\"}\n"
    "  interfaces: {fill_fwd: {call: {n: n}, args: {y: \"[n]\"}}}\n";

// The inputs of a case as specs, those of dtype `from` as `to`.
std::vector<NamedSpec> specs_of(const manifest::WorkloadCase& c, DType from, DType to) {
  std::vector<NamedSpec> specs;
  for (const manifest::CaseTensor& t : c.tensors) {
    if (t.role != TensorRole::kInput || !t.present) continue;
    const Dims shape(t.shape);
    specs.push_back({t.name, {t.dtype == from ? to : t.dtype, shape, dense_strides(shape), {}}, 0});
  }
  return specs;
}

}  // namespace

TEST_SUITE("runtime/reports") {
  TEST_CASE("D17: no matrix product falls between the kernels' regions, whatever its sizes") {
    const Runtime runtime = cpu_runtime();
    Op op = runtime.make("MatMulFwdOp").value();
    const auto matrix = [](const char* name,
                           DType dtype,
                           std::int64_t rows,
                           std::int64_t columns,
                           bool transposed) {
      return NamedSpec{
          name, {dtype, Dims{rows, columns}, transposed ? Dims{1, rows} : Dims{columns, 1}, {}}, 0};
    };
    std::vector<std::string> unserved;
    int calls = 0;
    for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
      for (const std::int64_t m : {1, 2, 3, 17}) {
        for (const std::int64_t n : {1, 7, 8, 9, 63, 64, 65}) {
          for (const std::int64_t k : {1, 7, 8, 9, 63, 64, 65}) {
            for (int layout = 0; layout < 4; ++layout) {
              const NamedSpec specs[] = {matrix("a", dtype, m, k, (layout & 1) != 0),
                                         matrix("b", dtype, k, n, (layout & 2) != 0)};
              const Explanation e = op.explain(specs);
              ++calls;
              if (e.error || !e.steps.at(0).winner)
                unserved.push_back(specs[0].spec.to_string() + " " + specs[1].spec.to_string());
            }
          }
        }
      }
    }
    CHECK(calls == 2 * 4 * 7 * 7 * 4);
    CHECK(unserved.empty());
  }

  TEST_CASE("D19: the CPU serves every op in every dtype that its entry declares") {
    const Runtime runtime = cpu_runtime();
    const auto loaded = manifest::load_folder(TENON_SOURCE_DIR "/manifest/ops").value();
    int served = 0;
    for (const auto& [name, op_class] : runtime.snapshot()->ops()) {
      CAPTURE(name);
      const OpDecl& decl = op_class.plan->decl();
      for (const manifest::WorkloadCase& c : cases_of(loaded, decl.name)) {
        auto op = runtime.make(decl.name, c.params);
        REQUIRE_MESSAGE(op, op.error().to_string());
        const DType own = c.tensors.front().dtype;
        for (const DType dtype : all_dtypes()) {
          if (!decl.inputs.front().dtypes.contains(dtype)) continue;
          CAPTURE(name_of(dtype));
          const Explanation e = op->explain(specs_of(c, own, dtype));
          CHECK_MESSAGE(!e.error, e.table());
          // One wins at each place where a kernel is called, or the stages are explained.
          for (const StepReport& step : e.steps) CHECK((step.winner || !e.stages.empty()));
          ++served;
        }
      }
    }
    CHECK(served > 100);
  }

  TEST_CASE("D25: with one vendor alone every op reaches it, one without tensors too") {
    RuntimeOptions options;
    options.standard_folders = false;
    options.environment = loader::Environment::of({});
    options.settings = {{"devices.default", "lonely:0"}};
    const tenon::test::TempDir folder;
    options.manifest_paths = {"shipped", folder.write("own.yaml", kFill)};
    Runtime runtime = Runtime::create(std::move(options)).value();
    FakeKind& kind = FakeKind::make();
    FakePlugin& vendor = FakePlugin::make("lonely-vendor");
    vendor.own_kind(kind.table("lonely"));
    const DeviceKind lonely = DeviceKind::of("lonely");
    std::vector<std::pair<std::string, FakeRow*>> rows;
    for (const auto& [name, op_class] : runtime.snapshot()->ops()) {
      for (const InterfaceDecl& interface : op_class.plan->decl().interfaces) {
        FakeRow& row = vendor.add(op_class.plan->decl().name, interface, "k");
        row.devices = {"lonely"};
        row.layouts = TENON_LAYOUTS_ALL;
        rows.emplace_back(op_class.plan->decl().name, &row);
      }
    }
    Engine& engine = runtime.engine();
    REQUIRE(vendor.commit(engine.registry()));
    engine.registry().publish();
    const auto loaded = manifest::load_folder(TENON_SOURCE_DIR "/manifest/ops").value();

    for (const auto& [name, row] : rows) {
      CAPTURE(name);
      if (name == "FillFwdOp") {
        // No tensor says where it lives: the call does, else the configuration.
        Op op = runtime.make(name, {{"n", Value(3)}}).value();
        CHECK(op.call({}).value().front().device() == Device{lonely, 0});
        CHECK(op.call({}, {nullptr, Device{lonely, 0}}));
        CHECK(row->launches == 2);
        continue;
      }
      auto cases = cases_of(loaded, name);
      const auto bytes = [](const manifest::WorkloadCase& c) {
        std::int64_t sum = 0;
        for (const auto& t : c.tensors) sum += element_count(t.shape).value_or(0);
        return sum;
      };
      const auto least =
          std::min_element(cases.begin(), cases.end(), [&](const auto& a, const auto& b) {
            return bytes(a) < bytes(b);
          });
      Op op = runtime.make(name, least->params).value();
      std::vector<Tensor> memory;
      memory.reserve(least->tensors.size());
      std::vector<NamedTensor> inputs;
      for (const manifest::CaseTensor& t : least->tensors) {
        if (t.role != TensorRole::kInput || !t.present) continue;
        memory.push_back(
            engine.devices().make_tensor(t.dtype, Dims(t.shape), Device{lonely, 0}).value());
        inputs.emplace_back(t.name, memory.back());
      }
      const auto out = op.call(inputs);
      if (!out) FAIL(out.error().to_string());
      CHECK(row->refuses == 1);
      CHECK(row->launches == 1);
      CHECK(out->front().device() == Device{lonely, 0});
      CHECK(op.last_call()->kernel() == "lonely-vendor:k");
    }
    CHECK(rows.size() >= 13);
  }
}
