// Plugins in this process: mapped once, started once, never unloaded.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/engine.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/registry.hpp"
#include "tenon/core/value.hpp"
#include "tenon/loader/discovery.hpp"
#include "tenon/loader/memory_map.hpp"
#include "tenon/plugin.h"

namespace tenon {

/// Ends the use of plugins: calls the shutdown of each one that was started, in reverse order, once
/// per process. Afterwards their host services answer SHUT_DOWN and no Runtime can be made. Nothing
/// else calls it: neither return from main nor exit() runs any code of a plugin. [any-thread]
void shutdown();
[[nodiscard]] bool is_shut_down() noexcept;

/// Makes a plugin that is linked into the program known to every Runtime made from now on.
/// Owner static. @errors UsageError: null.
Result<void> register_static(const tenon_plugin* plugin);

}  // namespace tenon

namespace tenon::loader {

/// One option of a plugin as the configuration sets it.
struct OptionSetting {
  std::string name;
  Value value;
  std::string where;
};

/// A plugin that is mapped into this process. One object per file and process, never freed.
class LoadedPlugin {
 public:
  virtual ~LoadedPlugin() = default;
  LoadedPlugin(const LoadedPlugin&) = delete;
  LoadedPlugin& operator=(const LoadedPlugin&) = delete;

  [[nodiscard]] virtual const PluginInfo& info() const = 0;
  /// The exported object, copied and checked.
  [[nodiscard]] virtual const tenon_plugin& table() const = 0;
  /// YAML of ops in the plugin's own namespace; may be empty.
  [[nodiscard]] virtual std::string_view manifest() const = 0;

  /// Checks settings against the declared options and fixes the values; the first Runtime of the
  /// process decides, and a later one that wants others is told in `log`.
  /// @errors ConfigInvalid: unknown option (the known ones are named), wrong kind.
  virtual Result<void> set_options(const std::vector<OptionSetting>& settings,
                                   std::vector<LogLine>& log) = 0;
  /// Lets the host services reach a Runtime, and runs `init` if nobody has yet.
  /// @errors stage validate.
  virtual FileResult<void> start(const std::shared_ptr<Engine>& engine,
                                 const std::string& cache_directory) = 0;
  /// Runs `enumerate` for one Runtime; one thread at a time. @errors stage validate.
  virtual FileResult<void> enumerate(const PluginTransaction& transaction) = 0;

 protected:
  LoadedPlugin() = default;
};

/// Maps a vetted file and takes its object, once per process and file. No lock is held meanwhile.
/// `before` is asked first, where the file is not mapped yet; its fault is the result.
/// @errors stage load with the system's own reason, stage validate.
[[nodiscard]] FileResult<LoadedPlugin*> load_file(
    const FoundFile& file, const std::function<FileResult<void>()>& before = {});
/// "1.2.0 at '/path'" of every other file that this process mapped for a plugin of that id: code
/// is never unmapped.
[[nodiscard]] std::vector<std::string> mapped_besides(std::string_view id,
                                                      const LoadedPlugin& plugin);
/// Takes the object of a plugin that is linked in.
[[nodiscard]] FileResult<LoadedPlugin*> load_static(const tenon_plugin* plugin);
/// Every plugin given to register_static, in that order.
[[nodiscard]] std::vector<const tenon_plugin*> static_plugins();

/// Checks an exported object and copies it: where it lies, sizes, required functions, texts
/// (docs/abi.md). `note` and `image` are null for a static plugin. `map` says what may be read;
/// null: what the process can read now. @errors stage validate.
[[nodiscard]] FileResult<tenon_plugin> normalise_plugin(const tenon_plugin* object,
                                                        const PluginNote* note,
                                                        const LoadedImage* image,
                                                        const MemoryMap* map = nullptr);

}  // namespace tenon::loader
