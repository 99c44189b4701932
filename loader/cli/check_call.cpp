// The comparison of a call's results with the op's reference kernel.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "bound.hpp"
#include "elements.hpp"
#include "float_environment.hpp"
#include "run_call.hpp"
#include "text.hpp"
#include "view_ops.hpp"

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

/// The kernel type of an op that is its reference on the cpu, or null.
const KernelType* reference_of(const Snapshot& snapshot, const OpClass& op) {
  const DeviceKind cpu = DeviceKind::of("cpu");
  for (const InterfaceTable& table : op.interfaces) {
    if (const KernelType* type = snapshot.reference_of(table, cpu)) return type;
  }
  return nullptr;
}

/// "cpu:reference", or those of the stages: who the reference is, for the report.
std::string reference_name(const PreparedCall& call) {
  if (const KernelType* type = reference_of(*call.snapshot, *call.op))
    return type->qualified + " on float64";
  std::vector<std::string> stages;
  for (const StageDecl& stage : call.decl().stages) {
    const OpClass* op = stage.op.empty() ? nullptr : call.snapshot->find(stage.op);
    const KernelType* type = op == nullptr ? nullptr : reference_of(*call.snapshot, *op);
    if (type != nullptr)
      stages.push_back(fmt::format("{} ({})", short_name(op->plan->decl()), type->qualified));
  }
  return fmt::format("the references of its stages on float64: {}", joined(stages));
}

/// The kernel types that ran, of stages too.
std::vector<const KernelType*> types_of(const PreparedCall& call, const SignatureCall& record) {
  std::vector<const KernelType*> ran;
  for (const auto& [name, op] : call.snapshot->ops()) {
    for (const InterfaceTable& table : op.interfaces) {
      for (const auto& type : table.types) {
        const bool is_used =
            std::any_of(record.kernels.begin(), record.kernels.end(), [&](const KernelUse& use) {
              return use.kernel == type->qualified && use.interface == type->interface;
            });
        if (is_used) ran.push_back(type.get());
      }
    }
  }
  return ran;
}

/// Attention's second product is a sum of values under weights that are no operands: its terms are
/// the reference on the absolute values of `v` alone.
bool is_attention(const OpDecl& decl) {
  return decl.error_model == "softmax" && decl.input_index("v").has_value();
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

/// The inputs whose absolute values are the terms of sums, so changed; the others as they are.
Result<NamedTensors> absolute_copies(const OpDecl& decl, const NamedTensors& inputs) {
  NamedTensors copies;
  for (const NamedTensor& named : inputs.inputs) {
    const bool counts = !is_attention(decl) || named.name == "v";
    auto copy = counts ? absolute_copy(named.tensor) : Result<Tensor>(named.tensor);
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
  if (is_attention(decl)) {  // one for each key
    for (const NamedTensor& named : inputs.inputs) {
      if (named.name == "v" && named.tensor.shape().size() > 1)
        return std::max<std::int64_t>(named.tensor.shape()[1], 1);
    }
  }
  const bool is_product = decl.error_model == "dot" && operands == 2;
  return static_cast<std::int64_t>(
      std::ceil(is_product ? std::sqrt(product / outputs) : product / outputs));
}

/// What the kernels that ran declare about their sums; the widest of them.
SumFacts sum_facts(const OpDecl& decl,
                   const std::vector<const KernelType*>& ran,
                   bool ran_as_stages) {
  SumFacts facts;
  // Its entry wants sums in float32 or wider.
  if (is_attention(decl)) facts.accumulate = DType::kFloat32;
  for (const KernelType* type : ran) {
    if (type->row.accumulate.bits != 0) facts.accumulate = dtype_from_abi(type->row.accumulate);
    facts.sequential = facts.sequential || type->has(TENON_KERNEL_SEQUENTIAL_SUMS);
  }
  // However exact each stage is, what lies between two of them is a tensor of float32.
  if (ran_as_stages && is_attention(decl)) facts.accumulate = DType::kFloat32;
  return facts;
}

/// The bound of an output, with the share of attention's second product.
Bound bound_for(const OpDecl& decl,
                const NamedTensors& inputs,
                const Tensor& result,
                SumFacts facts) {
  facts.term_count = term_count_of(decl, inputs, result);
  Bound bound = bound_of(decl, result.dtype(), facts);
  if (!is_attention(decl) || !is_float(result.dtype())) return bound;
  const auto terms = static_cast<double>(facts.term_count);
  bound.g = facts.sequential ? terms : 2 * std::ceil(std::log2(terms));
  bound.eps = epsilon_of(facts.accumulate.value_or(result.dtype()));
  return bound;
}

/// Why nothing was compared, or nothing where something was.
std::string not_compared_text(const std::vector<const KernelType*>& ran,
                              const SignatureCall& record) {
  if (record.kernels.empty()) return "there was nothing to compute";
  const bool are_references = !ran.empty() && std::all_of(ran.begin(), ran.end(), [](auto* type) {
    return type->reference();
  });
  if (!are_references) return {};
  std::vector<std::string> names;
  names.reserve(ran.size());
  for (const KernelType* type : ran) names.push_back(fmt::format("'{}'", type->qualified));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return fmt::format("the reference {} {} itself ran, and agrees with itself",
                     names.size() == 1 ? "kernel" : "kernels",
                     joined(names));
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
  const DefaultFloats floats;  // a plugin's own may have come with its loading
  auto reference = run_reference(session, call, inputs);
  if (!reference) return fail(std::move(reference).error());
  const OpDecl& decl = call.decl();
  std::vector<Tensor> terms;
  if (sums_terms(decl) || is_attention(decl)) {
    auto absolute = absolute_copies(decl, inputs);
    if (!absolute) return fail(std::move(absolute).error());
    auto of_terms = run_reference(session, call, *absolute);
    if (!of_terms) return fail(std::move(of_terms).error());
    terms = std::move(*of_terms);
  }
  const std::vector<const KernelType*> ran = types_of(call, record);
  const SumFacts facts = sum_facts(decl, ran, !record.stages.empty());
  RunCheck all;
  all.reference = reference_name(call);
  all.not_compared = not_compared_text(ran, record);
  double worst = -1;
  for (std::size_t i = 0; i < results.size() && i < reference->size(); ++i) {
    if (!results[i].defined() || !(*reference)[i].defined()) continue;
    const Bound bound = bound_for(decl, inputs, results[i], facts);
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
    all.values_ok = all.ok;
  }
  return all;
}

}  // namespace tenon::cli
