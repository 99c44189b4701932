// What is kept of probes, and what is not believed.
#include "probe_cache.hpp"

#include <doctest/doctest.h>

#include "support/test_env.hpp"

namespace tenon::loader {
namespace {

using test::TempDir;

ProbeSubject subject(const TempDir& folder) {
  return {folder / "acme.tenon.so", {1, 2, 300, 400}, "0123abcd", {folder / "driver"}, {}};
}

TEST_SUITE_BEGIN("loader/probe_cache");

TEST_CASE("findings come back under the same key and under no other") {
  const TempDir folder;
  const ProbeCache cache(folder / "cache");
  std::string complaint;
  CHECK(cache.get("/x/acme.tenon.so", "key 1", complaint).empty());
  REQUIRE(cache
              .put("/x/acme.tenon.so",
                   "key 1",
                   {{ProbePart::kLoad, {true, ""}}, {ProbePart::kDevices, {false, "it \xff"}}})
              .empty());
  const auto found = cache.get("/x/acme.tenon.so", "key 1", complaint);
  REQUIRE(found.size() == 2);
  CHECK(found.at(ProbePart::kLoad).survived);
  CHECK_FALSE(found.at(ProbePart::kDevices).survived);
  CHECK(found.at(ProbePart::kDevices).text.starts_with("it "));
  CHECK(cache.get("/x/acme.tenon.so", "key 2", complaint).empty());
  CHECK(cache.get("/y/acme.tenon.so", "key 1", complaint).empty());
  CHECK(complaint.empty());
}

TEST_CASE(
    "a cache file that is cut, foreign, malformed or open to others is ignored with a reason") {
  const TempDir folder;
  const ProbeCache cache(folder / "cache");
  const std::string plugin = "/x/acme.tenon.so";
  const auto complaint_of = [&](const std::string& bytes) {
    REQUIRE(cache.put(plugin, "key", {{ProbePart::kLoad, {true, ""}}}).empty());
    const std::string path = cache.path_of(plugin);
    folder.write(std::filesystem::path(path).lexically_relative(folder.path()).string(), bytes);
    std::string complaint;
    CHECK(cache.get(plugin, "key", complaint).empty());
    return complaint;
  };
  CHECK(complaint_of("{\"schema\": 1, \"file\"").find("no JSON object") != std::string::npos);
  CHECK(complaint_of("").find("no JSON object") != std::string::npos);
  CHECK(complaint_of("[]").find("no JSON object") != std::string::npos);
  CHECK(complaint_of("{\"schema\": 7}").find("another format") != std::string::npos);
  CHECK(complaint_of("{\"schema\": 1, \"file\": \"/x/acme.tenon.so\", \"key\": \"key\", "
                     "\"load\": {\"survived\": \"yes\"}}")
            .find("'load' is malformed") != std::string::npos);

  REQUIRE(cache.put(plugin, "key", {{ProbePart::kLoad, {true, ""}}}).empty());
  std::string complaint;
  CHECK_FALSE(cache.get(plugin, "key", complaint).empty());
  std::filesystem::permissions(cache.path_of(plugin),
                               std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  CHECK(cache.get(plugin, "key", complaint).empty());
  CHECK(complaint.find("written by everybody") != std::string::npos);

  // Kept again, it is a file of our own again.
  REQUIRE(cache.put(plugin, "key", {{ProbePart::kLoad, {true, ""}}}).empty());
  complaint.clear();
  CHECK_FALSE(cache.get(plugin, "key", complaint).empty());
  CHECK(complaint.empty());
}

TEST_CASE("a link in the place of a finding is replaced, and what it points to is left alone") {
  const TempDir folder;
  const ProbeCache cache(folder / "cache");
  const std::string plugin = "/x/acme.tenon.so";
  REQUIRE(cache.put(plugin, "key", {{ProbePart::kLoad, {true, ""}}}).empty());
  const std::filesystem::path victim = folder.write("victim", "somebody's letter");
  std::filesystem::remove(cache.path_of(plugin));
  std::filesystem::create_symlink(victim, cache.path_of(plugin));

  REQUIRE(cache.put(plugin, "key", {{ProbePart::kLoad, {true, ""}}}).empty());

  CHECK(std::filesystem::file_size(victim) == 17);
  CHECK_FALSE(std::filesystem::is_symlink(cache.path_of(plugin)));
  std::string complaint;
  CHECK_FALSE(cache.get(plugin, "key", complaint).empty());
}

TEST_CASE(
    "a folder that everybody may write to keeps nothing, and what lies there is not believed") {
  const TempDir folder;
  const ProbeCache cache(folder / "cache");
  const std::string plugin = "/x/acme.tenon.so";
  REQUIRE(cache.put(plugin, "key", {{ProbePart::kLoad, {true, ""}}}).empty());
  std::filesystem::permissions(std::filesystem::path(cache.path_of(plugin)).parent_path(),
                               std::filesystem::perms::all);

  CHECK_FALSE(cache.put(plugin, "key", {{ProbePart::kLoad, {true, ""}}}).empty());
  std::string complaint;
  CHECK(cache.get(plugin, "key", complaint).empty());
  CHECK(complaint.find("are ignored") != std::string::npos);
}

TEST_CASE("without a folder, or with one that cannot be made, nothing is kept and a reason given") {
  const TempDir folder;
  CHECK(ProbeCache("").put("/x", "k", {}).find("caches.directory") != std::string::npos);
  CHECK(ProbeCache("").path_of("/x").empty());
  const std::string file = folder.write("cache", "a file where the folder should be");
  CHECK_FALSE(ProbeCache(file).put("/x", "k", {}).empty());
  std::string complaint;
  CHECK(ProbeCache(file).get("/x", "k", complaint).empty());
}

TEST_CASE("a key changes with the file, its build, and the files that its note names") {
  const TempDir folder;
  const ProbeSubject first = subject(folder);
  const std::string key = probe_key(first);
  CHECK(probe_key(subject(folder)) == key);
  CHECK(key.find(host_build()) != std::string::npos);
  CHECK_FALSE(host_build().empty());

  ProbeSubject other = first;
  other.identity.modified_ns = 401;
  CHECK(probe_key(other) != key);
  other = first;
  other.identity.size_bytes = 301;
  CHECK(probe_key(other) != key);
  other = first;
  other.build_id = "0123abce";
  CHECK(probe_key(other) != key);

  folder.write("driver", "version 1");
  const std::string with_driver = probe_key(first);
  CHECK(with_driver != key);
  folder.write("driver", "version 10");
  CHECK(probe_key(first) != with_driver);
  // A file of the kernel has no size and a time of its own making: its contents count.
  other = first;
  other.depends = {"/proc/version"};
  CHECK(probe_key(other) == probe_key(other));
  CHECK(probe_key(other).find("/proc/version =") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::loader
