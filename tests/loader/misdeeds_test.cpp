// Kernels of real plugin files that break the rules of a launch: the call fails by name.
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "loader/fakes.hpp"
#include "loader/runtime_fixture.hpp"

namespace tenon {
namespace {

using test::has;

/// The plugin whose deed is its name, with the CPU plugin, in a Runtime.
class Doer {
 public:
  explicit Doer(const std::string& deed)
      : path_(copied(deed)), fixture_({path_, TENON_CPU_PLUGIN}), runtime_(fixture_.make()) {}

  [[nodiscard]] Result<std::vector<Tensor>> add() const {
    Op op = runtime_.make("AddFwdOp").value();
    Tensor a = Tensor::host(DType::kFloat32, {3}).value();
    for (int i = 0; i < 3; ++i) a.data<float>()[i] = static_cast<float>(i);
    return op.call({{"self", a}, {"other", a}});
  }
  test::RuntimeFixture& fixture() { return fixture_; }

 private:
  std::string copied(const std::string& deed) {
    std::string path = folder_ / (deed + ".tenon.so");
    std::filesystem::copy_file(test::fake("doer", "doer"), path);
    return path;
  }
  test::TempDir folder_;
  std::string path_;
  test::RuntimeFixture fixture_;
  Runtime runtime_;
};

}  // namespace

TEST_SUITE("loader/misdeeds") {
  TEST_CASE("a kernel that asks for device memory in its launch is refused, and told once why") {
    Doer doer("launch-allocate");
    for (int i = 0; i < 3; ++i) {
      const auto called = doer.add();
      REQUIRE_FALSE(called);
      CHECK_MESSAGE(has(called.error().message(), "kernel type 'doer:doing'"),
                    called.error().message());
      CHECK(has(called.error().message(), "there is no memory"));
    }
    CHECK(doer.fixture().count("doer: a kernel of plugin 'doer' calls device_alloc in its launch",
                               TENON_LOG_WARN) == 1);
  }

  TEST_CASE("a kernel may ask for device memory when it is built") {
    Doer doer("build-allocate");
    CHECK(doer.add());
    CHECK(doer.fixture().count("device_alloc") == 0);
  }

  TEST_CASE(
      "an exception that a launch lets pass crosses from a file, and is told with its words") {
    Doer doer("launch-throw");
    const auto called = doer.add();
    REQUIRE_FALSE(called);
    CHECK(called.error().code() == ErrorCode::kPluginFailed);
    CHECK_MESSAGE(
        has(called.error().message(),
            "kernel type 'doer:doing' of interface 'add_fwd': the launch failed: it threw "
            "an exception: a table is gone"),
        called.error().message());
  }
}

}  // namespace tenon
