// A small vendor plugin for the SDK's tests: its contract, its kernel types, its target, and a
// registrar that listens.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tenon/plugin.hpp"

extern "C" const tenon_plugin tenon_plugin_v0_acme;

namespace acme {

/// As a generated contract header would have it.
struct Call {
  std::int64_t m, n;
  double eps;
  tenon::ElementType dtype;
  bool affine;
  static Call from(const tenon_call& call);
  static const tenon_contract& contract();
};

/// Five fields and three arguments, with the storage that a host would own.
class CallData {
 public:
  CallData(std::int64_t m, std::int64_t n, tenon::ElementType dtype = tenon::kFloat32);
  [[nodiscard]] const tenon_call& call() const { return call_; }
  std::array<tenon_value, 5> fields;
  std::array<tenon_arg_facts, 3> args;

 private:
  tenon_call call_;
};

/// What a plugin hands over, copied as a host does.
struct Rows {
  std::vector<tenon_device_kind> kinds;
  std::vector<tenon_kernel_type> types;
  std::vector<tenon_target> targets;
  tenon_status answer = TENON_OK;  ///< what each add function returns
  tenon_registrar registrar();
  [[nodiscard]] const tenon_kernel_type& type(std::string_view key) const;
};

tenon_device a2_device();

}  // namespace acme
