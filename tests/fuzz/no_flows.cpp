// Stands in for the core's flows, which would link all of the runtime: no fuzz target publishes a
// snapshot.
#include "tenon/core/flow.hpp"

namespace tenon {

const Flow* find_flow(std::string_view) { return nullptr; }

}  // namespace tenon
