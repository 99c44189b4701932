// A second vendor's plugin: one general kernel that adds dense float32 tensors on the CPU.
#include <array>
#include <cstdint>

#include <tenon/contracts/elementwise.h>
#include <tenon/plugin.hpp>

struct PlainAdd {
  static constexpr auto op = "AddFwdOp", interface = "add_fwd", key = "plain";
  static constexpr std::array devices{"cpu"};
  static constexpr std::array dtypes{tenon::kFloat32};
  static constexpr bool general = true;
  using Call = tenon::contracts::add_fwd::Call;  // shape, alpha, dtype

  void launch(const tenon::Launch& launch) const {
    const double alpha = launch.call<Call>().alpha.as_double();
    const auto* a = launch[0].data<const float>();
    const auto* b = launch[1].data<const float>();
    auto* sum = launch[2].data<float>();
    const std::int64_t count = launch[2].element_count();
    for (std::int64_t i = 0; i < count; ++i) {
      sum[i] = static_cast<float>(a[i] + alpha * static_cast<double>(b[i]));
    }
  }
};

TENON_PLUGIN(tenon::plugin("acme", "1.0.0").vendor("Acme").needs_kinds("cpu").kernels<PlainAdd>());
