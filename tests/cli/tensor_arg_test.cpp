// Tests of the grammar of tensor arguments.
#include "tensor_arg.hpp"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace {

using tenon::Dims;
using tenon::DType;
using tenon::cli::FillKind;
using tenon::cli::parse_tensor_argument;
using tenon::cli::TensorSource;

TensorSource parsed(std::string_view text) {
  INFO("argument: ", text);
  auto source = parse_tensor_argument(text);
  REQUIRE_MESSAGE(source.has_value(), source.error().to_string());
  return *source;
}

std::string field(const tenon::Error& error, std::string_view name) {
  for (const auto& [key, value] : error.fields()) {
    if (key == name) return value;
  }
  return {};
}

/// The argument must be refused at this column with these words.
void check_refused(std::string_view text,
                   std::string_view column,
                   std::string_view words,
                   std::string_view hint = "") {
  INFO("argument: ", text);
  const auto source = parse_tensor_argument(text);
  REQUIRE_FALSE(source.has_value());
  const tenon::Error& error = source.error();
  INFO("error: ", error.to_string());
  CHECK(error.code() == tenon::ErrorCode::kUsageError);
  CHECK(field(error, "source") == text);
  CHECK(field(error, "column") == column);
  CHECK(error.message().find(words) != std::string::npos);
  CHECK(error.hint().find(hint) != std::string::npos);
}

TEST_SUITE("cli/tensor_arg") {
  TEST_CASE("a shape and a dtype describe a dense tensor filled with normal numbers of seed 0") {
    const TensorSource x = parsed("x=2048x4096:bf16");

    CHECK(x.name == "x");
    CHECK(x.text == "2048x4096:bf16");
    CHECK_FALSE(x.is_file());
    CHECK(x.spec.dtype == DType::kBFloat16);
    CHECK(x.spec.shape == Dims{2048, 4096});
    CHECK(x.spec.strides == Dims{4096, 1});
    CHECK(x.offset_elements == 0);
    CHECK(x.storage_elements == 2048 * 4096);
    CHECK(x.fill.kind == FillKind::kNormal);
    CHECK(x.fill.seed == 0);
  }

  TEST_CASE("dtypes have the manifest's names too") {
    CHECK(parsed("x=3:float8_e4m3fn").spec.dtype == DType::kFloat8E4M3FN);
    CHECK(parsed("x=3:f8e4m3").spec.dtype == DType::kFloat8E4M3FN);
    CHECK(parsed("x=3:int64").spec.dtype == DType::kInt64);
  }

  TEST_CASE("the order in memory makes the transpose of a dense tensor") {
    const TensorSource x = parsed("x=2048x4096:bf16^1,0");

    CHECK(x.spec.shape == Dims{2048, 4096});
    CHECK(x.spec.strides == Dims{1, 2048});
    CHECK(x.storage_elements == 2048 * 4096);
  }

  TEST_CASE("the order in memory is read from outermost to innermost") {
    CHECK(parsed("x=2x3x5:f32^2,0,1").spec.strides == Dims{3, 1, 6});
    CHECK(parsed("x=2x3x5:f32^0,1,2").spec.strides == Dims{15, 5, 1});
  }

  TEST_CASE("an offset starts elements further in and lengthens the allocation") {
    const TensorSource x = parsed("x=4x5:f32+3");

    CHECK(x.offset_elements == 3);
    CHECK(x.storage_elements == 23);
    CHECK(x.spec.strides == Dims{5, 1});
  }

  TEST_CASE("a step takes every so many elements of the last axis") {
    const TensorSource x = parsed("x=4x5:f32/2");

    CHECK(x.spec.shape == Dims{4, 5});
    CHECK(x.spec.strides == Dims{10, 2});
    CHECK(x.storage_elements == 40);
  }

  TEST_CASE("a step applies to the last axis wherever it lies in memory") {
    const TensorSource x = parsed("x=4x5:f32^1,0/2");

    CHECK(x.spec.strides == Dims{1, 8});
    CHECK(x.storage_elements == 40);
  }

  TEST_CASE("a step below zero walks backwards from the far end") {
    const TensorSource x = parsed("x=4x5:f32+1/-1");

    CHECK(x.spec.strides == Dims{5, -1});
    CHECK(x.offset_elements == 1 + 4);
    CHECK(x.storage_elements == 21);
  }

  TEST_CASE("an expanded size has stride 0 and takes no memory") {
    const TensorSource x = parsed("x=8ex5:f32");

    CHECK(x.spec.shape == Dims{8, 5});
    CHECK(x.spec.strides == Dims{0, 1});
    CHECK(x.storage_elements == 5);
    CHECK(parsed("x=4x8e:f32").spec.strides == Dims{1, 0});
  }

  TEST_CASE("rank 0 is written scalar") {
    const TensorSource x = parsed("x=scalar:f64~const=2.5");

    CHECK(x.spec.shape.size() == 0);
    CHECK(x.storage_elements == 1);
    CHECK(x.fill.kind == FillKind::kConst);
    CHECK(x.fill.value == 2.5);
  }

  TEST_CASE("an empty axis leaves no elements and keeps the other strides") {
    const TensorSource x = parsed("x=0x5:f32");

    CHECK(x.spec.shape == Dims{0, 5});
    CHECK(x.spec.strides == Dims{5, 1});
    CHECK(x.storage_elements == 0);
    CHECK(parsed("x=3x0:f32").spec.strides == Dims{1, 1});
  }

  TEST_CASE("every part may be given at once") {
    const TensorSource x = parsed("x=2x3:f16^1,0+7/2~uniform@42");

    CHECK(x.spec.strides == Dims{1, 4});
    CHECK(x.offset_elements == 7);
    CHECK(x.storage_elements == 19);
    CHECK(x.fill.kind == FillKind::kUniform);
    CHECK(x.fill.seed == 42);
  }

  TEST_CASE("constants are read as numbers with exponent and sign") {
    CHECK(parsed("x=3:f32~const=-1.5e+3").fill.value == -1500);
    CHECK(parsed("x=3:f32~const=+2").fill.value == 2);
    CHECK(parsed("x=3:f32~const=inf").fill.value > 1e300);
    CHECK(parsed("x=3:u8~const=255").fill.value == 255);
  }

  TEST_CASE("a path that ends in .npy is a file, whatever else it holds") {
    const TensorSource plain = parsed("x=data/in.npy");
    CHECK(plain.is_file());
    CHECK(plain.file == "data/in.npy");
    CHECK_FALSE(plain.carried.has_value());

    CHECK(parsed("x=2x3:f32/in.npy").file == "2x3:f32/in.npy");
    CHECK(parsed("x=a=b.npy").file == "a=b.npy");
  }

  TEST_CASE("a file may name the dtype whose bits its integers carry") {
    const TensorSource x = parsed("x=in.npy:bf16");

    CHECK(x.file == "in.npy");
    CHECK(x.carried == DType::kBFloat16);
  }

  TEST_CASE("what is no tensor argument is refused at its column") {
    check_refused("x", "1", "expected name=TENSOR", "SHAPE:DTYPE");
    check_refused("=3:f32", "1", "expected name=TENSOR");
    check_refused("x=", "3", "expected a size, found the end");
    check_refused("x=:f32", "3", "expected a size, found ':'", "scalar:DTYPE");
    check_refused("x=-3:f32", "3", "expected a size, found '-'");
    check_refused("x=4x", "5", "expected a size, found the end");
    check_refused("x=20q8:f32", "5", "found 'q'");
    check_refused("x=4x5", "6", "found the end", "SHAPE:DTYPE");
    check_refused(
        "x=[1..]x5:f32", "7", "expected the highest size, found ']'", "[LOWEST..HIGHEST]");
    check_refused("x=99999999999999999999:f32", "3", "too large");
    check_refused("x=9223372036854775807x4:f32", "3", "too large");
    check_refused("x=4611686018427387904:f32", "3", "too large");
    check_refused("x=0x9223372036854775807x4:f32", "3", "too large");
    check_refused("x=1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1:f32", "35", "at most 16 axes");
  }

  TEST_CASE("a misspelt dtype gets the nearest names") {
    check_refused("x=4:bf61", "5", "there is no dtype 'bf61'", "'bf16'");
    check_refused("x=4:flaot32", "5", "there is no dtype 'flaot32'", "'float32'");
    check_refused("x=4:", "5", "a dtype is missing", "bf16 f16 f32");
    check_refused("x=in.npy:b16", "10", "there is no dtype 'b16'", "'bf16'");
    check_refused("x=in.npy:f32~zeros", "10", "there is no dtype 'f32~zeros'");
  }

  TEST_CASE("an order in memory must name each axis once") {
    check_refused("x=4x5:f32^1", "10", "names 1 of 2 axes");
    check_refused("x=4x5:f32^1,1", "13", "axis 1 is named twice");
    check_refused("x=4x5:f32^0,2", "13", "there is no axis 2 in a tensor of rank 2");
    check_refused("x=4x5:f32^", "11", "expected an axis, found the end");
  }

  TEST_CASE("offsets and steps are whole numbers that leave elements") {
    check_refused("x=4x5:f32+a", "11", "expected an offset in elements, found 'a'");
    check_refused("x=4x5:f32+-1", "11", "expected an offset in elements, found '-'");
    check_refused("x=4x5:f32/0", "10", "a step of 0", "8e");
    check_refused("x=4x5e:f32/2", "11", "the last axis is expanded");
    check_refused("x=scalar:f32/2", "13", "rank 0");
    check_refused("x=4:f32+9223372036854775807", "3", "too large");
  }

  TEST_CASE("a size may be a range, and then nothing is known of the tensor's memory") {
    const auto tensor = parse_tensor_argument("x=[1..4096]x64:bf16");
    REQUIRE(tensor);
    CHECK(tensor->is_ranged());
    CHECK(tensor->ranges == std::vector<tenon::SizeRange>{{1, 4096}, {64, 64}});
    CHECK(tensor->spec.dtype == tenon::DType::kBFloat16);
    CHECK_FALSE(parse_tensor_argument("x=8x64:bf16")->is_ranged());

    check_refused("x=[1-4]x5:f32", "5", "expected '..' and the highest size, found '-'");
    check_refused("x=[a..4]:f32", "4", "expected the lowest size, found 'a'");
    check_refused("x=[1..4x5:f32", "8", "expected ']' after the range, found 'x'");
    check_refused("x=[5..4]:f32", "3", "no size lies in 5..4");
    check_refused(
        "x=[1..4]x5:f32^1,0", "15", "expected the end after the dtype", "a shape and a dtype only");
    check_refused("x=[1..4]x5e:f32", "3", "cannot be expanded");
  }

  TEST_CASE("fills, their values and their seeds are checked against the dtype") {
    check_refused("x=4:f32~nromal", "9", "there is no fill 'nromal'", "'normal'");
    check_refused("x=4:f32~", "9", "there is no fill ''", "fills are");
    check_refused("x=4:f32~const", "14", "needs a value");
    check_refused("x=4:f32~const=abc", "15", "expected a number after 'const=', found 'abc'");
    check_refused("x=4:u8~const=256", "14", "uint8 holds no 256");
    check_refused("x=4:i32~const=1.5", "15", "int32 holds no 1.5");
    check_refused("x=4:f16~const=70000", "15", "float16 holds no 70000");
    check_refused("x=4:i64~const=9223372036854775808", "15", "int64 holds no 9223372036854775808");
    CHECK(parsed("x=4:i64~const=-9007199254740993").fill.to_string() == "const -9007199254740993");
    check_refused("x=4:f32~zeros=1", "14", "takes no value");
    check_refused("x=4:f32~zeros@1", "14", "has no seed");
    check_refused("x=4:f32@x", "9", "expected a seed, found 'x'");
  }

  TEST_CASE("parts out of order are named with the order") {
    check_refused("x=4x5:f32+3^1,0", "12", "'^' stands too late or twice", "[^PERM][+OFFSET]");
    check_refused("x=4x5:f32~zeros~zeros", "11", "there is no fill 'zeros~zeros'");
    check_refused("x=4x5:f32^1,0 ", "14", "expected the end, found ' '");
  }
}

}  // namespace
