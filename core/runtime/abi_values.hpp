// Values of ours as they cross to plugins, with the storage behind them.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "tenon/core/value.hpp"
#include "tenon/plugin.h"

namespace tenon {

/// tenon_values for a list of Values. Pointers hold as long as this object. Objects that only other
/// languages know cross as none.
class AbiValues {
 public:
  explicit AbiValues(std::span<const Value> values);
  [[nodiscard]] std::span<const tenon_value> values() const { return values_; }

 private:
  tenon_value convert(const Value& value);
  tenon_value convert_list(const std::vector<Value>& items);

  std::vector<tenon_value> values_;
  std::deque<std::string> texts_;
  std::deque<std::vector<std::int64_t>> ints_;
  std::deque<std::vector<double>> floats_;
  std::deque<std::vector<tenon_value>> lists_;
};

}  // namespace tenon
