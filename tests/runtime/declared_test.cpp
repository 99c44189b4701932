// What the shipped entries declare, and what the CPU plugin makes of it: every dtype is served, and
// what comes back is what was inferred.
#include <string>
#include <vector>

#include "runtime/cpu_runtime.hpp"
#include "tenon/manifest/reader.hpp"
#include "tenon/manifest/workloads.hpp"

using namespace tenon;
using tenon::test::cpu_runtime;

namespace {

/// Every assignment of an entry's dtype indices, as the row's `dtype_cases`.
std::vector<manifest::DTypeCase> all_cases(const manifest::Entry& entry,
                                           const manifest::DTypeCase& like) {
  std::vector<manifest::DTypeCase> cases{{{}, like.where}};
  for (const auto& [index, text] : like.assignment) {
    std::vector<manifest::DTypeCase> longer;
    for (const manifest::IndexDecl& decl : entry.indices) {
      if (decl.name != index) continue;
      for (const DType dtype : decl.listed) {
        for (manifest::DTypeCase one : cases) {
          manifest::Text name = text;
          name.text = std::string(name_of(dtype));
          one.assignment.emplace_back(index, std::move(name));
          longer.push_back(std::move(one));
        }
      }
    }
    cases = std::move(longer);
  }
  return cases;
}

void shrink(Value& value) {
  constexpr std::int64_t kLargest = 7;
  if (const auto* size = value.get_if<std::int64_t>(); size != nullptr && *size > kLargest)
    value = kLargest;
  const auto* list = value.get_if<ValueList>();
  if (list == nullptr) return;
  ValueList smaller = *list;
  for (Value& item : smaller.items) shrink(item);
  value = Value(std::move(smaller));
}

/// The entry's rows at small sizes, with every dtype that the entry declares.
manifest::Workloads declared(const manifest::LoadedSet& set, const manifest::Entry& entry) {
  manifest::Entry all = entry;
  for (manifest::RowEntry& row : all.workloads) {
    for (auto& [name, raw] : row.values) shrink(raw.value);
    if (!row.dtype_cases.empty()) row.dtype_cases = all_cases(entry, row.dtype_cases.front());
  }
  manifest::DiagnosticList diagnostics;
  manifest::Workloads workloads = manifest::instantiate(all, set.set.adts, diagnostics);
  INFO(diagnostics.to_text());
  REQUIRE_FALSE(diagnostics.has_errors());
  return workloads;
}

std::vector<NamedSpec> specs_of(const manifest::WorkloadCase& one) {
  std::vector<NamedSpec> specs;
  for (const manifest::CaseTensor& tensor : one.tensors) {
    const Dims shape(tensor.shape);
    if (tensor.present)
      specs.push_back({tensor.name, {tensor.dtype, shape, dense_strides(shape), Device{}}});
  }
  return specs;
}

}  // namespace

TEST_SUITE("runtime/declared") {
  TEST_CASE("D30: every dtype that a shipped entry declares is served on the CPU") {
    const Runtime runtime = cpu_runtime();
    const manifest::LoadedSet shipped = manifest::load_shipped();
    std::size_t calls = 0;

    for (const manifest::Entry& entry : shipped.set.entries) {
      for (const manifest::WorkloadCase& one : declared(shipped, entry).cases) {
        auto op = runtime.make(one.op, one.params);
        REQUIRE_MESSAGE(op, op.error().to_string());
        const Explanation explained = op->explain(specs_of(one));
        CHECK_MESSAGE(
            !explained.error,
            one.op << " " << one.id << " is declared but unserved: " << explained.table());
        ++calls;
      }
    }

    CHECK(calls > 60);
  }

  TEST_CASE("D36: what a call returns has exactly the shape, dtype and strides inferred") {
    const Runtime runtime = cpu_runtime();
    const manifest::LoadedSet shipped = manifest::load_shipped();

    for (const manifest::Entry& entry : shipped.set.entries) {
      for (const manifest::WorkloadCase& one : declared(shipped, entry).cases) {
        CAPTURE(one.op);
        CAPTURE(one.id);
        Op op = runtime.make(one.op, one.params).value();
        std::vector<NamedTensor> inputs;
        for (const manifest::CaseTensor& tensor : one.tensors) {
          if (!tensor.present) continue;
          inputs.emplace_back(tensor.name, Tensor::host(tensor.dtype, Dims(tensor.shape)).value());
        }
        const Op::Inferred inferred = op.infer(specs_of(one)).value();

        const auto outputs = op.call(inputs);

        REQUIRE_MESSAGE(outputs, outputs.error().to_string());
        REQUIRE(outputs->size() == inferred.outputs.size());
        for (std::size_t i = 0; i < outputs->size(); ++i) {
          const Tensor& got = (*outputs)[i];
          CHECK(got.shape() == inferred.outputs[i].shape);
          CHECK(got.dtype() == inferred.outputs[i].dtype);
          CHECK(got.strides() == dense_strides(got.shape()));
        }
      }
    }
  }

  TEST_CASE("D36: an out of another layout keeps its own strides") {
    const Runtime runtime = cpu_runtime();
    const Tensor x = test::ramp({4, 6});
    const Tensor memory = Tensor::host(DType::kFloat32, {6, 4}).value();
    const TensorView turned(memory.data<float>(), DType::kFloat32, Dims{4, 6}, Dims{1, 4});
    Op op = runtime.make("GeluFwdOp").value();

    const auto dense = op.call({{"x", x}});
    const auto given = op.call({{"x", x}}, {&turned, {}});

    REQUIRE(given);
    CHECK((*given)[0].strides() == Dims{1, 4});
    for (std::int64_t i = 0; i < 4; ++i) {
      for (std::int64_t j = 0; j < 6; ++j)
        CHECK(memory.data<float>()[j * 4 + i] == (*dense)[0].data<float>()[i * 6 + j]);
    }
  }
}
