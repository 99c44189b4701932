// SumFwdOp: along dense rows, and for any strides.
#include "kernels/sum.hpp"

#include "host/arguments.hpp"
#include "tenon/contracts/reduction.h"

namespace tenon::gpu {
namespace {

std::int64_t product(Span<const std::int64_t> sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

class SumKernel : public GpuKernel<contracts::sum_fwd::Call> {
 public:
  static constexpr auto op = "SumFwdOp", interface = "sum_fwd";
  static constexpr auto dtypes = kNumbers;
  static constexpr ElementType accumulate = kFloat32;

  explicit SumKernel(BuildContext& context) : unit_count_(context.device().unit_count()) {}

  [[nodiscard]] std::uint64_t workspace_bytes(const Call& call) const {
    return sum_workspace_bytes(product(call.kept), product(call.axes), unit_count_);
  }

 protected:
  [[nodiscard]] Sums sums_of(const Launch& launch) const {
    const ArgView x = launch[0];
    const ArgView out = launch[1];
    Sums sums;
    sums.x = x.data();
    sums.out = out.data();
    sums.kept = merged_axes<2>({x, out}, 0, out.rank());
    sums.summed = merged_axes<1>({x}, out.rank(), x.rank());
    sums.unit_count = unit_count_;
    sums.workspace = launch.workspace();
    const std::uint64_t needed =
        sum_workspace_bytes(sums.kept.count, sums.summed.count, unit_count_);
    if (launch.workspace_bytes() < needed) {
      throw Failure(TENON_INVALID_ARGUMENT, "the workspace is smaller than this kernel asked for");
    }
    return sums;
  }

 private:
  std::uint32_t unit_count_;
};

class SumRows : public SumKernel {
 public:
  static constexpr auto key = "rows";
  static constexpr std::array preferred_over{"general"};
  using SumKernel::SumKernel;

  static Refusal refusal(const Call& call, const ArgFacts& args) {
    const std::int64_t n = product(call.axes);
    if (n == 0) return refuse("n", at_least(1), n);
    // Short ones: a group of lanes to each, and what is no whole vector comes one by one.
    constexpr std::int64_t kLong = 64;
    if (n % per_access(call.dtype) != 0 && n < kLong) {
      return refuse("n", multiple_of(per_access(call.dtype)), n)
          .because("rows of whole vectors, or of 64 elements and more");
    }
    if (args.align_bytes(0) < kAccessBytes) {
      return refuse("align_bytes", at_least(kAccessBytes), args.align_bytes(0))
          .with_code(TENON_REASON_ALIGNMENT)
          .at_argument(0);
    }
    return serves;
  }

  void launch(const Launch& launch) const {
    const Sums sums = sums_of(launch);
    if (sums.kept.count == 0) return;
    on_device(launch, "launching sum", [&] {
      launch_sum_rows(element_of(launch[1].dtype()), sums, stream_of(launch));
    });
  }
};

class SumGeneral : public SumKernel {
 public:
  static constexpr auto key = "general";
  static constexpr bool general = true;
  static constexpr std::uint32_t layouts = kAllLayouts;
  using SumKernel::SumKernel;

  void launch(const Launch& launch) const {
    const Sums sums = sums_of(launch);
    if (sums.kept.count == 0) return;
    on_device(launch, "launching sum", [&] {
      launch_sum_strided(element_of(launch[1].dtype()), sums, stream_of(launch));
    });
  }
};

}  // namespace

KernelRows sum_kernels() { return kernel_rows<SumRows, SumGeneral>(); }

}  // namespace tenon::gpu
