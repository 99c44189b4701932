// The plugins of this process: each mapped and started once, enumerated once per Runtime.
#include "tenon/loader/plugin_library.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <tuple>

#include <fmt/format.h>

#include "plugin_object.hpp"
#include "shared_object.hpp"
#include "tenon/core/floating_environment.hpp"
#include "tenon/loader/plugin_images.hpp"

namespace tenon::loader {
namespace {

void told_of_change(std::string_view id, const char* function) noexcept;

/// Everything that lives as long as the process. Leaked on purpose: plugins may run until the end.
struct Process {
  Process() { watch_floating_changes(told_of_change); }
  using FileKey = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::int64_t>;
  std::mutex mutex;  // guards the tables, never a call into a plugin
  std::map<FileKey, OnceState<FileResult<LoadedPlugin*>>> files;
  std::map<std::pair<std::uint64_t, std::uint64_t>, FileIdentity> mapped;  // by device and inode
  std::map<std::string, std::vector<FileIdentity>> at_path;  // in the order of loading
  std::vector<const Plugin*> loaded;
  std::map<const tenon_plugin*, OnceState<FileResult<LoadedPlugin*>>> statics;
  std::vector<const tenon_plugin*> registered;
  std::vector<Plugin*> started;
  std::atomic<bool> shut_down{false};
};

Process& process() {
  static auto* const kProcess = new Process();
  return *kProcess;
}

/// Finds the plugin by its id, the one that was started last where there are several.
void told_of_change(std::string_view id, const char* function) noexcept {
  try {
    Plugin* plugin = nullptr;
    {
      const std::lock_guard lock(process().mutex);
      for (Plugin* each : process().started) {
        if (each->info().id == id) plugin = each;
      }
    }
    if (plugin != nullptr) plugin->warn_of_change(fmt::format("in {}", function));
  } catch (...) {  // a log line is not worth a crash; there is nobody to tell
  }
}

void note_started(Plugin& plugin) {
  const std::lock_guard lock(process().mutex);
  process().started.push_back(&plugin);
}

/// Notes which file is mapped from now on. The dynamic linker knows a file by its inode, and would
/// hand out the old code under the new file's name.
FileResult<void> claim_inode(const FileIdentity& identity) {
  const std::lock_guard lock(process().mutex);
  const auto [at, added] =
      process().mapped.try_emplace({identity.device, identity.inode}, identity);
  if (added || at->second == identity) return {};
  return tl::unexpected(PluginFault{
      PluginStage::kLoad,
      TENON_INCOMPATIBLE,
      "the file was overwritten in place after this process had loaded it, so its old code is "
      "still in memory; start a new process, and install new versions under a new inode (mv)"});
}

/// The name under which the dynamic linker opens the file and no other: it compares names before
/// inodes, and would hand out what it once loaded from the same path.
std::string name_for_linker(const std::string& path, const FileIdentity& identity) {
  const std::lock_guard lock(process().mutex);
  std::vector<FileIdentity>& before = process().at_path[path];
  auto at = std::find(before.begin(), before.end(), identity);
  if (at == before.end()) at = before.insert(before.end(), identity);
  std::string name = path;
  for (auto each = before.begin(); each != at; ++each) name.insert(name.rfind('/') + 1, "./");
  return name;
}

FileResult<LoadedPlugin*> map_file(const FoundFile& file) {
  const std::string& path = file.record.path;
  if (auto ok = claim_inode(file.identity); !ok) return tl::unexpected(std::move(ok).error());
  // Its constructors run here, and those of the libraries that it needs.
  const FloatingEnvironment floating;
  const std::vector<MemoryRange> before = mapped_objects();
  auto object = map_and_find(name_for_linker(path, file.identity), TENON_PLUGIN_SYMBOL);
  const bool changed = floating.restore();
  keep_plugin_code(
      file.record.id, before, object ? reinterpret_cast<std::uintptr_t>(object->symbol) : 0);
  if (!object) {
    if (object.error().code != TENON_NOT_FOUND) {  // else it is mapped and lacks the symbol
      const std::lock_guard lock(process().mutex);
      process().mapped.erase({file.identity.device, file.identity.inode});
    }
    return tl::unexpected(std::move(object).error());
  }
  if (identify(path) != file.identity) {
    return tl::unexpected(PluginFault{
        PluginStage::kLoad,
        TENON_IO,
        "the file was replaced while it was loaded; what was mapped is not what was vetted"});
  }
  auto table = normalise_plugin(
      static_cast<const tenon_plugin*>(object->symbol), &*file.elf.note, &object->image);
  if (!table) return tl::unexpected(std::move(table).error());
  std::string build = file.elf.build_id;
  if (build.empty()) {  // nothing better tells two builds apart then
    build = fmt::format(
        "{}-{}-{}", file.record.version, file.identity.size_bytes, file.identity.modified_ns);
  }
  auto* plugin = new Plugin(*table, path, file.elf.build_id, std::move(build), note_started);
  if (changed) plugin->changes_when_loaded();
  const std::lock_guard lock(process().mutex);
  process().loaded.push_back(plugin);
  return plugin;
}

}  // namespace

FileResult<LoadedPlugin*> load_file(const FoundFile& file,
                                    const std::function<FileResult<void>()>& before) {
  const FileIdentity& id = file.identity;
  OnceState<FileResult<LoadedPlugin*>>* once = nullptr;
  {
    const std::lock_guard lock(process().mutex);
    once = &process().files[{id.device, id.inode, id.size_bytes, id.modified_ns}];
  }
  // A failure is no reason not to try again: a missing dependency may be there the next time.
  return once->run(
      [&]() -> FileResult<LoadedPlugin*> {
        if (before) {
          if (auto ok = before(); !ok) return tl::unexpected(std::move(ok).error());
        }
        return map_file(file);
      },
      tl::unexpected(PluginFault{
          PluginStage::kLoad, TENON_INTERNAL, "its constructors made a Runtime that loads it"}),
      /*keep_failure=*/false);
}

FileResult<LoadedPlugin*> load_static(const tenon_plugin* plugin) {
  OnceState<FileResult<LoadedPlugin*>>* once = nullptr;
  {
    const std::lock_guard lock(process().mutex);
    once = &process().statics[plugin];
  }
  return once->run(
      [&]() -> FileResult<LoadedPlugin*> {
        auto table = normalise_plugin(plugin, nullptr, nullptr);
        if (!table) return tl::unexpected(std::move(table).error());
        const std::string version(table->version.data, table->version.size_bytes);
        return new Plugin(*table, "static", "", "static-" + version, note_started);
      },
      tl::unexpected(
          PluginFault{PluginStage::kValidate, TENON_INTERNAL, "it is being taken already"}));
}

std::vector<std::string> mapped_besides(std::string_view id, const LoadedPlugin& plugin) {
  std::vector<std::string> others;
  const std::lock_guard lock(process().mutex);
  for (const Plugin* each : process().loaded) {
    const PluginInfo& info = each->info();
    if (each != &plugin && info.id == id)
      others.push_back(fmt::format("{} at '{}'", info.version, info.path));
  }
  return others;
}

std::vector<const tenon_plugin*> static_plugins() {
  const std::lock_guard lock(process().mutex);
  return process().registered;
}

}  // namespace tenon::loader

namespace tenon {

void shutdown() {
  auto& process = loader::process();
  if (process.shut_down.exchange(true)) return;
  std::vector<loader::Plugin*> started;
  {
    const std::lock_guard lock(process.mutex);
    started.swap(process.started);
  }
  for (auto plugin = started.rbegin(); plugin != started.rend(); ++plugin) (*plugin)->shut_down();
}

bool is_shut_down() noexcept { return loader::process().shut_down.load(); }

Result<void> register_static(const tenon_plugin* plugin) {
  if (plugin == nullptr) return fail(ErrorCode::kUsageError, "register_static: a null plugin");
  auto& process = loader::process();
  const std::lock_guard lock(process.mutex);
  auto& list = process.registered;
  if (std::find(list.begin(), list.end(), plugin) == list.end()) list.push_back(plugin);
  return {};
}

}  // namespace tenon
