// The order among the kernel types of one interface, from their declarations alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/core/registry.hpp"

namespace tenon {

/// Fills `table.beats` and `table.dropped_edges` from `table.types`, which are sorted by qualified
/// key. The result does not depend on the order of loading. Names that no type has take part: a
/// chain through them holds.
void order_kernel_types(InterfaceTable& table);

/// The edges of a cycle among one plugin's own types ("a > b > a"), or nothing. Rejects the plugin.
[[nodiscard]] std::string own_cycle(const std::vector<std::shared_ptr<const KernelType>>& types);

}  // namespace tenon
