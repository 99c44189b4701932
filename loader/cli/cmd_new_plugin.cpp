// tenon new-plugin: writes a plugin project from the templates that the command holds.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "json.hpp"
#include "plugin_templates.hpp"
#include "run_commands.hpp"
#include "tenon/loader/abi_version.hpp"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

/// Where the project gets a file from; `source` is a path below the repository.
struct ProjectFile {
  std::string_view target;
  std::string_view source;
  bool executable = false;
};

constexpr std::array kCppFiles{
    ProjectFile{"CMakeLists.txt", "plugins/template/cpp/CMakeLists.txt"},
    ProjectFile{"README.md", "plugins/template/shared/README.md"},
    ProjectFile{"ci.sh", "plugins/template/shared/ci.sh", true},
    ProjectFile{"entry.cpp", "plugins/template/cpp/entry.cpp"},
    ProjectFile{"rms_norm.cpp", "plugins/template/cpp/rms_norm.cpp"},
    ProjectFile{"rms_norm.hpp", "plugins/template/cpp/rms_norm.hpp"},
    ProjectFile{"tests/tests.cmake", "plugins/template/shared/tests/tests.cmake"},
};
constexpr std::array kDeviceFiles{
    ProjectFile{"CMakeLists.txt", "plugins/template/device/CMakeLists.txt"},
    ProjectFile{"README.md", "plugins/template/shared/README.md"},
    ProjectFile{"ci.sh", "plugins/template/shared/ci.sh", true},
    ProjectFile{"devices.cpp", "plugins/template/device/devices.cpp"},
    ProjectFile{"devices.hpp", "plugins/template/device/devices.hpp"},
    ProjectFile{"entry.cpp", "plugins/template/device/entry.cpp"},
    ProjectFile{"rms_norm.cpp", "plugins/template/cpp/rms_norm.cpp"},
    ProjectFile{"rms_norm.hpp", "plugins/template/device/rms_norm.hpp"},
    ProjectFile{"tests/tests.cmake", "plugins/template/shared/tests/tests.cmake"},
};
constexpr std::array kCFiles{
    ProjectFile{"CMakeLists.txt", "plugins/template/c/CMakeLists.txt"},
    ProjectFile{"README.md", "plugins/template/shared/README.md"},
    ProjectFile{"ci.sh", "plugins/template/shared/ci.sh", true},
    ProjectFile{"rows.c", "examples/c_plugin/rows.c"},
    ProjectFile{"tests/tests.cmake", "plugins/template/c/tests/tests.cmake"},
};

/// What the project is about.
struct Project {
  std::string name;
  std::string device;  ///< "cpu", or a kind of its own
  fs::path folder;
  std::span<const ProjectFile> files;
};

tl::unexpected<Error> usage(std::string text, std::string hint) {
  return fail(Error(ErrorCode::kUsageError, std::move(text)).with_hint(std::move(hint)));
}

/// The rule for ids of plugins and for device kinds: [a-z][a-z0-9-]*.
bool is_id(std::string_view text) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !text.empty() && letter(text.front()) && std::ranges::all_of(text, [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '-';
  });
}

/// Why a name of the right form can be no plugin's all the same; empty: it can.
std::string_view name_fault(std::string_view name) {
  // A plugin is a target of its name. Names with other characters than an id's are left out.
  constexpr std::array<std::string_view, 8> kReserved{
      "all", "clean", "codegen", "help", "install", "package", "preinstall", "test"};
  if (std::ranges::find(kReserved, name) != kReserved.end())
    return "CMake keeps that name for a target of its own";
  if (name == "tenon") return "the C++ code of a plugin of that name would clash with Tenon's";
  return is_shipped_plugin(name) ? "a plugin that Tenon ships has that id" : std::string_view();
}

/// A name becomes a plugin's id; its device kind has the same limit.
Result<void> require_length(std::string_view what, std::string_view name) {
  constexpr std::size_t kMost = loader::kMaxPluginIdBytes;
  if (name.size() <= kMost) return {};
  return usage(
      fmt::format(
          "a {} of {} characters, '{}...', is too long", what, name.size(), name.substr(0, 32)),
      fmt::format("it has at most {}, as the loader takes ids", kMost));
}

Result<Project> project_of(const Arguments& arguments) {
  constexpr std::string_view kIdRule = "lower-case letters, digits and '-', a letter first";
  Project project;
  project.name = arguments.operands().front();
  const auto device = arguments.value("device");
  project.device = device.value_or("cpu");
  TENON_TRY(require_length("plugin's name", project.name));
  TENON_TRY(require_length("device kind", project.device));
  if (!is_id(project.name)) {
    return usage(fmt::format("'{}' cannot be a plugin's name", project.name),
                 fmt::format("a name is {}", kIdRule));
  }
  if (const std::string_view fault = name_fault(project.name); !fault.empty()) {
    return usage(fmt::format("'{}' cannot be a plugin's name: {}", project.name, fault),
                 "choose another name");
  }
  if (!is_id(project.device)) {
    return usage(fmt::format("'{}' cannot be a device kind", project.device),
                 fmt::format("a kind is {}", kIdRule));
  }
  if (device == "cpu") {
    return usage("'cpu' cannot be the device kind of another plugin: the plugin 'cpu' owns it",
                 "leave --device out for a plugin with kernels for 'cpu'");
  }
  if (device == "builtin") {
    return usage("'builtin' cannot be a device kind: it is the name of Tenon's own target",
                 "choose another kind");
  }
  if (project.device != "cpu" && is_shipped_plugin(project.device)) {
    return usage(fmt::format("'{}' cannot be the device kind of another plugin: "
                             "a plugin that Tenon ships owns it",
                             project.device),
                 "choose another kind");
  }
  const std::string language = arguments.value("lang").value_or("c++");
  if (language != "c" && language != "c++") {
    return usage(fmt::format("there is no template in '{}'", language), "--lang is c or c++");
  }
  const bool own_device = project.device != "cpu";
  if (language == "c" && own_device) {
    return usage("the template in C brings kernels for 'cpu' only",
                 "leave --device out, or take the template in C++");
  }
  if (language == "c") {
    project.files = kCFiles;
  } else if (own_device) {
    project.files = kDeviceFiles;
  } else {
    project.files = kCppFiles;
  }
  project.folder = arguments.value("into").value_or(project.name);
  return project;
}

void replace_all(std::string& text, std::string_view word, std::string_view with) {
  for (std::size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + with.size())) {
    text.replace(at, word.size(), with);
  }
}

/// The template with the project's words in place of the template's.
std::string text_of_file(const ProjectFile& file, const Project& project) {
  const auto templates = plugin_templates();
  const auto found = std::ranges::find(templates, file.source, &EmbeddedFile::name);
  std::string text(found == templates.end() ? std::string_view() : found->text);
  std::string identifier = project.name;
  std::ranges::replace(identifier, '-', '_');
  // Through marks, so that a name with a template's word in it is not replaced twice.
  for (const auto& [word, mark] : {std::pair("acme_plugin", "\1"),
                                   std::pair("acme-c", "\2"),
                                   std::pair("acme", "\2"),
                                   std::pair("Acme", "\2"),
                                   std::pair("widget", "\3")}) {
    replace_all(text, word, mark);
  }
  replace_all(text, "\1", identifier + "_plugin");
  replace_all(text, "\2", project.name);
  replace_all(text, "\3", project.device);
  return text;
}

tl::unexpected<Error> cannot(std::string_view what, const fs::path& path, std::string_view why) {
  return fail(
      Error(ErrorCode::kUsageError, fmt::format("cannot {} {}: {}", what, path.string(), why)));
}

Result<void> write_file(const fs::path& path, const std::string& text, bool executable) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return cannot("make the folder", path.parent_path(), error.message());
  const auto close = [](std::FILE* file) { return std::fclose(file); };
  std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "wx"), close);
  if (!file) return cannot("write", path, std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  if (std::fclose(file.release()) != 0 || !written) {
    return cannot("write", path, std::strerror(errno));
  }
  if (executable) {
    fs::permissions(path,
                    fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                    fs::perm_options::add,
                    error);
    if (error) return cannot("make executable", path, error.message());
  }
  return {};
}

/// All files, or none: what was made is removed again where one cannot be written.
Result<void> write_project(const Project& project) {
  std::error_code error;
  const bool existed = fs::exists(project.folder, error);
  if (existed &&
      (!fs::is_directory(project.folder, error) || !fs::is_empty(project.folder, error))) {
    return fail(
        Error(ErrorCode::kUsageError,
              fmt::format("{} is there already, and no empty folder", project.folder.string()))
            .with_hint("nothing is overwritten: choose another place with --into"));
  }
  for (const ProjectFile& file : project.files) {
    auto written =
        write_file(project.folder / file.target, text_of_file(file, project), file.executable);
    if (written) continue;
    for (const ProjectFile& made : project.files) fs::remove(project.folder / made.target, error);
    fs::remove(project.folder / "tests", error);
    if (!existed) fs::remove(project.folder, error);
    return written;
  }
  return {};
}

}  // namespace

Result<int> run_new_plugin(const Arguments& arguments, Console& console) {
  auto project = project_of(arguments);
  if (!project) return fail(std::move(project).error());
  if (auto written = write_project(*project); !written) return fail(std::move(written).error());
  const std::string folder = project->folder.string();
  if (arguments.json()) {
    Json json = document();
    json["name"] = project->name;
    json["device"] = project->device;
    json["folder"] = folder;
    json["files"] = Json::array();
    for (const ProjectFile& file : project->files)
      json["files"].push_back(std::string(file.target));
    console.out(text_of(json));
    return kExitOk;
  }
  for (const ProjectFile& file : project->files)
    console.out(fmt::format("{}\n", (project->folder / file.target).string()));
  console.out(
      fmt::format("\nnext\n  cmake -S {0} -B {0}/build -G Ninja -DCMAKE_BUILD_TYPE=Release\n"
                  "  cmake --build {0}/build\n"
                  "  ctest --test-dir {0}/build --output-on-failure\n"
                  "  tenon plugins --plugin-path {0}/build\n",
                  folder));
  return kExitOk;
}

}  // namespace tenon::cli
