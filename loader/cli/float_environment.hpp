// The floating-point environment in which the command itself computes.
#pragma once

#include <cfenv>

#include "tenon/core/floating_environment.hpp"

namespace tenon::cli {

/// The default environment while it lives; then the one that was.
class DefaultFloats {
 public:
  DefaultFloats() noexcept { (void)std::fesetenv(FE_DFL_ENV); }

 private:
  FloatingEnvironment before_;  // is there before the default one is set
};

}  // namespace tenon::cli
