// A plugin of adds that are wrong in what they do to memory, one kernel type for each way.
#include <cfenv>

#include "support/fake_kernels.hpp"

namespace {

using tenon::test::AddArguments;
using tenon::test::KeptView;

/// Elements past the end, from where the last one lies.
char* past_end(const AddArguments& a, std::int64_t elements) {
  return a.output.at(a.output.count() - 1, 4) + elements * 4;
}

void over2(void* bytes) {
  tenon::test::run_add(bytes);
  const auto& a = *static_cast<const AddArguments*>(bytes);
  std::memset(past_end(a, 1), 0, 8);
}
void far_over(void* bytes) {
  tenon::test::run_add(bytes);
  const auto& a = *static_cast<const AddArguments*>(bytes);
  std::memset(past_end(a, 1001), 0, 4);
}
void under1(void* bytes) {
  tenon::test::run_add(bytes);
  const auto& a = *static_cast<const AddArguments*>(bytes);
  std::memset(a.output.at(0, 4) - 4, 0, 4);
}
void nowrite(void*) {}
void leaves_last(void* bytes) {
  const auto& a = *static_cast<const AddArguments*>(bytes);
  char kept[4];
  std::memcpy(kept, past_end(a, 0), 4);
  tenon::test::run_add(bytes);
  std::memcpy(past_end(a, 0), kept, 4);
}
void changes_input(void* bytes) {
  tenon::test::run_add(bytes);
  const auto& a = *static_cast<const AddArguments*>(bytes);
  std::memset(a.other.at(0, 4), 0, 4);
}
void fills_gap(void* bytes) {
  tenon::test::run_add(bytes);
  const auto& a = *static_cast<const AddArguments*>(bytes);
  std::memset(a.output.at(0, 4) + 4, 0, 4);
}

void flushes(void* bytes) {
  tenon::test::run_add(bytes);
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040U);  // subnormals become zeros
#endif
}
void rounds_up(void* bytes) {
  tenon::test::run_add(bytes);
  (void)std::fesetround(FE_UPWARD);
}
void traps(void* bytes) {
  tenon::test::run_add(bytes);
  (void)feenableexcept(FE_DIVBYZERO);
}

/// Writes its workspace of 100 bytes and 4 bytes past it.
struct WorkspaceOver {
  char* workspace;
  std::uint64_t size_bytes;
};
void writes_past_workspace(void* bytes) {
  const auto& a = *static_cast<const WorkspaceOver*>(bytes);
  std::memset(a.workspace, 0, static_cast<std::size_t>(a.size_bytes + 4));
}

constexpr char kHonest[] = "honest", kOver2[] = "over2", kFarOver[] = "far_over",
               kUnder1[] = "under1", kNowrite[] = "nowrite", kLeavesLast[] = "leaves_last",
               kChangesInput[] = "changes_input", kFillsGap[] = "fills_gap", kFlushes[] = "flushes",
               kRoundsUp[] = "rounds_up", kTraps[] = "traps";

struct AnyAdd {
  static constexpr auto op = "AddFwdOp", interface = "add_fwd";
  static constexpr std::array devices{"cpu", "fake"};
  static constexpr std::array dtypes{tenon::kFloat32, tenon::kInt32};
  static constexpr std::uint32_t layouts = tenon::kAllLayouts;
  using Call = tenon::RawCall;
  static const tenon_contract& contract() { return tenon::test::kFakeAddContract; }
};

template <const char* Key, void (*Work)(void*)>
struct Add : AnyAdd {
  static constexpr auto key = Key;
  void launch(const tenon::Launch& launch) const {
    tenon::test::enqueue(
        launch,
        Work,
        AddArguments{KeptView(launch[0]), KeptView(launch[1]), KeptView(launch[2]), 1});
  }
};

struct AddOverWorkspace : AnyAdd {
  static constexpr auto key = "workspace_over";
  [[nodiscard]] std::uint64_t workspace_bytes() const { return 100; }
  void launch(const tenon::Launch& launch) const {
    tenon::test::enqueue(launch,
                         writes_past_workspace,
                         WorkspaceOver{tenon::test::from_fake_address(launch.workspace<char>()),
                                       launch.workspace_bytes()});
    tenon::test::enqueue(
        launch,
        tenon::test::run_add,
        AddArguments{KeptView(launch[0]), KeptView(launch[1]), KeptView(launch[2]), 1});
  }
};

}  // namespace

TENON_PLUGIN(tenon::plugin("lies", "1.0.0")
                 .kernels<Add<kHonest, tenon::test::run_add>,
                          Add<kOver2, over2>,
                          Add<kFarOver, far_over>,
                          Add<kUnder1, under1>,
                          Add<kNowrite, nowrite>,
                          Add<kLeavesLast, leaves_last>,
                          Add<kChangesInput, changes_input>,
                          Add<kFillsGap, fills_gap>,
                          Add<kFlushes, flushes>,
                          Add<kRoundsUp, rounds_up>,
                          Add<kTraps, traps>,
                          AddOverWorkspace>());
