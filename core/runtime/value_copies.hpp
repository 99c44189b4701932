// Values that outlive the call that made them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/plugin.h"

namespace tenon {

/// Copies of values with everything that they point to, in storage that is reused.
class ValueCopies {
 public:
  void assign(std::span<const tenon_value> values);
  [[nodiscard]] const tenon_value* data() const {
    return reinterpret_cast<const tenon_value*>(words_.data());
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace tenon
