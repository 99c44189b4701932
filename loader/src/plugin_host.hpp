// The host services of one plugin: its tenon_host table and what stands behind it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "plugin_cache.hpp"
#include "tenon/core/engine.hpp"
#include "tenon/core/value.hpp"
#include "tenon/plugin.h"

namespace tenon::loader {

/// Made once per plugin and never freed: the plugin keeps the table for the process.
class PluginHost {
 public:
  explicit PluginHost(std::string id);
  PluginHost(const PluginHost&) = delete;
  PluginHost& operator=(const PluginHost&) = delete;

  [[nodiscard]] const tenon_host* table() const { return &table_; }
  /// Lets the services reach a Runtime: the last attached one that still lives serves.
  void attach(const std::shared_ptr<Engine>& engine);
  /// The folder is fixed by the first Runtime that has one.
  void use_cache(const std::string& directory, const std::string& build);
  /// Values are fixed before init; names are the declared ones.
  void set_option(const std::string& name, const Value& value);
  /// From now on every service that can answers SHUT_DOWN.
  void close() { closed_.store(true, std::memory_order_release); }

  void log(int level, std::string_view text) const;

 private:
  struct Block {
    Device device;
    std::uint32_t memory_kind = 0;
    std::uint64_t size_bytes = 0;
  };
  struct Services;  // the functions of the table

  [[nodiscard]] bool closed() const { return closed_.load(std::memory_order_acquire); }
  [[nodiscard]] std::vector<std::shared_ptr<Engine>> engines() const;
  tenon_status device_alloc(const tenon_device& device,
                            std::uint32_t memory_kind,
                            std::uint64_t size_bytes,
                            void* stream,
                            void** out);
  /// What a launch that asks for memory gets.
  tenon_status refuse_in_launch();
  tenon_status device_free(void* memory, void* stream);
  tenon_status option(std::string_view name, tenon_value* out) const;
  tenon_status cache_get(std::string_view key,
                         void* out,
                         std::uint64_t capacity_bytes,
                         std::uint64_t* size_bytes) const;
  tenon_status cache_put(std::string_view key, std::span<const std::byte> bytes);

  std::string id_;
  tenon_host table_{};
  std::atomic<bool> closed_{false};
  std::atomic<bool> complained_of_launch_{false};
  mutable std::mutex mutex_;  // guards the tables below, never a call into a plugin
  std::vector<std::weak_ptr<Engine>> engines_;
  std::map<void*, Block> blocks_;
  std::map<std::string, tenon_value, std::less<>> options_;
  std::deque<std::string> texts_;  // what string options point into; never moves
  PluginCache cache_;
  bool has_cache_ = false;
  bool put_complained_ = false;
};

}  // namespace tenon::loader
