// Tests of units in the last place, bounds and the comparison under them.
#include "bound.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace tenon;
using tenon::cli::Bound;
using tenon::cli::bound_of;
using tenon::cli::compare;
using tenon::cli::epsilon_of;
using tenon::cli::SumFacts;
using tenon::cli::ulp_at;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor tensor_of(DType dtype, const std::vector<double>& values) {
  auto tensor = Tensor::host(dtype, Dims{static_cast<std::int64_t>(values.size())});
  REQUIRE(tensor.has_value());
  for (std::size_t i = 0; i < values.size(); ++i) {
    store_from_double(dtype, tensor->view().first() + i * size_bytes_of(dtype), values[i]);
  }
  return *tensor;
}

OpDecl decl_of(const char* model, const char* schema) {
  OpDecl decl;
  decl.error_model = model;
  decl.schema_name = schema;
  return decl;
}

TEST_SUITE("cli/bound") {
  TEST_CASE("a unit in the last place is the step to the next value") {
    CHECK(ulp_at(DType::kFloat32, 1.0) == std::ldexp(1.0, -23));
    CHECK(ulp_at(DType::kFloat32, 1.0) == std::nextafter(1.0f, 2.0f) - 1.0f);
    CHECK(ulp_at(DType::kFloat64, 3.0) == std::nextafter(3.0, 4.0) - 3.0);
    CHECK(ulp_at(DType::kBFloat16, -2.0) == std::ldexp(1.0, -6));
    CHECK(ulp_at(DType::kFloat16, 0.0) == std::ldexp(1.0, -24));
    CHECK(ulp_at(DType::kFloat16, 1e-30) == float16_to(1));
    CHECK(ulp_at(DType::kFloat8E4M3FN, 1.0) == 0.125);
    CHECK(ulp_at(DType::kFloat8E5M2, 1.0) == 0.25);
    CHECK(ulp_at(DType::kInt32, 1000) == 1);
    CHECK(epsilon_of(DType::kBFloat16) == std::ldexp(1.0, -7));
  }

  TEST_CASE("the bound follows the error model, the dtype and the function") {
    CHECK(bound_of(decl_of("pointwise", "add"), DType::kFloat32, {}).c == 0.5);
    CHECK(bound_of(decl_of("pointwise", "gelu_fwd"), DType::kFloat32, {}).c == 8);
    CHECK(bound_of(decl_of("pointwise", "gelu_fwd"), DType::kBFloat16, {}).c == 1);
    CHECK(bound_of(decl_of("norm", "rms_norm_fwd"), DType::kFloat64, {}).c == 8);
    CHECK(bound_of(decl_of("norm", "rms_norm_fwd"), DType::kFloat64, {}).g == 0);
    CHECK(bound_of(decl_of("", "add"), DType::kInt32, {}).c == 0);
    CHECK(bound_of(decl_of("", "add"), DType::kInt32, {}).at(DType::kInt32, 5, 0) == 0);
  }

  TEST_CASE("sums are held to their number of terms and the dtype in which they are made") {
    const Bound tree =
        bound_of(decl_of("sum", "sum_fwd"), DType::kBFloat16, {1024, DType::kFloat32, false});
    CHECK(tree.g == 20);
    CHECK(tree.eps == epsilon_of(DType::kFloat32));

    const Bound sequential =
        bound_of(decl_of("dot", "matmul_fwd"), DType::kFloat32, {1000, std::nullopt, true});
    CHECK(sequential.g == 1000);
    CHECK(sequential.eps == epsilon_of(DType::kFloat32));
  }

  TEST_CASE("the worst element is found with its error in units of the result's dtype") {
    const Tensor got = tensor_of(DType::kFloat32, {1.0, 2.0 + std::ldexp(3.0, -22), -4.0});
    const Tensor ref = tensor_of(DType::kFloat64, {1.0, 2.0, -4.0});

    const auto wide = compare(got, ref, nullptr, Bound{4, 0, 0});
    CHECK(wide.ok);
    CHECK(wide.max_ulp == 3);
    CHECK(wide.worst_index == 1);
    CHECK(wide.max_abs == std::ldexp(3.0, -22));
    CHECK(wide.max_rel == std::ldexp(3.0, -23));

    const auto narrow = compare(got, ref, nullptr, Bound{2, 0, 0});
    CHECK_FALSE(narrow.ok);
    CHECK(narrow.wrong_count == 1);
  }

  TEST_CASE("the sum of the absolute terms widens the bound where a sum cancels") {
    const Tensor got = tensor_of(DType::kFloat32, {1e-5});
    const Tensor ref = tensor_of(DType::kFloat64, {0.0});
    const Tensor terms = tensor_of(DType::kFloat64, {1000.0});
    const Bound bound{0.5, 2, epsilon_of(DType::kFloat32)};

    CHECK(compare(got, ref, &terms.view(), bound).ok);
    CHECK_FALSE(compare(got, ref, nullptr, bound).ok);
  }

  TEST_CASE("NaN agrees with NaN only") {
    const Bound bound{1, 0, 0};
    CHECK(
        compare(
            tensor_of(DType::kFloat16, {kNan}), tensor_of(DType::kFloat64, {kNan}), nullptr, bound)
            .ok);
    CHECK_FALSE(
        compare(tensor_of(DType::kFloat16, {kNan}), tensor_of(DType::kFloat64, {1}), nullptr, bound)
            .ok);
    CHECK_FALSE(
        compare(tensor_of(DType::kFloat16, {1}), tensor_of(DType::kFloat64, {kNan}), nullptr, bound)
            .ok);
  }

  TEST_CASE("an infinity agrees with what rounds to it") {
    const Bound bound{1, 0, 0};
    CHECK(compare(
              tensor_of(DType::kFloat16, {kInf}), tensor_of(DType::kFloat64, {1e6}), nullptr, bound)
              .ok);
    CHECK_FALSE(
        compare(
            tensor_of(DType::kFloat16, {kInf}), tensor_of(DType::kFloat64, {100}), nullptr, bound)
            .ok);
    CHECK_FALSE(
        compare(
            tensor_of(DType::kFloat16, {kInf}), tensor_of(DType::kFloat64, {-kInf}), nullptr, bound)
            .ok);
  }

  TEST_CASE("integers must be equal") {
    const Bound bound = bound_of(decl_of("pointwise", "add"), DType::kInt32, {});
    CHECK(compare(tensor_of(DType::kInt32, {5}), tensor_of(DType::kInt32, {5}), nullptr, bound).ok);
    CHECK_FALSE(
        compare(tensor_of(DType::kInt32, {5}), tensor_of(DType::kInt32, {6}), nullptr, bound).ok);
  }

  TEST_CASE("tensors without elements agree") {
    const auto check =
        compare(tensor_of(DType::kFloat32, {}), tensor_of(DType::kFloat64, {}), nullptr, {});
    CHECK(check.ok);
    CHECK(check.worst_index == -1);
  }
}

}  // namespace
