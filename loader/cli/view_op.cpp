// Words for what declarations hold.
#include "view_op.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "view_ops.hpp"

namespace tenon::cli {
namespace {

constexpr std::array<std::string_view, 5> kLayouts{
    "dense", "inner", "strided", "expanded", "reversed"};
constexpr std::array<std::pair<std::uint64_t, std::string_view>, 6> kFlags{{
    {TENON_KERNEL_GENERAL, "general"},
    {TENON_KERNEL_REFERENCE, "reference"},
    {TENON_KERNEL_HANDLES_PADDING, "handles_padding"},
    {TENON_KERNEL_DETERMINISTIC, "deterministic"},
    {TENON_KERNEL_CAPTURE_SAFE, "capture_safe"},
    {TENON_KERNEL_SEQUENTIAL_SUMS, "sequential_sums"},
}};

std::string when_text(std::string_view word, When when, const std::string& condition) {
  return when == When::kConditional ? fmt::format("{} if {}", word, condition) : std::string(word);
}

}  // namespace

std::string_view name_of(TensorRole role) {
  switch (role) {
    case TensorRole::kConstruction:
      return "construction";
    case TensorRole::kInput:
      return "input";
    case TensorRole::kOutput:
      break;
  }
  return "output";
}

std::string_view role_name(const InterfaceArgDecl& arg) {
  if (arg.source == ArgSource::kTemporary) return "temporary";
  if (arg.role == TENON_ROLE_OUT) return "out";
  return arg.role == TENON_ROLE_INOUT ? "inout" : "in";
}

std::string_view layout_name(std::uint32_t layout) {
  return layout < kLayouts.size() ? kLayouts[layout] : "unknown";
}

std::vector<std::string> layouts_of(const KernelType& type) {
  std::vector<std::string> names;
  for (std::uint32_t layout = 0; layout < kLayouts.size(); ++layout) {
    if (type.takes(layout)) names.emplace_back(kLayouts[layout]);
  }
  return names;
}

std::vector<std::string> flags_of(const KernelType& type) {
  std::vector<std::string> names;
  for (const auto& [bit, name] : kFlags) {
    if (type.has(bit)) names.emplace_back(name);
  }
  return names;
}

std::vector<std::string> dtypes_of(const DTypeSet& set) {
  std::vector<std::string> names;
  for (const DType dtype : all_dtypes()) {
    if (set.contains(dtype)) names.emplace_back(info_of(dtype).short_name);
  }
  return names;
}

std::vector<std::string> names_of(const std::vector<DeviceKind>& kinds) {
  std::vector<std::string> names;
  names.reserve(kinds.size());
  for (const DeviceKind kind : kinds) names.emplace_back(kind.name());
  return names;
}

std::vector<std::string> effects_of(const TensorDecl& tensor) {
  std::vector<std::string> effects;
  if (tensor.list)
    effects.push_back(fmt::format("list of {} to {}", tensor.list->min, tensor.list->max));
  if (tensor.optional != When::kNever) {
    effects.push_back(when_text(tensor.role == TensorRole::kOutput ? "nullable" : "optional",
                                tensor.optional,
                                tensor.optional_text));
  }
  if (tensor.mutated != When::kNever) {
    effects.push_back(when_text(
        tensor.write_only ? "written, not read" : "written", tensor.mutated, tensor.mutated_text));
  }
  if (tensor.buffer_out) effects.emplace_back("may be passed as out");
  if (!tensor.alias.empty())
    effects.push_back(fmt::format("is {} where that is written", tensor.alias));
  if (!tensor.may_alias.empty())
    effects.push_back(fmt::format("may be {}", fmt::join(tensor.may_alias, " or ")));
  if (tensor.contiguous) effects.emplace_back("contiguous");
  if (tensor.on_cpu) effects.emplace_back("on the cpu");
  return effects;
}

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::vector<std::pair<std::string, std::string>> unordered_pairs(const InterfaceTable& table) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const auto& types = table.types;
  for (std::size_t i = 0; i < types.size(); ++i) {
    for (std::size_t j = i + 1; j < types.size(); ++j) {
      const KernelType& a = *types[i];
      const KernelType& b = *types[j];
      const bool share_a_kind = std::any_of(
          a.devices.begin(), a.devices.end(), [&](DeviceKind kind) { return b.serves(kind); });
      if (!share_a_kind || a.general() != b.general() || a.reference() != b.reference()) continue;
      if (!table.prefers(i, j) && !table.prefers(j, i))
        pairs.emplace_back(a.qualified, b.qualified);
    }
  }
  return pairs;
}

}  // namespace tenon::cli
