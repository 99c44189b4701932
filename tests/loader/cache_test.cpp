// The store of a plugin: whole entries or none, also between processes.
#include <cstring>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "plugin_cache.hpp"
#include "support/test_env.hpp"

namespace tenon::loader {
namespace {

namespace fs = std::filesystem;
using test::TempDir;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}
std::string text_of(const PluginCache& cache, const std::string& key) {
  const auto bytes = cache.get(key);
  return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size())
               : "absent";
}

TEST_SUITE_BEGIN("loader/cache");

TEST_CASE("an entry comes back for its key and build alone") {
  const TempDir folder;
  const PluginCache cache(folder.path().string(), "acme", "b1");
  CHECK(text_of(cache, "k") == "absent");
  CHECK(cache.put("k", bytes_of("hello")).empty());
  CHECK(cache.put("empty", {}).empty());
  CHECK(text_of(cache, "k") == "hello");
  CHECK(text_of(cache, "empty").empty());
  CHECK(text_of(cache, "K") == "absent");
  CHECK(text_of(PluginCache(folder.path().string(), "acme", "b2"), "k") == "absent");
  CHECK(text_of(PluginCache(folder.path().string(), "bolt", "b1"), "k") == "absent");
}

TEST_CASE("D68 truncated, corrupt and foreign entries count as absent and are replaced") {
  const TempDir folder;
  const PluginCache cache(folder.path().string(), "acme", "b1");
  REQUIRE(cache.put("k", bytes_of("hello, world")).empty());
  const std::string file = cache.path_of("k");
  const std::string good = test::read_file(file);
  std::vector<std::string> bad;
  for (std::size_t size = 0; size < good.size(); size += 3) bad.push_back(good.substr(0, size));
  for (std::size_t at = 0; at < good.size(); ++at) {
    bad.push_back(good);
    bad.back()[at] = static_cast<char>(bad.back()[at] ^ 1);
  }
  bad.push_back(good + "x");
  for (const std::string& each : bad) {
    std::ofstream(file, std::ios::binary) << each;
    CHECK(text_of(cache, "k") == "absent");
  }
  CHECK(cache.put("k", bytes_of("again")).empty());
  CHECK(text_of(cache, "k") == "again");
}

TEST_CASE("D68 without a folder that can be written nothing is kept and nothing fails") {
  const TempDir folder;
  CHECK(text_of(PluginCache(), "k") == "absent");
  CHECK_FALSE(PluginCache().put("k", bytes_of("x")).empty());
  // A file where the folder should be: nobody can write there, not even root.
  const PluginCache blocked(folder.write("file", ""), "acme", "b1");
  CHECK_FALSE(blocked.put("k", bytes_of("x")).empty());
  CHECK(text_of(blocked, "k") == "absent");
}

TEST_CASE("D68 32 processes that write and read one key never see half an entry") {
  const TempDir folder;
  const PluginCache cache(folder.path().string(), "acme", "b1");
  const std::string payload(100'000, 'x');
  std::vector<pid_t> children;
  for (int i = 0; i < 32; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      bool good = true;
      for (int round = 0; round < 4 && good; ++round) {
        const std::string found = text_of(cache, "k");
        good = (found == "absent" || found == payload) && cache.put("k", bytes_of(payload)).empty();
      }
      _exit(good ? 0 : 1);
    }
    REQUIRE(child > 0);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  CHECK(text_of(cache, "k") == payload);
  CHECK(std::distance(fs::directory_iterator(fs::path(cache.path_of("k")).parent_path()),
                      fs::directory_iterator()) == 1);  // no temporary file is left
}

TEST_CASE("two processes that keep many results in one store lose and tear none") {
  const TempDir folder;
  constexpr int kResults = 200;
  const auto result = [](int process, int i) {
    return "tile=" + std::to_string(i) + std::string(static_cast<std::size_t>(i * 7), 'x') +
           std::to_string(process);
  };
  std::vector<pid_t> children;
  for (int process = 0; process < 2; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      const PluginCache cache(folder.path().string(), "acme", "b1");
      bool good = true;
      for (int i = 0; i < kResults && good; ++i) {
        const std::string own = "op" + std::to_string(i) + " of " + std::to_string(process);
        const std::string shared = "op" + std::to_string(i);
        good = cache.put(own, bytes_of(result(process, i))).empty() &&
               cache.put(shared, bytes_of(result(process, i))).empty();
        // The other one may have been last; what is there is whole.
        const std::string found = text_of(cache, shared);
        good = good && (found == result(0, i) || found == result(1, i));
      }
      _exit(good ? 0 : 1);
    }
    REQUIRE(child > 0);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  const PluginCache cache(folder.path().string(), "acme", "b1");
  for (int i = 0; i < kResults; ++i) {
    for (int process = 0; process < 2; ++process) {
      CHECK(text_of(cache, "op" + std::to_string(i) + " of " + std::to_string(process)) ==
            result(process, i));
    }
    const std::string found = text_of(cache, "op" + std::to_string(i));
    CHECK((found == result(0, i) || found == result(1, i)));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::loader
