// Plugin binaries of earlier releases, in the host of today: they load, compute, refuse and shut
// down (abi.md T1).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "support/test_env.hpp"
#include "tenon/loader/abi_version.hpp"
#include "tenon/loader/elf.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;

/// abi-0.1/golden.tenon.so and so on, in order.
std::vector<std::string> golden_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(TENON_GOLDEN_PLUGINS)) {
    const fs::path file = entry.path() / "golden.tenon.so";
    if (fs::exists(file)) files.push_back(file.string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

loader::PluginNote note_of(const std::string& path) {
  const std::string bytes = bytes_of(path);
  const auto elf = loader::parse_elf(std::as_bytes(std::span(bytes)));
  if (!elf) FAIL(elf.error().text);
  REQUIRE(elf->note);
  return *elf->note;
}

Result<Runtime> runtime_with(const std::string& path,
                             const std::string& cache,
                             std::vector<std::string>* lines = nullptr) {
  RuntimeOptions options;
  options.plugin_paths = {path, TENON_CPU_PLUGIN};  // the second owns device kind cpu
  options.standard_folders = false;
  options.environment = loader::Environment::of({});
  options.settings = {{"caches.directory", cache}};
  if (lines != nullptr) {
    options.log = [lines](int, std::string_view, std::string_view text) {
      lines->emplace_back(text);
    };
  }
  return Runtime::create(options);
}

Tensor numbers(const Dims& shape, float first) {
  Tensor made = Tensor::host(DType::kFloat32, shape).value();
  for (std::int64_t i = 0; i < made.view().count(); ++i)
    made.data<float>()[i] = first + static_cast<float>(i);
  return made;
}

}  // namespace

TEST_SUITE("abi/golden") {
  TEST_CASE(
      "there is a golden plugin of the ABI that the header has now, and of every minor before") {
    const auto files = golden_files();
    REQUIRE_FALSE(files.empty());
    bool current = false;
    for (const std::string& path : files) {
      const loader::PluginNote note = note_of(path);
      CAPTURE(path);
      CHECK(fs::file_size(path) < 50'000);
      CHECK(fs::path(path).parent_path().filename().string() ==
            "abi-" + std::to_string(note.abi_major) + "." + std::to_string(note.abi_minor));
      current = current || (note.abi_major == TENON_ABI_MAJOR && note.abi_minor == TENON_ABI_MINOR);
    }
    CHECK_MESSAGE(current, "run scripts/golden_plugin.sh; tests/golden/plugins/README.md says how");
    // From 1.0 on each minor keeps its binary, and before it there is one.
    CHECK(files.size() == (TENON_ABI_MAJOR == 0 ? 1 : TENON_ABI_MINOR + 1));
  }

  TEST_CASE("what is recorded of a golden plugin's build is true of the files beside it") {
    for (const std::string& path : golden_files()) {
      const std::string record = bytes_of(fs::path(path).parent_path() / "built.txt");
      CHECK(record.find("compiler  ") == 0);
      CHECK(record.find("binary    sha256 ") != std::string::npos);
      CHECK(fs::exists(fs::path(path).parent_path() / "golden.c"));
    }
  }

  TEST_CASE("each golden plugin loads into the host of today and computes through a kernel") {
    const test::TempDir folder;
    for (const std::string& path : golden_files()) {
      CAPTURE(path);
      std::vector<std::string> lines;
      const auto runtime = runtime_with(path, folder / "cache", &lines);
      if (!runtime) FAIL(runtime.error().to_string());
      REQUIRE(runtime->plugins().size() == 2);
      const PluginRecord& record = runtime->plugins()[0];
      REQUIRE_MESSAGE(record.state == PluginState::kActive, record.reason);
      CHECK(record.kernel_types == 1);
      CHECK(record.rejected_rows.empty());
      CHECK(std::ranges::find(lines, "golden/item") != lines.end());

      Op op = runtime->make("AddFwdOp", {{"alpha", 2.0}}).value();
      const Tensor a = numbers({3, 5}, 1);
      const Tensor b = numbers({3, 5}, 10);
      const auto out = op.call({{"self", a}, {"other", b}});
      if (!out) FAIL(out.error().to_string());
      for (int i = 0; i < 15; ++i) {
        CHECK((*out)[0].data<float>()[i] == a.data<float>()[i] + 2 * b.data<float>()[i]);
      }
      CHECK(op.last_call()->kernel() == "golden:add");
    }
  }

  TEST_CASE("a golden plugin's refusal reaches explain with its numbers") {
    const test::TempDir folder;
    for (const std::string& path : golden_files()) {
      CAPTURE(path);
      const auto runtime = runtime_with(path, folder / "cache");
      if (!runtime) FAIL(runtime.error().to_string());
      Op op = runtime->make("AddFwdOp").value();
      const auto out = op.call({{"self", numbers({5000}, 0)}, {"other", numbers({5000}, 0)}});
      REQUIRE(out);
      CHECK(op.last_call()->kernel() != "golden:add");
      const Tensor spec = numbers({5000}, 0);
      const std::vector<NamedSpec> call{{"self", spec.spec()}, {"other", spec.spec()}};
      const std::string table = op.explain(call).table();
      CAPTURE(table);
      CHECK(table.find("serves at most 4096 elements") != std::string::npos);
    }
  }

  TEST_CASE(
      "a golden plugin's builder target, its device kind and its tuning work in the host of "
      "today") {
    const test::TempDir folder;
    for (const std::string& path : golden_files()) {
      CAPTURE(path);
      const auto runtime = runtime_with(path, folder / "cache");
      if (!runtime) FAIL(runtime.error().to_string());
      InstanceOptions by_target;
      by_target.target = "golden-target";
      Op targeted = runtime->make("AddFwdOp", {}, by_target).value();
      const Tensor a = numbers({2, 4}, 1);
      const auto out = targeted.call({{"self", a}, {"other", a}});
      if (!out) FAIL(out.error().to_string());
      CHECK((*out)[0].data<float>()[7] == 16);
      CHECK(targeted.serving_target() == "golden-target");

      const auto device = runtime->device("golden:0").get();
      if (!device) FAIL(device.error().to_string());
      DeviceTable& devices = runtime->engine().devices();
      const Tensor there = devices.to_device(a, *device).value();
      Op op = runtime->make("AddFwdOp").value();
      REQUIRE(op.call({{"self", there}, {"other", there}}));
      CHECK(op.request_tune() == 1);
      const auto sum = op.call({{"self", there}, {"other", there}});
      if (!sum) FAIL(sum.error().to_string());
      CHECK((*sum)[0].view().device == *device);
      CHECK((*sum)[0].data<float>()[7] == 16);
    }
  }
}

}  // namespace tenon
