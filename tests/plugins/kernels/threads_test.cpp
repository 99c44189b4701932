// One built kernel called from several threads at a time, on tensors of their own.
#include <array>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/cases.hpp"
#include "support/launcher.hpp"
#include "support/strided.hpp"

namespace tenon::test {
namespace {

/// A call of [m, n] -> [m, n] with its own tensors.
struct Work {
  Work(std::int64_t rows, std::int64_t columns)
      : shape{rows, columns},
        x(shape, Arrangement::kDense),
        expected(shape, Arrangement::kDense),
        output(shape, Arrangement::kDense) {}
  Dims shape;
  Strided<float> x;
  Strided<float> expected;
  Strided<float> output;
};

TEST_SUITE("plugins/cpu/threads") {
  TEST_CASE("eight threads on one kernel with different shapes give what one thread gives") {
    for (const char* key : {"reference", "rows"}) {
      CAPTURE(key);
      const tenon_kernel_type& row = row_of("RMSNormFwdOp", key);
      std::vector<std::unique_ptr<Work>> works;
      for (std::int64_t i = 0; i < 8; ++i) {
        works.push_back(std::make_unique<Work>(3 + i, 100 + 37 * i));
        Random random(static_cast<std::uint32_t>(i));
        works.back()->x.fill([&] { return random.value<float>(); });
      }
      const auto run = [&row](Work& work, Strided<float>& into) {
        const std::vector<tenon_value> fields{int_value(work.shape[0]),
                                              int_value(work.shape[1]),
                                              float_value(1e-6),
                                              dtype_value(dtype_of<float>()),
                                              bool_value(false)};
        return launch(row, fields, {work.x.tensor(), nullptr, into.tensor()}).status;
      };
      for (const auto& work : works) REQUIRE(run(*work, work->expected) == TENON_OK);

      std::array<tenon_status, 8> statuses{};
      std::vector<std::thread> threads;
      for (std::size_t i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] {
          for (int repeat = 0; repeat < 20; ++repeat)
            statuses[i] = run(*works[i], works[i]->output);
        });
      }
      for (std::thread& thread : threads) thread.join();

      for (std::size_t i = 0; i < 8; ++i) {
        CHECK(statuses[i] == TENON_OK);
        std::int64_t wrong = 0;
        for (const Dims& at : indices_of(works[i]->shape)) {
          wrong += works[i]->output.at(at) == works[i]->expected.at(at) ? 0 : 1;
        }
        CHECK(wrong == 0);
      }
    }
  }
}

}  // namespace
}  // namespace tenon::test
