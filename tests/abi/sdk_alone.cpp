// The SDK by itself: one include, one kernel type, one plugin, in every standard and compiler that
// vendors use.
#include "tenon/plugin.hpp"

namespace {

const tenon_contract kContract = {sizeof(tenon_contract), 0, nullptr, 0, nullptr, 0};

struct Rows {
  static constexpr auto op = "AddFwdOp", interface = "add_fwd", key = "rows", devices = "acme";
  using Call = tenon::RawCall;
  static const tenon_contract& contract() { return kContract; }
  static tenon::Refusal refusal(const Call& call) {
    const auto n = call.field<std::int64_t>(0);
    if (n > 4) return tenon::refuse("n", tenon::at_most(4), n);
    return tenon::serves;
  }
  static auto identity(const Call& call) { return std::tuple{call.field<double>(1)}; }
  void launch(const tenon::Launch& launch) const { *launch[0].data<float>() = 1; }
};

}  // namespace

TENON_PLUGIN(tenon::plugin("alone", "1.0.0").vendor("Tenon").kernels<Rows>());
