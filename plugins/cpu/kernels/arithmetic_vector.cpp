// AddFwdOp and MulFwdOp in vector code, along runs of whatever strides the operands have.
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/row_sums.hpp"
#include "kernels/runs.hpp"
#include "kernels/vector_kernel.hpp"
#include "tenon/contracts/elementwise.h"

namespace tenon::cpu {
namespace {

/// self + other.
struct Plus {
  template <class T>
  [[gnu::always_inline]] static T of(T a, T b, double /*alpha*/, std::int64_t /*factor*/) {
    if constexpr (std::is_same_v<T, double>) {
      return a + b;
    } else if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
      return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
    } else {
      return narrow_branch_free<T>(as_double(a) + as_double(b));
    }
  }
};

/// self + alpha * other. Of doubles with one rounding; narrower types have room for the product's.
struct PlusScaled {
  template <class T>
  [[gnu::always_inline]] static T of(T a, T b, double alpha, std::int64_t factor) {
    if constexpr (std::is_same_v<T, double>) {
      return __builtin_fma(alpha, b, a);
    } else if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
      return static_cast<T>(static_cast<Wide>(a) +
                            static_cast<Wide>(factor) * static_cast<Wide>(b));
    } else {
      return narrow_branch_free<T>(as_double(a) + alpha * as_double(b));
    }
  }
};

/// self * other.
struct Times {
  template <class T>
  [[gnu::always_inline]] static T of(T a, T b, double /*alpha*/, std::int64_t /*factor*/) {
    if constexpr (std::is_same_v<T, double>) {
      return a * b;
    } else if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
      return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
    } else {
      return narrow_branch_free<T>(as_double(a) * as_double(b));
    }
  }
};

/// One run; strides in elements.
template <class T>
struct Run {
  const T* a = nullptr;
  const T* b = nullptr;
  T* output = nullptr;
  std::int64_t a_stride = 0;
  std::int64_t b_stride = 0;
  std::int64_t output_stride = 0;
  std::int64_t count = 0;
  double alpha = 1;
  std::int64_t factor = 1;
};

/// The output may be the very same run as an operand: each element is read before its result is
/// written.
template <class Operation, class T>
[[gnu::always_inline]] inline void apply(const Run<T>& run) {
  const T* a = run.a;
  const T* b = run.b;
  T* output = run.output;
  if (run.a_stride == 1 && run.b_stride == 1 && run.output_stride == 1) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < run.count; ++i) {
      output[i] = Operation::template of<T>(a[i], b[i], run.alpha, run.factor);
    }
  } else if (run.a_stride == 1 && run.b_stride == 0 && run.output_stride == 1) {
    const T one = *b;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < run.count; ++i) {
      output[i] = Operation::template of<T>(a[i], one, run.alpha, run.factor);
    }
  } else if (run.a_stride == 0 && run.b_stride == 1 && run.output_stride == 1) {
    const T one = *a;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < run.count; ++i) {
      output[i] = Operation::template of<T>(one, b[i], run.alpha, run.factor);
    }
  } else {
    for (std::int64_t i = 0; i < run.count; ++i) {
      output[i * run.output_stride] = Operation::template of<T>(
          a[i * run.a_stride], b[i * run.b_stride], run.alpha, run.factor);
    }
  }
}

template <class T>
[[gnu::always_inline]] inline void plus(const Run<T>& run) {
  apply<Plus>(run);
}
template <class T>
[[gnu::always_inline]] inline void plus_scaled(const Run<T>& run) {
  apply<PlusScaled>(run);
}
template <class T>
[[gnu::always_inline]] inline void times(const Run<T>& run) {
  apply<Times>(run);
}
TENON_CPU_VARIANTS(plus, Run)
TENON_CPU_VARIANTS(plus_scaled, Run)
TENON_CPU_VARIANTS(times, Run)

/// What the two ops share: every layout, every dtype, and the loop over runs.
template <class Call>
class ArithmeticVector : public VectorKernel<Call> {
 public:
  static constexpr auto key = "vector";
  static constexpr std::uint32_t layouts = kAllLayouts;
  using VectorKernel<Call>::VectorKernel;

 protected:
  /// Calls start(run) for every run, with its operands filled in.
  template <class T, class Start>
  static void for_each_run(const Launch& launch, Run<T> run, Start start) {
    run.count = elements_if_one_run<3>(launch);
    if (run.count >= 0) {
      run.a_stride = run.b_stride = run.output_stride = 1;
      run.a = static_cast<const T*>(launch[0].data_or_null());
      run.b = static_cast<const T*>(launch[1].data_or_null());
      run.output = static_cast<T*>(launch[2].data_or_null());
      if (run.count != 0) start(run);
      return;
    }
    for_each_strided_run(launch, run, start);
  }

 private:
  template <class T, class Start>
  static void for_each_strided_run(const Launch& launch, Run<T> run, Start start) {
    const View a = view_of(launch, 0);
    const View b = view_of(launch, 1);
    const View output = view_of(launch, 2);
    require_like(a, output, "self");
    require_like(b, output, "other");
    const RunLoop<3> loop(output.sizes(), {a.steps(), b.steps(), output.steps()});
    run.count = loop.run_elements();
    run.a_stride = loop.run_stride(0);
    run.b_stride = loop.run_stride(1);
    run.output_stride = loop.run_stride(2);
    loop.for_each_run([&](const auto& at) {
      run.a = a.first_as<const T>() + at[0];
      run.b = b.first_as<const T>() + at[1];
      run.output = output.first_as<T>() + at[2];
      start(run);
    });
  }

 protected:
  /// Calls visit for the element type of the output.
  template <class Visit>
  static void visit_output(const Launch& launch, Visit visit) {
    const ElementType dtype = launch[2].dtype();
    if (visit_float(dtype, visit) || visit_integer(dtype, visit)) return;
    unknown_dtype(dtype);
  }
};

class AddVector : public ArithmeticVector<contracts::add_fwd::Call> {
 public:
  static constexpr auto op = "AddFwdOp", interface = "add_fwd";
  using ArithmeticVector::ArithmeticVector;

  void launch(const Launch& launch) const {
    // Of the call this alone: reading all of it takes longer than a small sum.
    const auto alpha = read<Number>(*launch.raw().call, contracts::add_fwd::kFieldAlpha, "alpha");
    visit_output(launch, [&]<class T>(std::type_identity<T>) {
      Run<T> run;
      run.alpha = alpha.as_double();
      run.factor = alpha.is_int() ? alpha.as_int() : 0;
      const bool scaled = run.alpha != 1;
      for_each_run<T>(launch, run, [&](const Run<T>& filled) {
        if (scaled) {
          TENON_CPU_RUN(plus_scaled, T, filled);
        } else {
          TENON_CPU_RUN(plus, T, filled);
        }
      });
    });
  }
};

class MulVector : public ArithmeticVector<contracts::mul_fwd::Call> {
 public:
  static constexpr auto op = "MulFwdOp", interface = "mul_fwd";
  using ArithmeticVector::ArithmeticVector;

  void launch(const Launch& launch) const {
    visit_output(launch, [&]<class T>(std::type_identity<T>) {
      for_each_run<T>(
          launch, Run<T>{}, [&](const Run<T>& filled) { TENON_CPU_RUN(times, T, filled); });
    });
  }
};

}  // namespace

KernelRows arithmetic_vector_kernels() { return kernel_rows<AddVector, MulVector>(); }

}  // namespace tenon::cpu
