// Host services: log, memory, options and the store, as C functions that let no exception through.
#include "plugin_host.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "tenon/core/device_table.hpp"
#include "tenon/core/plugin_calls.hpp"
#include "tenon/loader/printable.hpp"

namespace tenon::loader {
namespace {

std::string_view view_of(tenon_str text) {
  return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size_bytes);
}

tenon_status status_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kOutOfMemory:
      return TENON_OUT_OF_MEMORY;
    case ErrorCode::kShutDown:
      return TENON_SHUT_DOWN;
    case ErrorCode::kDeviceError:
      return TENON_DEVICE;
    default:
      return TENON_INTERNAL;
  }
}

}  // namespace

/// The table's functions. Everything may be called from any thread.
struct PluginHost::Services {
  static PluginHost& of(const tenon_host* host) { return *static_cast<PluginHost*>(host->context); }

  /// Runs a service that answers with a status; nothing leaves it but that.
  template <class F>
  static tenon_status answer(const tenon_host* host, F&& work) noexcept {
    try {
      if (of(host).closed()) return TENON_SHUT_DOWN;
      return work(of(host));
    } catch (const std::bad_alloc&) {
      return TENON_OUT_OF_MEMORY;
    } catch (...) {
      return TENON_INTERNAL;
    }
  }

  static void log(const tenon_host* host, std::int32_t level, tenon_str text) noexcept {
    try {
      if (!of(host).closed()) of(host).log(level, view_of(text));
    } catch (...) {  // a log line is not worth a crash; there is nobody to tell
    }
  }
  static void* alloc(const tenon_host* host,
                     std::uint64_t size_bytes,
                     std::uint64_t align_bytes) noexcept {
    const std::uint64_t align = std::max<std::uint64_t>(align_bytes, sizeof(void*));
    if (of(host).closed() || (align & (align - 1)) != 0) return nullptr;
    void* memory = nullptr;
    const std::uint64_t size = std::max<std::uint64_t>(size_bytes, 1);
    return posix_memalign(&memory, align, size) == 0 ? memory : nullptr;
  }
  static void dealloc(const tenon_host*, void* memory, std::uint64_t, std::uint64_t) noexcept {
    std::free(memory);
  }
  static tenon_status device_alloc(const tenon_host* host,
                                   const tenon_device* device,
                                   std::uint32_t memory_kind,
                                   std::uint64_t size_bytes,
                                   void* stream,
                                   void** out) noexcept {
    return answer(host, [&](PluginHost& self) {
      if (device == nullptr || out == nullptr) return TENON_INVALID_ARGUMENT;
      if (is_launching()) return self.refuse_in_launch();
      return self.device_alloc(*device, memory_kind, size_bytes, stream, out);
    });
  }
  static tenon_status device_free(const tenon_host* host,
                                  const tenon_device*,
                                  void* memory,
                                  void* stream) noexcept {
    return answer(host, [&](PluginHost& self) { return self.device_free(memory, stream); });
  }
  static tenon_status option(const tenon_host* host, tenon_str name, tenon_value* out) noexcept {
    return answer(host, [&](PluginHost& self) {
      return out == nullptr ? TENON_INVALID_ARGUMENT : self.option(view_of(name), out);
    });
  }
  static tenon_status cache_get(const tenon_host* host,
                                tenon_str key,
                                void* out,
                                std::uint64_t capacity_bytes,
                                std::uint64_t* size_bytes) noexcept {
    return answer(host, [&](PluginHost& self) {
      if (size_bytes == nullptr || (out == nullptr && capacity_bytes != 0)) {
        return TENON_INVALID_ARGUMENT;
      }
      return self.cache_get(view_of(key), out, capacity_bytes, size_bytes);
    });
  }
  static tenon_status cache_put(const tenon_host* host,
                                tenon_str key,
                                const void* bytes,
                                std::uint64_t size_bytes) noexcept {
    return answer(host, [&](PluginHost& self) {
      if (bytes == nullptr && size_bytes != 0) return TENON_INVALID_ARGUMENT;
      return self.cache_put(view_of(key), {static_cast<const std::byte*>(bytes), size_bytes});
    });
  }
  static const void* extension(const tenon_host*, tenon_str, std::uint32_t) noexcept {
    return nullptr;  // this release has none
  }
};

PluginHost::PluginHost(std::string id) : id_(std::move(id)) {
  table_.struct_size = sizeof table_;
  table_.abi_major = TENON_ABI_MAJOR;
  table_.abi_minor = TENON_ABI_MINOR;
  table_.context = this;
  table_.log = Services::log;
  table_.alloc = Services::alloc;
  table_.dealloc = Services::dealloc;
  table_.device_alloc = Services::device_alloc;
  table_.device_free = Services::device_free;
  table_.option = Services::option;
  table_.cache_get = Services::cache_get;
  table_.cache_put = Services::cache_put;
  table_.extension = Services::extension;
}

void PluginHost::attach(const std::shared_ptr<Engine>& engine) {
  const std::lock_guard lock(mutex_);
  std::erase_if(engines_, [&](const std::weak_ptr<Engine>& each) {
    const auto alive = each.lock();
    return alive == nullptr || alive == engine;
  });
  engines_.push_back(engine);
}

void PluginHost::use_cache(const std::string& directory, const std::string& build) {
  const std::lock_guard lock(mutex_);
  if (has_cache_ || directory.empty()) return;
  cache_ = PluginCache(directory, id_, build);
  has_cache_ = true;
}

std::vector<std::shared_ptr<Engine>> PluginHost::engines() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Engine>> alive;
  for (auto each = engines_.rbegin(); each != engines_.rend(); ++each) {
    if (auto engine = each->lock()) alive.push_back(std::move(engine));
  }
  return alive;
}

void PluginHost::log(int level, std::string_view text) const {
  constexpr std::size_t kMaxBytes = 8192;
  const auto alive = engines();
  if (!alive.empty()) {
    // One call is one line, wherever the sink writes it.
    alive.front()->log(std::clamp(level, TENON_LOG_ERROR, TENON_LOG_DEBUG),
                       id_,
                       printable_line(text.substr(0, kMaxBytes)));
  }
}

tenon_status PluginHost::device_alloc(const tenon_device& device,
                                      std::uint32_t memory_kind,
                                      std::uint64_t size_bytes,
                                      void* stream,
                                      void** out) {
  const std::string_view name = view_of(device.kind);
  for (const auto& engine : engines()) {
    DeviceTable& devices = engine->devices();
    for (const DeviceKindEntry* kind : devices.kinds()) {
      if (kind->kind.name() != name) continue;
      const Device wanted{kind->kind, static_cast<std::int16_t>(device.index)};
      const auto entry = devices.find(wanted);
      if (!entry) return status_of(entry.error());
      const auto memory = devices.alloc(**entry, memory_kind, size_bytes, stream);
      if (!memory) return status_of(memory.error());
      *out = *memory;
      const std::lock_guard lock(mutex_);
      blocks_[*out] = {wanted, memory_kind, size_bytes};
      return TENON_OK;
    }
  }
  return TENON_NOT_FOUND;
}

tenon_status PluginHost::refuse_in_launch() {
  if (!complained_of_launch_.exchange(true)) {
    log(TENON_LOG_WARN,
        fmt::format(
            "a kernel of plugin '{}' calls device_alloc in its launch, where nothing may be "
            "allocated; it is refused: ask for a workspace instead "
            "(tenon_kernel.workspace), or allocate when the kernel is built",
            id_));
  }
  return TENON_INVALID_ARGUMENT;
}

tenon_status PluginHost::device_free(void* memory, void* stream) {
  if (memory == nullptr) return TENON_OK;
  Block block;
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(memory);
    if (found == blocks_.end()) return TENON_INVALID_ARGUMENT;
    block = found->second;
    blocks_.erase(found);
  }
  for (const auto& engine : engines()) {
    if (engine->devices().kind(block.device.kind) == nullptr) continue;
    // Of a lost or hidden device, too: what it gave is its owner's to take back.
    const auto all = engine->devices().devices(block.device.kind);
    if (!all) return status_of(all.error());
    const auto index = static_cast<std::size_t>(block.device.index);
    if (index >= all->size()) return TENON_UNAVAILABLE;
    engine->devices().free((*all)[index], block.memory_kind, memory, block.size_bytes, stream);
    return TENON_OK;
  }
  return TENON_UNAVAILABLE;  // the Runtime that knew the device is gone
}

void PluginHost::set_option(const std::string& name, const Value& value) {
  const std::lock_guard lock(mutex_);
  tenon_value out{};
  if (const auto* flag = value.get_if<bool>()) {
    out.kind = TENON_VALUE_BOOL;
    out.i = *flag ? 1 : 0;
  } else if (const auto* number = value.get_if<std::int64_t>()) {
    out.kind = TENON_VALUE_INT;
    out.i = *number;
  } else if (const auto* real = value.get_if<double>()) {
    out.kind = TENON_VALUE_FLOAT;
    out.f = *real;
  } else if (const auto* text = value.get_if<std::string>()) {
    texts_.push_back(*text);
    out.kind = TENON_VALUE_STR;
    out.count = texts_.back().size();
    out.data = texts_.back().data();
  }
  options_[name] = out;
}

tenon_status PluginHost::option(std::string_view name, tenon_value* out) const {
  const std::lock_guard lock(mutex_);
  const auto found = options_.find(name);
  if (found == options_.end()) return TENON_NOT_FOUND;
  *out = found->second;
  return TENON_OK;
}

tenon_status PluginHost::cache_get(std::string_view key,
                                   void* out,
                                   std::uint64_t capacity_bytes,
                                   std::uint64_t* size_bytes) const {
  *size_bytes = 0;
  PluginCache cache;
  {
    const std::lock_guard lock(mutex_);
    cache = cache_;
  }
  const auto bytes = cache.get(key);
  if (!bytes) return TENON_NOT_FOUND;
  *size_bytes = bytes->size();
  if (bytes->size() <= capacity_bytes && !bytes->empty()) {
    std::memcpy(out, bytes->data(), bytes->size());
  }
  return TENON_OK;
}

tenon_status PluginHost::cache_put(std::string_view key, std::span<const std::byte> bytes) {
  PluginCache cache;
  {
    const std::lock_guard lock(mutex_);
    cache = cache_;
  }
  const std::string reason = cache.put(key, bytes);
  if (reason.empty()) return TENON_OK;
  const bool first = [&] {
    const std::lock_guard lock(mutex_);
    return !std::exchange(put_complained_, true);
  }();
  if (first) log(TENON_LOG_INFO, "nothing is kept in the cache: " + reason);
  return TENON_IO;
}

}  // namespace tenon::loader
