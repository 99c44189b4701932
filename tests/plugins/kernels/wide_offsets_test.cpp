// Elements whose offsets exceed 2^31 - 1, in address space that is reserved and only touched where
// used.
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <vector>

#include <doctest/doctest.h>

#include "support/cases.hpp"
#include "support/launcher.hpp"

namespace tenon::test {
namespace {

constexpr std::int64_t kFar = (std::int64_t{1} << 31) + 64;

/// Reserved memory; pages come into being when they are written.
class Reserved {
 public:
  explicit Reserved(std::size_t size_bytes)
      : memory_(mmap(nullptr,
                     size_bytes,
                     PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1,
                     0)),
        size_bytes_(size_bytes) {}
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;
  ~Reserved() {
    if (present()) munmap(memory_, size_bytes_);
  }
  [[nodiscard]] bool present() const { return memory_ != MAP_FAILED; }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_;
  std::size_t size_bytes_;
};

TEST_SUITE("plugins/cpu/wide_offsets") {
  TEST_CASE("D56: copy reaches elements beyond 2^31 in source and target") {
    const Reserved source(static_cast<std::size_t>(kFar) + 4096);
    const Reserved target(static_cast<std::size_t>(kFar) + 4096);
    if (!source.present() || !target.present()) {
      MESSAGE("skipped: the system reserves no address space of this size");
      return;
    }
    const Dims shape{2, 128};
    const Dims strides{kFar, 1};
    for (std::int64_t i = 0; i < 128; ++i) {
      source.as<std::int8_t>()[i] = static_cast<std::int8_t>(i);
      source.as<std::int8_t>()[kFar + i] = static_cast<std::int8_t>(-i);
    }
    const tenon_tensor x{
        source.as<void>(), 1, 0, 2, dtype_of<std::int8_t>(), shape.data(), strides.data(), 0};
    const tenon_tensor output{
        target.as<void>(), 1, 0, 2, dtype_of<std::int8_t>(), shape.data(), strides.data(), 0};

    const Outcome outcome =
        launch(row_of("CopyFwdOp"), {ints_value(shape), dtype_value(x.dtype)}, {&x, &output});

    REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
    for (std::int64_t i = 0; i < 128; ++i) {
      CHECK(target.as<std::int8_t>()[i] == i);
      CHECK(target.as<std::int8_t>()[kFar + i] == -i);
    }
  }

  TEST_CASE("D56: softmax and rms_norm rows reach rows beyond 2^31 elements") {
    const Reserved memory(static_cast<std::size_t>(kFar) * sizeof(float) + 4096);
    if (!memory.present()) {
      MESSAGE("skipped: the system reserves no address space of this size");
      return;
    }
    float* far = memory.as<float>() + kFar;
    for (const char* op : {"SoftmaxFwdOp", "RMSNormFwdOp"}) {
      const bool softmax = std::strcmp(op, "SoftmaxFwdOp") == 0;
      for (std::int64_t i = 0; i < 4; ++i) memory.as<float>()[i] = far[i] = 3.0F;
      const Dims shape = softmax ? Dims{2, 4, 1} : Dims{2, 4};
      const Dims strides = softmax ? Dims{kFar, 1, 1} : Dims{kFar, 1};
      const auto rank = static_cast<std::int32_t>(shape.size());
      const tenon_tensor x{
          memory.as<void>(), 1, 0, rank, dtype_of<float>(), shape.data(), strides.data(), 0};
      const Outcome outcome =
          softmax ? launch(row_of(op),
                           {int_value(2), int_value(4), int_value(1), dtype_value(x.dtype)},
                           {&x, &x})
                  : launch(row_of(op, "rows"),
                           {int_value(2),
                            int_value(4),
                            float_value(0),
                            dtype_value(x.dtype),
                            bool_value(false)},
                           {&x, nullptr, &x});
      REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
      for (std::int64_t i = 0; i < 4; ++i) CHECK(far[i] == (softmax ? 0.25F : 1.0F));
    }
  }
}

}  // namespace
}  // namespace tenon::test
