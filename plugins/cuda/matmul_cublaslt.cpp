// MatMulFwdOp through cuBLASLt.
//
// The library's matrices lie in columns. Our output [m, n] in rows is its [n, m], so the product is
// turned around: out^T = b^T a^T, with b as its A and a as its B.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "cublaslt.hpp"
#include "host/product.hpp"
#include "tenon/contracts/matmul.h"

namespace tenon::cuda {
namespace {

using gpu::Product;

constexpr std::uint64_t kMostWorkspace = 32ULL << 20;

cudaDataType_t type_of(ElementType dtype) {
  if (dtype == kFloat16) return CUDA_R_16F;
  if (dtype == kBFloat16) return CUDA_R_16BF;
  return CUDA_R_32F;
}

/// One operand as the library sees it.
struct Matrix {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::int64_t leading = 0;       ///< elements between columns
  std::int64_t batch_stride = 0;  ///< elements
  bool transposed = false;
  friend bool operator==(const Matrix& a, const Matrix& b) {
    return a.rows == b.rows && a.columns == b.columns && a.leading == b.leading &&
           a.batch_stride == b.batch_stride && a.transposed == b.transposed;
  }
};

/// A matrix of `lines` by `items` with these strides, if one of its axes is adjacent and the other
/// one leaves no overlap. In the library's words it has `items` rows, unless it is transposed.
std::optional<Matrix> matrix_of(std::int64_t lines,
                                std::int64_t items,
                                const std::int64_t (&strides)[2]) {
  const auto fits = [](std::int64_t inner,
                       std::int64_t inner_stride,
                       std::int64_t outer,
                       std::int64_t outer_stride) {
    return (inner == 1 || inner_stride == 1) && (outer == 1 || outer_stride >= inner);
  };
  if (fits(items, strides[1], lines, strides[0])) {
    return Matrix{static_cast<std::uint64_t>(items),
                  static_cast<std::uint64_t>(lines),
                  std::max(strides[0], items),
                  0,
                  false};
  }
  if (fits(lines, strides[0], items, strides[1])) {
    return Matrix{static_cast<std::uint64_t>(lines),
                  static_cast<std::uint64_t>(items),
                  std::max(strides[1], lines),
                  0,
                  true};
  }
  return std::nullopt;
}

/// A product in the library's terms: A is our b, B our a, D our output.
struct Problem {
  Matrix a, b, d;
  std::int32_t batch_count = 1;
  cudaDataType_t type = CUDA_R_32F;
  std::array<std::uint32_t, 3> align_bytes{};  ///< of a, b, d
  friend bool operator==(const Problem& x, const Problem& y) {
    return x.a == y.a && x.b == y.b && x.d == y.d && x.batch_count == y.batch_count &&
           x.type == y.type && x.align_bytes == y.align_bytes;
  }
};

/// Descriptors and the algorithm for one problem.
class Plan {
 public:
  /// Null where the library has no algorithm for the problem.
  static std::unique_ptr<Plan> make(cublasLtHandle_t handle, const Problem& problem) {
    std::unique_ptr<Plan> plan(new Plan(problem));
    return plan->choose(handle) ? std::move(plan) : nullptr;
  }

  ~Plan() {
    const CublasLt& lt = cublaslt();
    for (auto* layout : {a_, b_, d_}) {
      if (layout != nullptr) static_cast<void>(lt.layout_destroy(layout));
    }
    if (desc_ != nullptr) static_cast<void>(lt.desc_destroy(desc_));
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] std::uint64_t workspace_bytes() const { return choice_.workspaceSize; }

  void run(cublasLtHandle_t handle,
           const void* a,
           const void* b,
           void* d,
           void* workspace,
           std::uint64_t workspace_bytes,
           int device_index,
           cudaStream_t stream) const {
    const float one = 1;
    const float none = 0;
    check_cublaslt(cublaslt().matmul(handle,
                                     desc_,
                                     &one,
                                     a,
                                     a_,
                                     b,
                                     b_,
                                     &none,
                                     d,
                                     d_,
                                     d,
                                     d_,
                                     &choice_.algo,
                                     workspace,
                                     std::min(workspace_bytes, choice_.workspaceSize),
                                     stream),
                   "launching matmul",
                   device_index,
                   stream);
  }

 private:
  explicit Plan(const Problem& problem) : problem_(problem) {}

  bool choose(cublasLtHandle_t handle) {
    const CublasLt& lt = cublaslt();
    const Problem& problem = problem_;
    check_cublaslt(lt.desc_create(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing a product");
    set_transposed(CUBLASLT_MATMUL_DESC_TRANSA, problem.a.transposed);
    set_transposed(CUBLASLT_MATMUL_DESC_TRANSB, problem.b.transposed);
    a_ = layout(problem.a);
    b_ = layout(problem.b);
    d_ = layout(problem.d);
    cublasLtMatmulPreference_t preference = nullptr;
    check_cublaslt(lt.preference_create(&preference), "describing a preference");
    const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, decltype(lt.preference_destroy)> owned(
        preference, lt.preference_destroy);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      check_cublaslt(lt.preference_set(preference, attribute, &value, sizeof(value)),
                     "describing a preference");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
    // Parts of a sum are added as float, not in the output's type: it is rounded once.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_NONE |
                                      CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, problem.align_bytes[0]);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, problem.align_bytes[1]);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, problem.align_bytes[2]);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, problem.align_bytes[2]);
    int found = 0;
    const cublasStatus_t status =
        lt.heuristic(handle, desc_, a_, b_, d_, d_, preference, 1, &choice_, &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return false;
    check_cublaslt(status, "choosing an algorithm");
    return found > 0;
  }
  void set_transposed(cublasLtMatmulDescAttributes_t attribute, bool transposed) {
    const cublasOperation_t operation = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check_cublaslt(cublaslt().desc_set(desc_, attribute, &operation, sizeof(operation)),
                   "describing a product");
  }
  cublasLtMatrixLayout_t layout(const Matrix& matrix) {
    const CublasLt& lt = cublaslt();
    cublasLtMatrixLayout_t out = nullptr;
    check_cublaslt(
        lt.layout_create(&out, problem_.type, matrix.rows, matrix.columns, matrix.leading),
        "describing a matrix");
    if (problem_.batch_count > 1) {
      check_cublaslt(lt.layout_set(out,
                                   CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                   &problem_.batch_count,
                                   sizeof(problem_.batch_count)),
                     "describing a matrix");
      check_cublaslt(lt.layout_set(out,
                                   CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                   &matrix.batch_stride,
                                   sizeof(matrix.batch_stride)),
                     "describing a matrix");
    }
    return out;
  }

  Problem problem_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr;
  cublasLtMatrixLayout_t b_ = nullptr;
  cublasLtMatrixLayout_t d_ = nullptr;
  cublasLtMatmulHeuristicResult_t choice_{};
};

/// Plans for the usual memory orders (each operand dense, as it is or transposed) are made once;
/// for others at each launch, which costs the host some time. Strides that the library cannot
/// express go to the plain kernel.
class MatMulCublasLt : public gpu::GpuKernel<contracts::matmul_fwd::Call> {
 public:
  static constexpr auto op = "MatMulFwdOp", interface = "matmul_fwd", key = "cublaslt";
  static constexpr std::array preferred_over{"general"};
  static constexpr auto dtypes = gpu::kFloats;
  static constexpr std::uint32_t layouts = kInner | kStrided | kExpanded;
  static constexpr ElementType accumulate = kFloat32;
  static constexpr bool sequential_sums = true;  // in an order that the library does not state

  static Refusal refusal(const Call& call) {
    if (call.k == 0) return refuse("k", at_least(1), call.k);
    if (!cublaslt().is_there())
      return refuse(TENON_REASON_LIBRARY, "needs cuBLASLt: " + cublaslt().missing);
    return serves;
  }

  static auto identity(const Call& call, const ArgFacts& args) {
    return std::tuple(batch_of(call),
                      call.m,
                      call.k,
                      call.n,
                      call.dtype,
                      align(args, 0),
                      align(args, 1),
                      align(args, 2));
  }

  MatMulCublasLt(const Call& call, BuildContext& context)
      : type_(type_of(call.dtype)),
        handle_(cublaslt_handle(context.device().index())),
        align_{align(context.args(), 1), align(context.args(), 0), align(context.args(), 2)} {
    const gpu::Current current(context.device().index());
    const std::int64_t batch = batch_of(call);
    if (batch == 0 || call.m == 0 || call.n == 0) return;
    for (const bool a_transposed : {false, true}) {
      for (const bool b_transposed : {false, true}) {
        const auto problem = dense_problem(call, batch, a_transposed, b_transposed);
        if (!problem) continue;
        const bool known =
            std::any_of(plans_.begin(), plans_.end(), [&](const std::unique_ptr<Plan>& plan) {
              return plan != nullptr && plan->problem() == *problem;
            });
        auto plan = known ? nullptr : Plan::make(handle_, *problem);
        if (plan != nullptr) plans_[count_++] = std::move(plan);
      }
    }
  }

  ~MatMulCublasLt() {
    for (const std::atomic<const Plan*>& slot : later_) delete slot.load(std::memory_order_acquire);
  }
  MatMulCublasLt(const MatMulCublasLt&) = delete;
  MatMulCublasLt& operator=(const MatMulCublasLt&) = delete;

  /// That of the plans made here; a plan made at a launch may ask for all of it, too.
  [[nodiscard]] static std::uint64_t workspace_bytes() { return kMostWorkspace; }

  void launch(const Launch& launch) const {
    const Product product = gpu::product_of(launch);
    if (product.batch.count == 0 || product.m == 0 || product.n == 0) return;
    const gpu::Current current(launch.device().index());
    gpu::require_stream_of(launch.device().index(), gpu::stream_of(launch));
    const bool one_step = product.batch.rank <= 1;
    const std::optional<Problem> problem = problem_of(product, one_step);
    const bool done = problem && (one_step ? run(*problem, product, launch)
                                           : run_one_by_one(*problem, product, launch));
    if (done) return;
    const gpu::Status pending = gpu::pending_error();
    gpu::launch_matmul_tiles(gpu::element_of(launch[2].dtype()), product, gpu::stream_of(launch));
    gpu::check_launch("launching matmul", launch.device().index(), pending);
  }

 private:
  static std::int64_t batch_of(const Call& call) {
    std::int64_t count = 1;
    for (const std::int64_t size : call.batch) count *= size;
    return count;
  }
  static std::uint32_t align(const ArgFacts& args, std::size_t index) {
    return std::min(args.align_bytes(index), 256U);
  }

  [[nodiscard]] std::optional<Problem> dense_problem(const Call& call,
                                                     std::int64_t batch,
                                                     bool a_transposed,
                                                     bool b_transposed) const {
    Product product;
    product.m = call.m;
    product.k = call.k;
    product.n = call.n;
    const auto dense =
        [](std::int64_t(&strides)[2], std::int64_t lines, std::int64_t items, bool transposed) {
          strides[0] = lines == 1 ? 0 : (transposed ? 1 : items);
          strides[1] = items == 1 ? 0 : (transposed ? lines : 1);
        };
    dense(product.a_strides, call.m, call.k, a_transposed);
    dense(product.b_strides, call.k, call.n, b_transposed);
    dense(product.out_strides, call.m, call.n, false);
    product.batch.count = batch;
    if (batch > 1) {
      product.batch.rank = 1;
      product.batch.sizes[0] = batch;
      product.batch.strides[0][0] = call.m * call.k;
      product.batch.strides[1][0] = call.k * call.n;
      product.batch.strides[2][0] = call.m * call.n;
    }
    return problem_of(product, true);
  }

  [[nodiscard]] std::optional<Problem> problem_of(const Product& product, bool batched) const {
    const auto a = matrix_of(product.k, product.n, product.b_strides);
    const auto b = matrix_of(product.m, product.k, product.a_strides);
    const auto d = matrix_of(product.m, product.n, product.out_strides);
    if (!a || !b || !d || d->transposed) return std::nullopt;
    Problem problem;
    problem.a = *a;
    problem.b = *b;
    problem.d = *d;
    problem.type = type_;
    problem.align_bytes = align_;
    if (batched && product.batch.rank == 1) {
      constexpr std::int64_t kMostBatches = 65535;
      if (product.batch.count > kMostBatches) return std::nullopt;
      problem.batch_count = static_cast<std::int32_t>(product.batch.count);
      problem.b.batch_stride = product.batch.strides[0][0];
      problem.a.batch_stride = product.batch.strides[1][0];
      problem.d.batch_stride = product.batch.strides[2][0];
      if (problem.b.batch_stride < 0 || problem.a.batch_stride < 0) return std::nullopt;
      lower_align(problem.align_bytes[0], problem.a.batch_stride);
      lower_align(problem.align_bytes[1], problem.b.batch_stride);
      lower_align(problem.align_bytes[2], problem.d.batch_stride);
    }
    return problem;
  }

  /// Each matrix of a batch begins where the stride puts it.
  void lower_align(std::uint32_t& align_bytes, std::int64_t stride) const {
    const std::int64_t stride_bytes = stride * (type_ == CUDA_R_32F ? 4 : 2);
    while (align_bytes > 1 && stride_bytes % align_bytes != 0) align_bytes /= 2;
  }

  /// False where the library has no algorithm.
  bool run(const Problem& problem, const Product& product, const Launch& launch) const {
    const auto start = [&](const Plan& plan) {
      plan.run(handle_,
               product.b,
               product.a,
               product.out,
               launch.workspace(),
               launch.workspace_bytes(),
               launch.device().index(),
               gpu::stream_of(launch));
      return true;
    };
    for (std::size_t i = 0; i < count_; ++i) {
      if (plans_[i]->problem() == problem) return start(*plans_[i]);
    }
    const Planned planned = plan_for(problem);
    return planned.plan != nullptr && start(*planned.plan);
  }

  /// A plan, and its owner where nothing else keeps it.
  struct Planned {
    const Plan* plan = nullptr;
    std::unique_ptr<Plan> owned;
  };
  /// That of other strides than the dense ones: the first few are kept, never replaced, so that
  /// launches find them without a lock and without allocating.
  Planned plan_for(const Problem& problem) const {
    for (const std::atomic<const Plan*>& slot : later_) {
      const Plan* known = slot.load(std::memory_order_acquire);
      if (known == nullptr) break;
      if (known->problem() == problem) return {known, nullptr};
    }
    auto made = Plan::make(handle_, problem);
    if (made == nullptr) return {};
    for (std::atomic<const Plan*>& slot : later_) {
      const Plan* none = nullptr;
      if (slot.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel))
        return {made.release(), nullptr};
    }
    const Plan* const plan = made.get();
    return {plan, std::move(made)};
  }

  bool run_one_by_one(const Problem& problem, const Product& product, const Launch& launch) const {
    // Each matrix begins somewhere else, so only the elements' own alignment is sure.
    Problem single = problem;
    const auto element_bytes = static_cast<std::int64_t>(launch[2].dtype().size_bytes());
    single.align_bytes.fill(static_cast<std::uint32_t>(element_bytes));
    const Planned planned = plan_for(single);
    const Plan* const plan = planned.plan;
    if (plan == nullptr) return false;
    for (std::int64_t batch = 0; batch < product.batch.count; ++batch) {
      std::int64_t rest = batch;
      std::array<std::int64_t, 3> start{};
      for (int axis = product.batch.rank - 1; axis >= 0; --axis) {
        const std::int64_t at = rest % product.batch.sizes[axis];
        rest /= product.batch.sizes[axis];
        for (std::size_t k = 0; k < start.size(); ++k)
          start[k] += at * product.batch.strides[k][axis] * element_bytes;
      }
      plan->run(handle_,
                static_cast<const char*>(product.b) + start[1],
                static_cast<const char*>(product.a) + start[0],
                static_cast<char*>(product.out) + start[2],
                launch.workspace(),
                launch.workspace_bytes(),
                launch.device().index(),
                gpu::stream_of(launch));
    }
    return true;
  }

  cudaDataType_t type_;
  cublasLtHandle_t handle_;
  std::array<std::uint32_t, 3> align_;  ///< of the library's A, B and D
  std::array<std::unique_ptr<Plan>, 4> plans_;
  std::size_t count_ = 0;
  mutable std::array<std::atomic<const Plan*>, 16> later_{};  ///< owned
};

}  // namespace

KernelRows cublaslt_kernels() { return kernel_rows<MatMulCublasLt>(); }

}  // namespace tenon::cuda
