// What selection may know of a tensor: its layout, alignment and width.
#include <algorithm>
#include <bit>

#include "registry/selection.hpp"

namespace tenon {

std::string_view layout_name(std::uint32_t layout) noexcept {
  switch (layout) {
    case TENON_LAYOUT_DENSE:
      return "dense";
    case TENON_LAYOUT_INNER:
      return "inner";
    case TENON_LAYOUT_STRIDED:
      return "strided";
    case TENON_LAYOUT_EXPANDED:
      return "expanded";
    case TENON_LAYOUT_REVERSED:
      return "reversed";
    default:
      return "unknown";
  }
}

tenon_arg_facts facts_of(const TensorView& view) {
  tenon_arg_facts facts{1, TENON_LAYOUT_DENSE, 8, -1, 0, 0};
  const auto address = reinterpret_cast<std::uintptr_t>(view.first());
  facts.align_log2 =
      address == 0 ? 8u : std::min(8u, static_cast<std::uint32_t>(std::countr_zero(address)));
  bool dense = true;
  bool expanded = false;
  bool reversed = false;
  bool inner = true;
  bool innermost = true;  // no axis above size 1 seen yet, from the back
  std::int64_t expected = 1;
  std::int64_t reach = 0;
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    const std::int64_t size = view.shape[i];
    const std::int64_t stride = view.strides[i];
    if (size == 0) {
      facts.align_log2 = 8;
      return facts;  // nothing is ever addressed
    }
    if (size == 1) continue;
    expanded = expanded || stride == 0;
    reversed = reversed || stride < 0;
    if (innermost) inner = stride == 1;
    innermost = false;
    dense = dense && stride == expected;
    expected *= size;
    reach += (size - 1) * (stride < 0 ? -stride : stride);
  }
  if (reversed) {
    facts.layout = TENON_LAYOUT_REVERSED;
  } else if (expanded) {
    facts.layout = TENON_LAYOUT_EXPANDED;
  } else if (!dense) {
    facts.layout = inner ? TENON_LAYOUT_INNER : TENON_LAYOUT_STRIDED;
  }
  facts.wide = reach > 0x7fffffff ? 1u : 0u;
  return facts;
}

tenon_arg_facts dense_facts(const tenon_arg_facts& facts, bool wide) {
  tenon_arg_facts copy = facts;
  copy.layout = TENON_LAYOUT_DENSE;
  copy.align_log2 = 8;
  copy.alias_of = -1;
  copy.wide = wide ? 1u : 0u;
  return copy;
}

void facts_with_copies(std::span<const tenon_arg_facts> facts,
                       std::span<const std::uint8_t> dense_wide,
                       std::uint64_t copied,
                       std::span<tenon_arg_facts> out) {
  const auto is_copied = [&](std::size_t i) {
    return i < kMaxCopiedArgs && ((copied >> i) & 1u) != 0;
  };
  for (std::size_t i = 0; i < facts.size(); ++i) {
    out[i] = is_copied(i) ? dense_facts(facts[i], dense_wide[i] != 0) : facts[i];
    if (out[i].alias_of >= 0 && is_copied(static_cast<std::size_t>(out[i].alias_of)))
      out[i].alias_of = -1;
  }
}

void facts_for(const KernelType& type,
               std::span<const tenon_arg_facts> facts,
               std::span<const std::uint8_t> dense_wide,
               std::span<const ArgSize> sizes,
               std::uint64_t copied,
               std::span<tenon_arg_facts> out) {
  facts_with_copies(facts, dense_wide, copied, out);
  if (type.alignment() == 1) return;
  for (std::size_t i = 0; i < std::min(sizes.size(), kMaxCopiedArgs); ++i) {
    if (((copied >> i) & 1u) != 0 && wide_once_padded(type, sizes[i])) out[i].wide = 1;
  }
}

}  // namespace tenon
