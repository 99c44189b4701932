// RMSNormFwdOp, LayerNormFwdOp and SoftmaxFwdOp: rows held on the chip where they fit, any rows
// otherwise.
#include "kernels/rows.hpp"

#include <limits>

#include "host/arguments.hpp"
#include "tenon/contracts/norm.h"
#include "tenon/contracts/reduction.h"

namespace tenon::gpu {
namespace {

/// What eps of an RMS norm is where a call gives none: that of the type of its statistics.
constexpr double kDefaultEps = std::numeric_limits<float>::epsilon();

Refusal refuse_odd(std::int64_t n, ElementType dtype) {
  if (n % per_access(dtype) != 0)
    return refuse("n", multiple_of(per_access(dtype)), n).because("rows of whole vectors");
  return serves;
}

/// Rows of whole vectors that a block's registers hold.
Refusal refuse_long_or_odd(std::int64_t n, ElementType dtype) {
  const std::int64_t most = kMostRowBytes / static_cast<std::int64_t>(dtype.size_bytes());
  if (n > most) return refuse("n", at_most(most), n).because("a row must fit into registers");
  return refuse_odd(n, dtype);
}

template <class Call>
struct OnChip : GpuKernel<Call> {
  static constexpr auto key = "on_chip";
  static constexpr std::array preferred_over{"general"};
  static constexpr auto dtypes = kFloats;
  static constexpr ElementType accumulate = kFloat32;
};

template <class Call>
struct General : GpuKernel<Call> {
  static constexpr auto key = "general";
  static constexpr bool general = true;
  static constexpr auto dtypes = kFloats;
  static constexpr std::uint32_t layouts = kAllLayouts;
  static constexpr ElementType accumulate = kFloat32;
};

DenseRows dense_rows(const Launch& launch, std::size_t output) {
  const ArgView out = launch[output];
  DenseRows rows;
  rows.x = launch[0].data();
  rows.out = out.data();
  rows.row_count = out.size(0);
  rows.n = out.size(1);
  rows.unit_count = launch.device().unit_count();
  return rows;
}

StridedRows strided_rows(const Launch& launch, std::size_t output) {
  const ArgView x = launch[0];
  const ArgView out = launch[output];
  StridedRows rows;
  rows.x = x.data();
  rows.out = out.data();
  rows.outer = out.size(0);
  rows.n = out.size(1);
  for (std::size_t axis = 0; axis < out.rank(); ++axis) {
    // Strides of axes of size 1 mean nothing.
    rows.x_strides[axis] = out.size(axis) == 1 ? 0 : x.stride(axis);
    rows.out_strides[axis] = out.size(axis) == 1 ? 0 : out.stride(axis);
  }
  if (out.rank() == 3) rows.inner = out.size(2);
  return rows;
}

std::int64_t stride_of_vector(const ArgView& vector) {
  return vector.present() && vector.size(0) > 1 ? vector.stride(0) : 0;
}

struct RmsNormOnChip : OnChip<contracts::rms_norm_fwd::Call> {
  static constexpr auto op = "RMSNormFwdOp", interface = "rms_norm_fwd";

  static Refusal refusal(const Call& call, const ArgFacts& args) {
    if (const Refusal refused = refuse_long_or_odd(call.n, call.dtype)) return refused;
    return refuse_unaligned(args);
  }

  static void launch(const Launch& launch) {
    DenseRows rows = dense_rows(launch, 2);
    if (rows.row_count == 0 || rows.n == 0) return;
    rows.weight = launch[1].data_or_null();
    rows.eps = static_cast<float>(launch.call<Call>().eps.value_or(kDefaultEps));
    on_device(launch, "launching rms_norm", [&] {
      launch_rms_norm_on_chip(element_of(launch[2].dtype()), rows, stream_of(launch));
    });
  }
};

struct RmsNormGeneral : General<contracts::rms_norm_fwd::Call> {
  static constexpr auto op = "RMSNormFwdOp", interface = "rms_norm_fwd";

  static void launch(const Launch& launch) {
    StridedRows rows = strided_rows(launch, 2);
    if (rows.outer == 0 || rows.n == 0) return;
    rows.weight = launch[1].data_or_null();
    rows.weight_stride = stride_of_vector(launch[1]);
    rows.eps = static_cast<float>(launch.call<Call>().eps.value_or(kDefaultEps));
    on_device(launch, "launching rms_norm", [&] {
      launch_rms_norm_strided(element_of(launch[2].dtype()), rows, stream_of(launch));
    });
  }
};

struct LayerNormOnChip : OnChip<contracts::layer_norm_fwd::Call> {
  static constexpr auto op = "LayerNormFwdOp", interface = "layer_norm_fwd";

  static Refusal refusal(const Call& call, const ArgFacts& args) {
    if (const Refusal refused = refuse_long_or_odd(call.n, call.dtype)) return refused;
    return refuse_unaligned(args);
  }

  static void launch(const Launch& launch) {
    DenseRows rows = dense_rows(launch, 3);
    if (rows.row_count == 0 || rows.n == 0) return;
    rows.weight = launch[1].data_or_null();
    rows.bias = launch[2].data_or_null();
    rows.eps = static_cast<float>(launch.call<Call>().eps);
    on_device(launch, "launching layer_norm", [&] {
      launch_layer_norm_on_chip(element_of(launch[3].dtype()), rows, stream_of(launch));
    });
  }
};

struct LayerNormGeneral : General<contracts::layer_norm_fwd::Call> {
  static constexpr auto op = "LayerNormFwdOp", interface = "layer_norm_fwd";

  static void launch(const Launch& launch) {
    StridedRows rows = strided_rows(launch, 3);
    if (rows.outer == 0 || rows.n == 0) return;
    rows.weight = launch[1].data_or_null();
    rows.weight_stride = stride_of_vector(launch[1]);
    rows.bias = launch[2].data_or_null();
    rows.bias_stride = stride_of_vector(launch[2]);
    rows.eps = static_cast<float>(launch.call<Call>().eps);
    on_device(launch, "launching layer_norm", [&] {
      launch_layer_norm_strided(element_of(launch[3].dtype()), rows, stream_of(launch));
    });
  }
};

struct SoftmaxOnChip : OnChip<contracts::softmax_fwd::Call> {
  static constexpr auto op = "SoftmaxFwdOp", interface = "softmax_fwd";
  static constexpr std::array preferred_over{"split", "general"};

  static Refusal refusal(const Call& call, const ArgFacts& args) {
    if (call.inner != 1) return refuse("inner", equal_to(1), call.inner);
    if (const Refusal refused = refuse_long_or_odd(call.n, call.dtype)) return refused;
    return refuse_unaligned(args);
  }

  static void launch(const Launch& launch) {
    const DenseRows rows = dense_rows(launch, 1);
    if (rows.row_count == 0 || rows.n == 0) return;
    on_device(launch, "launching softmax", [&] {
      launch_softmax_on_chip(element_of(launch[1].dtype()), rows, stream_of(launch));
    });
  }
};

/// Rows that are too long for the chip, each by several blocks where there are few.
class SoftmaxSplit : public GpuKernel<contracts::softmax_fwd::Call> {
 public:
  static constexpr auto op = "SoftmaxFwdOp", interface = "softmax_fwd", key = "split";
  static constexpr std::array preferred_over{"general"};
  static constexpr auto dtypes = kFloats;
  static constexpr ElementType accumulate = kFloat32;

  explicit SoftmaxSplit(BuildContext& context) : unit_count_(context.device().unit_count()) {}

  static Refusal refusal(const Call& call, const ArgFacts& args) {
    if (call.inner != 1) return refuse("inner", equal_to(1), call.inner);
    if (const Refusal refused = refuse_odd(call.n, call.dtype)) return refused;
    return refuse_unaligned(args);
  }

  [[nodiscard]] std::uint64_t workspace_bytes(const Call& call) const {
    return softmax_split_workspace_bytes(
        call.outer, call.n * static_cast<std::int64_t>(call.dtype.size_bytes()), unit_count_);
  }

  void launch(const Launch& launch) const {
    DenseRows rows = dense_rows(launch, 1);
    if (rows.row_count == 0 || rows.n == 0) return;
    rows.unit_count = unit_count_;
    if (launch.workspace_bytes() < workspace_bytes(launch.call<Call>())) {
      throw Failure(TENON_INVALID_ARGUMENT, "the workspace is smaller than this kernel asked for");
    }
    on_device(launch, "launching softmax", [&] {
      launch_softmax_split(
          element_of(launch[1].dtype()), rows, launch.workspace(), stream_of(launch));
    });
  }

 private:
  std::uint32_t unit_count_;
};

struct SoftmaxGeneral : General<contracts::softmax_fwd::Call> {
  static constexpr auto op = "SoftmaxFwdOp", interface = "softmax_fwd";

  static void launch(const Launch& launch) {
    const StridedRows rows = strided_rows(launch, 1);
    if (rows.outer == 0 || rows.n == 0 || rows.inner == 0) return;
    on_device(launch, "launching softmax", [&] {
      launch_softmax_strided(element_of(launch[1].dtype()), rows, stream_of(launch));
    });
  }
};

}  // namespace

KernelRows row_kernels() {
  return kernel_rows<RmsNormOnChip,
                     RmsNormGeneral,
                     LayerNormOnChip,
                     LayerNormGeneral,
                     SoftmaxOnChip,
                     SoftmaxSplit,
                     SoftmaxGeneral>();
}

}  // namespace tenon::gpu
