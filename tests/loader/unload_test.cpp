// What is left of a plugin after it is disabled: nothing that is listed, and all that is in use.
#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>

#include <doctest/doctest.h>

#include "loader/fakes.hpp"
#include "loader/runtime_fixture.hpp"
#include "support/fake_control.hpp"
#include "support/fakes.hpp"
#include "support/test_env.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using test::fake;
using test::has;
using test::TempDir;

class Fixture : public test::RuntimeFixture {
 public:
  explicit Fixture(std::vector<std::string> plugins) : RuntimeFixture(std::move(plugins)) {
    test::fake_control();  // the board, before the first fake is mapped
  }
};

/// What an operation that must succeed says when it does not.
std::string failure(const Result<void>& result) {
  return result ? std::string() : result.error().to_string();
}

Tensor ones() {
  Tensor tensor = Tensor::host(DType::kFloat32, {4}).value();
  for (int i = 0; i < 4; ++i) tensor.data<float>()[i] = 1;
  return tensor;
}

TEST_SUITE_BEGIN("loader/unload");

TEST_CASE("D86 ops and tensors of a plugin outlive its being disabled, and the Runtime") {
  auto& devices = test::fake_control().devices;
  const auto live_before = devices.live_bytes.load();
  Fixture fixture({test::fake_path("fake")});
  std::optional<Runtime> runtime = fixture.make();
  std::shared_ptr<Engine> engine = runtime->shared_engine();
  const Device device{DeviceKind::of("fake"), 0};
  std::optional<Tensor> there = engine->devices().to_device(ones(), device).value();
  std::optional<Op> op = runtime->make("AddFwdOp").value();
  std::optional<std::vector<Tensor>> sum = op->call({{"self", *there}, {"other", *there}}).value();

  REQUIRE(runtime->disable_plugin("fake"));

  const PluginRecord& record = runtime->plugins().front();
  CHECK(record.state == PluginState::kDisabled);
  CHECK(has(record.reason, "inactive, its code is still mapped"));
  CHECK(has(test::read_file("/proc/self/maps"), record.path));
  // A new instance finds nothing; the old one and its tensors work on.
  const auto late = runtime->make("AddFwdOp").value().call({{"self", *there}, {"other", *there}});
  REQUIRE_FALSE(late);
  CHECK(late.error().code() == ErrorCode::kOpNotAvailable);
  sum = op->call({{"self", *there}, {"other", sum->front()}}).value();
  CHECK(engine->devices().to_device(sum->front(), Device{})->data<float>()[2] == 3);

  // So they do when the Runtime is gone, and what is freed last is freed by the plugin.
  runtime.reset();
  engine.reset();
  REQUIRE(op->call({{"self", *there}, {"other", sum->front()}}));
  op.reset();
  CHECK(devices.live_bytes.load() > live_before);
  sum.reset();
  there.reset();
  CHECK(devices.live_bytes.load() == live_before);
}

TEST_CASE("D87 a disabled plugin is inactive but mapped, and loads again without a double") {
  const TempDir folder;
  const std::string file = folder.copy(test::fake_path("alpha"), "alpha.tenon.so");
  Fixture fixture({test::fake_path("fake"), file});
  Runtime runtime = fixture.make();
  const auto kernels_of_add = [&] {
    const OpClass* add = runtime.snapshot()->find("AddFwdOp");
    std::vector<std::string> names;
    for (const auto& table : add->interfaces) {
      for (const auto& type : table.types) names.push_back(type->qualified);
    }
    return names;
  };
  const std::vector<std::string> all{"alpha:fast", "alpha:rows", "fake:rows"};
  REQUIRE(kernels_of_add() == all);
  REQUIRE(runtime.disable_plugin("alpha"));
  CHECK(kernels_of_add() == std::vector<std::string>{"fake:rows"});
  REQUIRE(failure(runtime.load_plugin(file)) == "");
  CHECK(kernels_of_add() == all);
  CHECK(std::count_if(runtime.plugins().begin(), runtime.plugins().end(), [](const auto& record) {
          return record.id == "alpha";
        }) == 1);

  // Another file in its place is new code beside the old.
  REQUIRE(runtime.disable_plugin("alpha"));
  const std::string next = folder.copy(test::fake_path("alpha-2"), "next");
  fs::rename(next, file);
  REQUIRE(failure(runtime.load_plugin(file)) == "");
  CHECK(kernels_of_add() == all);
  CHECK(runtime.plugins().back().version == "2.0.0");
  CHECK(fixture.count("while the code of 1.0.0 at '" + file + "' is still in memory",
                      TENON_LOG_WARN) == 1);
}

TEST_CASE(
    "D87 symbols that the linker pins change nothing: the file that replaces one is new code") {
  const TempDir folder;
  const std::string file = folder.copy(fake("unique1", "unique"), "unique.tenon.so");
  Fixture fixture({file});
  Runtime runtime = fixture.make();
  CHECK(runtime.plugins().front().state == PluginState::kActive);
  REQUIRE(runtime.disable_plugin("unique"));
  fs::rename(folder.copy(fake("unique2", "unique"), "next"), file);
  REQUIRE(failure(runtime.load_plugin(file)) == "");
  CHECK(runtime.plugins().back().version == "2.0");
  CHECK(runtime.plugins().size() == 1);
}

TEST_CASE("a file that was overwritten in place after it was loaded is refused, not mistaken") {
  const TempDir folder;
  const std::string file = folder.copy(fake("v1_8", "acme"), "acme.tenon.so");
  Fixture fixture({file});
  Runtime runtime = fixture.make();
  REQUIRE_MESSAGE(runtime.plugins().front().state == PluginState::kActive,
                  runtime.plugins().front().reason);
  REQUIRE(runtime.disable_plugin("acme"));
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(2));
  const auto again = runtime.load_plugin(file);
  REQUIRE_FALSE(again);
  CHECK(has(again.error().message(), "overwritten in place"));
  CHECK(runtime.plugins().back().stage == PluginStage::kLoad);
}

TEST_CASE(
    "D88 nothing that a plugin registered is listed after it is disabled, and it may log on") {
  Fixture fixture({fake("other", "bolt"), fake("good", "acme")});
  std::optional<Runtime> runtime = fixture.make();
  REQUIRE(runtime->snapshot()->owner_of(DeviceKind::of("bolt")) == "bolt");
  REQUIRE(runtime->disable_plugin("bolt"));
  CHECK(runtime->snapshot()->owner_of(DeviceKind::of("bolt")).empty());
  const auto targets = runtime->snapshot()->target_names();
  CHECK(std::find(targets.begin(), targets.end(), "bolt") == targets.end());
  // The plugin still has its host table: what it logs goes to Runtimes that live, or nowhere.
  REQUIRE(runtime->load_plugin(fake("other", "bolt")));
  CHECK(fixture.count("enumerate of bolt") == 2);
  runtime.reset();
  const std::size_t before = fixture.lines.size();
  Fixture other({fake("other", "bolt")});
  const Runtime next = other.make();
  CHECK(other.count("enumerate of bolt") == 1);
  CHECK(fixture.lines.size() == before);
}

TEST_CASE("D100 plugins that define the same global symbol and bundle one library keep apart") {
  Fixture fixture({fake("helper_one", "one"), fake("helper_two", "two")});
  const Runtime runtime = fixture.make();
  CHECK(fixture.count("helper of one") == 1);
  CHECK(fixture.count("helper of two") == 1);
  CHECK(fixture.count("one is alone in its registry") == 1);
  CHECK(fixture.count("two is alone in its registry") == 1);
}

TEST_CASE("D102 a dependency beside the plugin is found wherever the plugin lies, or named") {
  const TempDir folder;
  const std::string plugin = folder.copy(fake("needs_beside", "beside"), "a/beside.tenon.so");
  const fs::path library =
      fs::path(fake("needs_beside", "beside")).parent_path() / "libtenon_fake_beside.so";
  Fixture absent({plugin});
  {
    const Runtime runtime = absent.make();
    CHECK(runtime.plugins().front().state == PluginState::kRejected);
    CHECK(runtime.plugins().front().stage == PluginStage::kLoad);
    CHECK_MESSAGE(has(runtime.plugins().front().reason, "libtenon_fake_beside.so"),
                  runtime.plugins().front().reason);
  }
  folder.copy(library, "a/libtenon_fake_beside.so");
  Fixture present({plugin});
  const Runtime runtime = present.make();
  CHECK_MESSAGE(runtime.plugins().front().state == PluginState::kActive,
                runtime.plugins().front().reason);
  CHECK(present.count("helper of beside") == 1);
}

TEST_CASE("D75 a duplicate registration is told by its record alone, with both plugins and files") {
  Fixture fixture({fake("other", "bolt"), fake("second_owner", "usurper")});
  fixture.options.log = {};  // nobody listens
  const Runtime runtime = fixture.make();
  const PluginRecord& record = runtime.plugins().back();
  CHECK(record.state == PluginState::kRejected);
  CHECK(record.code == TENON_ALREADY_EXISTS);
  for (const char* part : {"device kind 'bolt'", "'usurper'", "plugin 'bolt'"}) {
    CHECK_MESSAGE(has(record.reason, part), record.reason);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon
