// .npy files: all dtypes both ways, orders and versions, and what is refused.
#include "tenon/loader/npy.hpp"

#include <cstring>
#include <filesystem>
#include <random>

#include <doctest/doctest.h>

#include "support/test_env.hpp"

namespace tenon {
namespace {

using test::has;
using test::read_file;
using test::TempDir;

std::string npy(const std::string& dict, const std::string& data, char major = 1) {
  std::string header = dict + "\n";
  std::string bytes("\x93NUMPY", 6);
  bytes += major;
  bytes += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  }
  return bytes + header + data;
}

std::string message_of(const std::string& bytes) {
  const TempDir folder;
  auto tensor = load_npy(folder.write("x.npy", bytes));
  REQUIRE_FALSE(tensor);
  CHECK(tensor.error().code() == ErrorCode::kUsageError);
  return tensor.error().to_string();
}

TEST_SUITE_BEGIN("loader/npy");

TEST_CASE("what save_npy writes, load_npy reads back, for every dtype") {
  const TempDir folder;
  for (DType dtype : all_dtypes()) {
    CAPTURE(std::string(name_of(dtype)));
    Tensor tensor = Tensor::host(dtype, {2, 3}).value();
    const std::size_t size = 6 * size_bytes_of(dtype);
    for (std::size_t i = 0; i < size; ++i) {
      tensor.data<unsigned char>()[i] = static_cast<unsigned char>(i & 1);
    }
    REQUIRE(save_npy(folder / "x.npy", tensor));
    // The carrier of a dtype that NumPy lacks is told apart by the caller only.
    const auto back = load_npy(folder / "x.npy", dtype);
    REQUIRE(back);
    CHECK(back->dtype() == dtype);
    CHECK(back->shape() == Dims{2, 3});
    CHECK(std::memcmp(back->data<char>(), tensor.data<char>(), size) == 0);
  }
}

TEST_CASE("the header is the one that NumPy itself writes") {
  const TempDir folder;
  REQUIRE(save_npy(folder / "x.npy", Tensor::host(DType::kFloat32, {2, 3}).value()));
  const std::string bytes = read_file(folder / "x.npy");
  CHECK(bytes.size() == 128 + 24);
  CHECK(bytes.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
  CHECK(bytes.substr(10, 61) == "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  ");
  CHECK(bytes[127] == '\n');
}

TEST_CASE("scalars, vectors and empty arrays keep their shapes") {
  const TempDir folder;
  for (const Dims& shape : {Dims{}, Dims{5}, Dims{0}, Dims{2, 0, 3}}) {
    REQUIRE(save_npy(folder / "x.npy", Tensor::host(DType::kInt64, shape).value()));
    const auto back = load_npy(folder / "x.npy");
    REQUIRE(back);
    CHECK(back->shape() == shape);
  }
}

TEST_CASE("Fortran order becomes strides") {
  const TempDir folder;
  const std::int16_t data[] = {1, 2, 3, 4, 5, 6};
  const std::string bytes(reinterpret_cast<const char*>(data), sizeof data);
  const auto tensor = load_npy(folder.write(
      "x.npy", npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }", bytes)));
  REQUIRE(tensor);
  CHECK(tensor->shape() == Dims{2, 3});
  CHECK(tensor->strides() == Dims{1, 2});
  CHECK(tensor->data<std::int16_t>()[1] == 2);  // element (1, 0)
}

TEST_CASE("a strided view is saved dense and row-major") {
  const TempDir folder;
  Tensor tensor = Tensor::host(DType::kInt32, {2, 3}).value();
  for (int i = 0; i < 6; ++i) tensor.data<int>()[i] = i;
  TensorView transposed = tensor.view();
  transposed.shape = {3, 2};
  transposed.strides = {1, 3};
  REQUIRE(save_npy(folder / "x.npy", transposed));
  const auto back = load_npy(folder / "x.npy");
  REQUIRE(back);
  CHECK(back->shape() == Dims{3, 2});
  const int expected[] = {0, 3, 1, 4, 2, 5};
  CHECK(std::memcmp(back->data<int>(), expected, sizeof expected) == 0);
}

TEST_CASE("format versions 2 and 3 are read") {
  const TempDir folder;
  for (char major : {char{2}, char{3}}) {
    const auto tensor =
        load_npy(folder.write("x.npy",
                              npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }",
                                  std::string(8, '\0'),
                                  major)));
    REQUIRE(tensor);
    CHECK(tensor->dtype() == DType::kFloat64);
  }
}

TEST_CASE("what is no tensor is refused with the reason and advice") {
  const std::string float_dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  CHECK(has(message_of("PK\3\4 an npz"), "not a .npy file"));
  CHECK(has(message_of(""), "not a .npy file"));
  CHECK(has(message_of(npy(float_dict, "1234567")), "truncated .npy file: 7 of 8 bytes"));
  CHECK(has(message_of(npy(float_dict, "").substr(0, 20)), "truncated"));
  CHECK(
      has(message_of(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", "12345678")),
          "astype('<f4')"));
  CHECK(has(message_of(npy("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", "")),
            "object"));
  CHECK(
      has(message_of(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", "")),
          "structured"));
  CHECK(
      has(message_of(npy("{'descr': '<U3', 'fortran_order': False, 'shape': (2,), }", "")), "<U3"));
  CHECK(has(message_of(npy("{'descr': '<f4', 'fortran_order': 1, 'shape': (2,), }", "")),
            "fortran_order"));
  CHECK(has(message_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "")),
            "shape"));
  CHECK(has(message_of(npy("{'descr': '<f4', 'fortran_order': False, "
                           "'shape': (4611686018427387904, 2), }",
                           "")),
            "64 bits"));
  CHECK(has(message_of(npy("{'descr': '<f4', 'fortran_order': True, "
                           "'shape': (0, 4611686018427387904, 4), }",
                           "")),
            "64 bits"));
  CHECK(has(message_of(npy("{'descr': '<f4', 'shape': (2,), }", "")), "fortran_order"));
  CHECK(has(message_of(npy("{'descr': '<f4', 'descr': '<f4', }", "")), "repeated"));
}

TEST_CASE("a missing file, a folder and an override of another size are refused") {
  const TempDir folder;
  CHECK(has(load_npy(folder / "no.npy").error().message(), "No such file"));
  CHECK(has(load_npy(folder.path()).error().message(), "not a regular file"));
  REQUIRE(save_npy(folder / "x.npy", Tensor::host(DType::kFloat32, {2}).value()));
  CHECK(has(load_npy(folder / "x.npy", DType::kBFloat16).error().message(),
            "float32 (4 bytes) cannot be read as bfloat16 (2 bytes)"));
}

TEST_CASE("a file that cannot be written leaves nothing behind") {
  const TempDir folder;
  const auto saved = save_npy(folder / "missing/x.npy", Tensor::host(DType::kFloat32, {2}).value());
  REQUIRE_FALSE(saved);
  CHECK(has(saved.error().message(), "No such file"));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a file that is replaced keeps its mode, a link stays a link, and a pipe is written to") {
  const TempDir folder;
  const Tensor tensor = Tensor::host(DType::kFloat32, {2}).value();
  const std::filesystem::path file = folder / "x.npy";
  REQUIRE(save_npy(file, tensor));
  std::filesystem::permissions(
      file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::create_symlink(file, folder / "link.npy");
  REQUIRE(save_npy(folder / "link.npy", Tensor::host(DType::kFloat32, {5}).value()));
  CHECK(std::filesystem::is_symlink(folder / "link.npy"));
  CHECK(load_npy(file)->shape() == Dims{5});
  CHECK((std::filesystem::status(file).permissions() & std::filesystem::perms::group_read) ==
        std::filesystem::perms::none);

  REQUIRE(save_npy("/dev/null", tensor));
  CHECK(std::filesystem::is_character_file("/dev/null"));
  CHECK_FALSE(save_npy("/dev/full", tensor));
  CHECK(std::filesystem::is_character_file("/dev/full"));
}

TEST_CASE("mutated headers never crash the reader") {
  const std::string good =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", std::string(24, '\1'));
  std::mt19937 random(7);
  std::size_t read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good.substr(0, good.size() - 24);
    for (int edits = 1 + round % 3; edits > 0; --edits) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + random() % 4);
          break;
        default:
          bytes.insert(at, 1, "0123456789(),'{}:<>"[random() % 19]);
          break;
      }
      if (bytes.empty()) break;
    }
    if (parse_npy_header(std::as_bytes(std::span(bytes)))) ++read;
  }
  CHECK(read > 100);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon
