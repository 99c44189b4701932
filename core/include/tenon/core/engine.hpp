// Engine: one Runtime's registry, devices and options, from which ops are made. Knows no files.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/device_table.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/registry.hpp"
#include "tenon/core/value.hpp"

namespace tenon {

class Op;

/// A setting with where it came from ("default", "tenon.yaml:3", "TENON_TARGET", "command line",
/// "api").
template <class T>
struct Setting {
  T value{};
  std::string from = "default";
};

/// selection.reference and selection.copies.
enum class ReferencePolicy : std::uint8_t { kAllow, kWarn, kError };
enum class CopyPolicy : std::uint8_t { kAllow, kNever };
/// tuning.mode. Off: results are neither read nor kept. Use: kept ones are read. Tune: besides,
/// every kernel that has none is tuned as soon as it is built.
enum class TuningMode : std::uint8_t { kOff, kUse, kTune };

/// What the user decides about selection.
struct SelectionOptions {
  Setting<ReferencePolicy> reference{ReferencePolicy::kWarn, "default"};
  Setting<CopyPolicy> copies{CopyPolicy::kAllow, "default"};
  Setting<bool> deterministic{false, "default"};
  Setting<std::vector<std::string>> prefer;  ///< plugin ids, the most wanted first
};

/// Settings under ops.<Op>.
struct OpOptions {
  std::optional<Setting<std::string>> target;
  std::optional<Setting<std::vector<std::string>>> prefer;
  std::map<std::string, Setting<std::string>> kernel;  ///< interface -> "plugin:key"
  std::vector<Setting<std::string>> disable;           ///< "plugin:key"
};

/// Everything that configuration decides for an engine.
struct EngineOptions {
  std::optional<Setting<std::string>> target;          ///< `target` of the configuration
  std::optional<Setting<std::string>> default_device;  ///< `devices.default`
  SelectionOptions selection;
  std::map<std::string, OpOptions, std::less<>> ops;  ///< by full name
  Setting<TuningMode> tuning{TuningMode::kOff, "default"};
  std::uint64_t tuning_budget_ns = 500'000'000;  ///< of one kernel
  std::uint32_t call_keys_per_instance = 256;
  std::uint32_t built_entries = 4096;
  /// Keys that configuration took out, and the setting that did: for explain. (Plugins that it took
  /// out have records.)
  std::vector<std::pair<std::string, std::string>> excluded;
};

/// What an engine has done and holds. Read at any time, each number by itself.
struct EngineCounters {
  std::size_t instances = 0;          ///< that live now, sub-ops included
  std::size_t kernels_built = 0;      ///< since the start
  std::size_t kernels_live = 0;       ///< that instances hold now
  std::size_t kernels_evicted = 0;    ///< taken from instances to keep `caches.entries`
  std::size_t call_keys_evicted = 0;  ///< to keep `caches.call_keys_per_instance`
  std::size_t sub_ops_evicted = 0;    ///< held by composite instances, to the same number
  std::size_t kernels_tuned = 0;      ///< by this engine, results that were read not counted
};

/// Receives log lines. level: TENON_LOG_*. [any-thread]
using LogSink = std::function<void(int level, std::string_view component, std::string_view text)>;

/// Options of one instance, beside its construction parameters.
struct InstanceOptions {
  std::optional<std::string> target;  ///< "builtin", a kind, a builder target, "KIND:2"
  std::map<std::string, std::string> kernel_override;  ///< interface -> "plugin:key"
  std::optional<bool> deterministic;
  std::optional<CopyPolicy> copies;
  std::vector<std::string> assumed_kinds;  ///< device kinds that count as present, for explain
  std::vector<std::pair<std::string, Tensor>> tensors;  ///< construction-time tensors
  /// Stage of a composite op -> the sub-op to use there, instead of one that the op makes.
  std::map<std::string, std::shared_ptr<Op>> delegates;
};

/// Registry, devices, options and built kernels of one Runtime. [any-thread] unless marked.
class Engine : public std::enable_shared_from_this<Engine> {
 public:
  static std::shared_ptr<Engine> create(EngineOptions options, LogSink log);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] Registry& registry();
  [[nodiscard]] DeviceTable& devices();
  [[nodiscard]] const EngineOptions& options() const;
  void log(int level, std::string_view component, std::string_view text) const;

  /// Makes an op instance from the current snapshot.
  /// @errors OpNotFound, SignatureMismatch, UnknownTarget.
  Result<Op> make(std::string_view op,
                  std::span<const NamedValue> params = {},
                  const InstanceOptions& options = {});

  /// The process-wide choice between the instance's own and the configuration's target; empty takes
  /// it back. Takes effect at the next call of every instance without a target of its own. @errors
  /// UnknownTarget.
  Result<void> set_default_target(std::string target, std::string from = "api");
  [[nodiscard]] Setting<std::string> default_target() const;

  /// Where something without a tensor lives: devices.default, else the requested target's device,
  /// else cpu:0.
  [[nodiscard]] Result<Device> default_device() const;

  [[nodiscard]] EngineCounters counters() const;

  /// A key for an instance: process-wide, never reused.
  [[nodiscard]] static std::uint64_t next_instance_key();

  struct Internals;  ///< the runtime's own
  [[nodiscard]] Internals& internals() { return *internals_; }

 private:
  Engine(EngineOptions options, LogSink log);
  std::unique_ptr<Internals> internals_;
};

}  // namespace tenon
