// The plugin that owns device kind `fake`: the mock device, a general add and a copy for every
// layout.
#include "support/fake_device.hpp"
#include "support/fake_kernels.hpp"

namespace tenon::test {
namespace {

struct MockAdd : ScriptedAdd {
  static constexpr auto op = "AddFwdOp", interface = "add_fwd", key = "rows", devices = "fake";
  static constexpr std::array dtypes{tenon::kFloat32};
  static constexpr bool general = true, deterministic = true, capture_safe = true,
                        handles_padding = true;
  static constexpr std::uint32_t layouts = tenon::kAllLayouts;
  using Call = tenon::RawCall;
  static const tenon_contract& contract() { return kFakeAddContract; }
  explicit MockAdd(const Call& call)
      : ScriptedAdd(announced_control().kernel("fake:rows"),
                    call.field<tenon::Number>(1, "alpha").as_double()) {
    ++announced_control().kernel("fake:rows").builds;
  }
};

struct MockCopy {
  static constexpr auto op = "CopyFwdOp", interface = "copy_fwd", key = "strided", devices = "fake";
  static constexpr bool general = true, deterministic = true, capture_safe = true,
                        handles_padding = true;
  static constexpr std::uint32_t layouts = tenon::kAllLayouts;
  using Call = tenon::RawCall;
  static const tenon_contract& contract() { return kFakeCopyContract; }
  static auto identity(const Call& call) {
    return std::tuple{call.field<tenon::ElementType>(1, "dtype")};
  }
  void launch(const tenon::Launch& launch)
      const {  // NOLINT(readability-convert-member-functions-to-static)
    ++announced_control().kernel("fake:strided").launches;
    launch_copy(launch);
  }
};

void count_init(tenon::Host) {
  auto& plugin = announced_control().plugin("fake");
  ++plugin.inits;
  if (plugin.init_status != 0)
    throw tenon::Failure(plugin.init_status, "the board says that init fails");
}
void count_shutdown() { ++announced_control().plugin("fake").shutdowns; }

}  // namespace
}  // namespace tenon::test

TENON_PLUGIN(tenon::plugin("fake", "1.0.0")
                 .vendor("Tenon's tests")
                 .on_init(tenon::test::count_init)
                 .on_shutdown(tenon::test::count_shutdown)
                 .devices<tenon::test::MockDevices>()
                 .kernels<tenon::test::MockAdd, tenon::test::MockCopy>());
