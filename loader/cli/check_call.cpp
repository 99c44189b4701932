// The comparison of a call's results with the op's reference kernel.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "bound.hpp"
#include "elements.hpp"
#include "run_call.hpp"
#include "text.hpp"

namespace tenon::cli {
namespace {

bool is_float(DType dtype) { return info_of(dtype).category == DTypeCategory::kFloat; }

/// A dense copy in host memory with the absolute values of floats.
Result<Tensor> absolute_copy(const Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const DType dtype = tensor.dtype();
  auto copy = Tensor::host(dtype, tensor.shape());
  if (!copy) return copy;
  auto* target = copy->view().first();
  const std::size_t element_size = size_bytes_of(dtype);
  for_each_element(tensor.view(), [&](const std::byte* element, std::int64_t) {
    if (is_float(dtype)) {
      store_from_double(dtype, target, std::fabs(load_as_double(dtype, element)));
    } else {
      std::copy_n(element, element_size, target);
    }
    target += element_size;
  });
  return copy;
}

/// "cpu:reference": who the reference is, for the report.
std::string reference_name(const OpClass& op) {
  const DeviceKind cpu = DeviceKind::of("cpu");
  for (const InterfaceTable& table : op.interfaces) {
    for (const auto& type : table.types) {
      if (type->reference() && type->serves(cpu)) return type->qualified;
    }
  }
  return "the reference kernel";
}

/// The op's reference kernel on wide copies of these inputs, which lie in host memory.
Result<std::vector<Tensor>> run_reference(const Session& session,
                                          const PreparedCall& call,
                                          const NamedTensors& inputs) {
  InstanceOptions options;
  options.target = "builtin";
  auto op = make_instance(session, call, std::move(options));
  if (!op) return fail(std::move(op).error());
  return op->call_reference(inputs.inputs);
}

Result<NamedTensors> absolute_copies(const NamedTensors& inputs) {
  NamedTensors copies;
  for (const NamedTensor& named : inputs.inputs) {
    auto copy = absolute_copy(named.tensor);
    if (!copy) return fail(std::move(copy).error());
    copies.inputs.emplace_back(named.name, *copy);
  }
  return copies;
}

/// Terms of each sum: for one operand what is summed into one element, for two (m k, k n -> m n)
/// the k.
std::int64_t term_count_of(const OpDecl& decl, const NamedTensors& inputs, const Tensor& result) {
  const auto outputs = static_cast<double>(std::max<std::int64_t>(result.view().count(), 1));
  double product = 1;
  std::size_t operands = 0;
  for (const NamedTensor& named : inputs.inputs) {
    if (operands == 2) break;
    product *= static_cast<double>(std::max<std::int64_t>(named.tensor.view().count(), 1));
    ++operands;
  }
  const bool is_product = decl.error_model == "dot" && operands == 2;
  return static_cast<std::int64_t>(
      std::ceil(is_product ? std::sqrt(product / outputs) : product / outputs));
}

/// What the kernels that ran declare about their sums; the widest of them.
SumFacts sum_facts(const PreparedCall& call, const SignatureCall& record) {
  SumFacts facts;
  for (const InterfaceTable& table : call.op->interfaces) {
    for (const auto& type : table.types) {
      const bool ran =
          std::any_of(record.kernels.begin(), record.kernels.end(), [&](const KernelUse& use) {
            return use.kernel == type->qualified;
          });
      if (!ran) continue;
      if (type->row.accumulate.bits != 0) facts.accumulate = dtype_from_abi(type->row.accumulate);
      facts.sequential = facts.sequential || type->has(TENON_KERNEL_SEQUENTIAL_SUMS);
    }
  }
  return facts;
}

std::string worst_text(const std::string& name, const Tensor& result, const OutputCheck& check) {
  if (check.worst_index < 0) return {};
  constexpr int kDigits = 9;
  std::string text = fmt::format("{}{}: got {}, reference {}",
                                 name,
                                 indices_of(check.worst_index, result.shape()).to_string(),
                                 number_text(check.worst_got, kDigits),
                                 number_text(check.worst_ref, kDigits));
  if (check.wrong_count > 0) {
    text += fmt::format("; {} of {} beyond the bound",
                        check.wrong_count,
                        counted(static_cast<std::size_t>(result.view().count()), "element"));
  }
  return text;
}

}  // namespace

Result<RunCheck> check_results(const Session& session,
                               const PreparedCall& call,
                               const NamedTensors& inputs,
                               const std::vector<Tensor>& results,
                               const SignatureCall& record) {
  auto reference = run_reference(session, call, inputs);
  if (!reference) return fail(std::move(reference).error());
  const OpDecl& decl = call.decl();
  std::vector<Tensor> terms;
  if (sums_terms(decl)) {
    auto absolute = absolute_copies(inputs);
    if (!absolute) return fail(std::move(absolute).error());
    auto of_terms = run_reference(session, call, *absolute);
    if (!of_terms) return fail(std::move(of_terms).error());
    terms = std::move(*of_terms);
  }
  SumFacts facts = sum_facts(call, record);
  RunCheck all;
  all.reference = reference_name(*call.op) + " on float64";
  double worst = -1;
  for (std::size_t i = 0; i < results.size() && i < reference->size(); ++i) {
    if (!results[i].defined() || !(*reference)[i].defined()) continue;
    facts.term_count = term_count_of(decl, inputs, results[i]);
    const Bound bound = bound_of(decl, results[i].dtype(), facts);
    const TensorView* const of_terms =
        i < terms.size() && terms[i].defined() ? &terms[i].view() : nullptr;
    const OutputCheck check = compare(results[i].view(), (*reference)[i].view(), of_terms, bound);
    all.max_ulp = std::max(all.max_ulp, check.max_ulp);
    all.max_abs = std::max(all.max_abs, check.max_abs);
    all.max_rel = std::max(all.max_rel, check.max_rel);
    const double rank = check.ok ? check.max_ulp : static_cast<double>(INFINITY);
    if (rank > worst) {
      worst = rank;
      all.worst = worst_text(decl.outputs[i].name, results[i], check);
    }
    all.ok = all.ok && check.ok;
  }
  return all;
}

}  // namespace tenon::cli
