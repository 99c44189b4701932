// The steps of a probe, with host services that do nothing but give memory and default options.
#include "probe/child.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <time.h>
#include <vector>

#include "tenon/core/plugin_record.hpp"
#include "tenon/loader/abi_version.hpp"
#include "tenon/loader/memory_map.hpp"
#include "tenon/loader/plugin_library.hpp"
#include "tenon/plugin.h"

namespace tenon::probe {
namespace {

// As the host takes them.
constexpr std::uint32_t kMaxDevices = 1024;
constexpr std::uint64_t kMaxRunsArchs = 4096;

std::string_view view_of(tenon_str text) {
  return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size_bytes);
}

/// What the host table stands on here.
struct Services {
  tenon_plugin plugin{};
  std::vector<tenon_device_kind> kinds;
  std::uint64_t kernel_types = 0;
  std::uint64_t targets = 0;
};

Services& of(const tenon_host* host) { return *static_cast<Services*>(host->context); }

void log(const tenon_host*, std::int32_t, tenon_str) {}
void* alloc(const tenon_host*, std::uint64_t size_bytes, std::uint64_t align_bytes) {
  void* memory = nullptr;
  const std::uint64_t align = std::max<std::uint64_t>(align_bytes, sizeof(void*));
  const std::uint64_t size = std::max<std::uint64_t>(size_bytes, 1);
  return (align & (align - 1)) == 0 && posix_memalign(&memory, align, size) == 0 ? memory : nullptr;
}
void dealloc(const tenon_host*, void* memory, std::uint64_t, std::uint64_t) { std::free(memory); }
tenon_status device_alloc(
    const tenon_host*, const tenon_device*, std::uint32_t, std::uint64_t, void*, void**) {
  return TENON_NOT_FOUND;
}
tenon_status device_free(const tenon_host*, const tenon_device*, void*, void*) { return TENON_OK; }
tenon_status option(const tenon_host* host, tenon_str name, tenon_value* out) {
  const tenon_plugin& plugin = of(host).plugin;
  for (std::uint64_t i = 0; i < plugin.n_options; ++i) {
    if (view_of(plugin.options[i].name) != view_of(name)) continue;
    *out = plugin.options[i].default_value;
    return TENON_OK;
  }
  return TENON_NOT_FOUND;
}
tenon_status cache_get(
    const tenon_host*, tenon_str, void*, std::uint64_t, std::uint64_t* size_bytes) {
  *size_bytes = 0;
  return TENON_NOT_FOUND;
}
tenon_status cache_put(const tenon_host*, tenon_str, const void*, std::uint64_t) {
  return TENON_IO;  // as where no store can be written: what a plugin must expect
}
const void* extension(const tenon_host*, tenon_str, std::uint32_t) { return nullptr; }

tenon_host host_of(Services& services) {
  tenon_host host{};
  host.struct_size = sizeof host;
  host.abi_major = TENON_ABI_MAJOR;
  host.abi_minor = TENON_ABI_MINOR;
  host.context = &services;
  host.log = log;
  host.alloc = alloc;
  host.dealloc = dealloc;
  host.device_alloc = device_alloc;
  host.device_free = device_free;
  host.option = option;
  host.cache_get = cache_get;
  host.cache_put = cache_put;
  host.extension = extension;
  return host;
}

// Rows are judged where they are used; here only the plugin's own code is of interest.
tenon_status add_device_kind(void* context, const tenon_device_kind* kind, tenon_reason*) {
  const auto map = loader::MemoryMap::of_process();
  if (!map.readable(kind, sizeof kind->struct_size)) return TENON_INVALID_ARGUMENT;
  const std::uint64_t size = std::min<std::uint64_t>(kind->struct_size, sizeof *kind);
  if (!map.readable(kind, size)) return TENON_INVALID_ARGUMENT;
  tenon_device_kind copy{};
  std::memcpy(static_cast<void*>(&copy), kind, size);
  const bool callable = map.executable(loader::address_of(copy.count)) &&
                        map.executable(loader::address_of(copy.describe));
  if (callable) static_cast<Services*>(context)->kinds.push_back(copy);
  return TENON_OK;
}
tenon_status add_kernel_types(
    void* context, const tenon_kernel_type*, std::uint64_t count, std::uint64_t, tenon_reason*) {
  static_cast<Services*>(context)->kernel_types += count;
  return TENON_OK;
}
tenon_status add_target(void* context, const tenon_target*, tenon_reason*) {
  ++static_cast<Services*>(context)->targets;
  return TENON_OK;
}

/// "1 target", "2 targets".
std::string counted(std::uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string text_of(const tenon_reason& reason) {
  return {reason.text, strnlen(reason.text, sizeof reason.text)};
}

/// Calls a function of the plugin. Empty where it came back with OK, else why not.
template <class F>
std::string call(tenon_reason& reason, F&& function) {
  reason = {};
  reason.struct_size = sizeof reason;
  reason.arg_index = -1;
  try {
    const tenon_status status = function();
    if (status == TENON_OK) return {};
    const std::string text = text_of(reason);
    const std::string name(status_name(status));
    return text.empty() ? name + ", without a text" : name + ": " + text;
  } catch (const std::exception& error) {
    return std::string("threw an exception: ") + error.what();
  } catch (...) {
    return "threw an exception of an unknown kind";
  }
}

std::size_t thread_count() {
  std::error_code error;
  std::size_t count = 0;
  for (std::filesystem::directory_iterator it("/proc/self/task", error), end; !error && it != end;
       it.increment(error)) {
    ++count;
  }
  return count;
}

/// Overwrites what the last call left on the stack and in freed blocks of usual sizes, as the next
/// calls of a program would do sooner or later: a text that lay there is none any more.
[[gnu::noinline]] void forget() {
  constexpr unsigned char kNoText = 0xFF;
  volatile unsigned char stack[8192];
  for (volatile unsigned char& byte : stack) byte = kNoText;
  constexpr std::size_t kLargest = 1024;
  constexpr std::size_t kStep = 16;
  std::vector<void*> blocks;
  for (std::size_t size = kStep; size <= kLargest; size += kStep) {
    void* const block = std::malloc(size);
    if (block != nullptr) std::memset(block, kNoText, size);
    blocks.push_back(block);
  }
  for (void* const block : blocks) std::free(block);
}

/// What is wrong with a text of a device; empty where nothing is.
std::string text_fault(const loader::MemoryMap& map, const char* field, tenon_str text) {
  constexpr std::uint64_t kMostBytes = 4096;
  if (text.size_bytes == 0) return {};
  if (text.size_bytes > kMostBytes)
    return std::string(field) + " is a text of " + std::to_string(text.size_bytes) + " bytes";
  if (text.data == nullptr || !map.readable(text.data, text.size_bytes))
    return std::string(field) + " points to no memory that can be read";
  const std::string_view bytes = view_of(text);
  const bool has_control = std::any_of(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  if (has_control || !loader::is_utf8(bytes))
    return std::string(field) + " is no printable text in UTF-8";
  return {};
}

/// The first fault of a described device's texts, read after what describe left behind is gone.
std::string texts_fault(const tenon_device& device) {
  forget();
  const auto map = loader::MemoryMap::of_process();
  std::string fault = text_fault(map, "name", device.name);
  if (fault.empty()) fault = text_fault(map, "arch", device.arch);
  if (fault.empty()) fault = text_fault(map, "pci", device.pci);
  if (fault.empty()) fault = text_fault(map, "uuid", device.uuid);
  const std::uint64_t archs = fault.empty() ? device.n_runs_archs : 0;
  if (archs > kMaxRunsArchs)
    return "runs_archs has " + std::to_string(archs) + " tags, at most " +
           std::to_string(kMaxRunsArchs) + " are believed";
  if (archs != 0 && !map.readable(device.runs_archs, archs * sizeof(tenon_str)))
    return "runs_archs points to no memory that can be read";
  for (std::uint64_t i = 0; i < archs && fault.empty(); ++i)
    fault = text_fault(map, "runs_archs", device.runs_archs[i]);
  return fault;
}

void try_device(const tenon_device_kind& kind,
                const std::string& name,
                std::uint32_t index,
                Record& record) {
  tenon_reason reason{};
  tenon_device device{};
  device.struct_size = sizeof device;
  record.begin("describe " + name + ':' + std::to_string(index));
  std::string fault =
      call(reason, [&] { return kind.describe(kind.context, index, &device, &reason); });
  if (fault.empty()) fault = texts_fault(device);
  if (fault.empty()) return record.end(view_of(device.name));
  record.fault(fault);
}

/// Counts and describes the devices of every kind. An error is told, and the plugin survives: the
/// same answer is met where the devices are needed, and its other kinds may work.
void try_devices(const Services& services, Record& record) {
  tenon_reason reason{};
  for (const tenon_device_kind& kind : services.kinds) {
    const std::string name(view_of(kind.kind).substr(0, 64));
    std::uint32_t count = 0;
    record.begin("count " + name);
    std::string fault = call(reason, [&] { return kind.count(kind.context, &count, &reason); });
    if (fault.empty() && count > kMaxDevices) {
      fault =
          counted(count, "device") + "; at most " + std::to_string(kMaxDevices) + " are believed";
    }
    if (!fault.empty()) {
      record.fault(fault);
      continue;
    }
    const std::string why_none = count == 0 ? text_of(reason) : std::string();
    record.end(counted(count, "device") + (why_none.empty() ? "" : ": " + why_none));
    for (std::uint32_t i = 0; i < count; ++i) try_device(kind, name, i, record);
  }
}

}  // namespace

void try_plugin(const std::string& file, bool devices, Record& record) {
  const std::size_t threads_before = thread_count();
  record.begin("load");
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* why = dlerror();
    record.end(why == nullptr ? "the dynamic linker refuses it" : why);
    return record.failed("load");
  }
  record.end();

  record.begin("check");
  const void* object = dlsym(handle, TENON_PLUGIN_SYMBOL);
  if (object == nullptr) {
    record.end("no entry symbol " TENON_PLUGIN_SYMBOL);
    return record.failed("check");
  }
  // It stays for the process, as the plugin may expect: its destructors may call it.
  static Services& services = *new Services();
  static tenon_host host;
  host = host_of(services);
  const auto image = loader::LoadedImage::of_handle(handle);
  auto table = loader::normalise_plugin(static_cast<const tenon_plugin*>(object), nullptr, &image);
  if (!table) {
    record.end(table.error().text);
    return record.failed("check");
  }
  services.plugin = *table;
  record.end();

  tenon_reason reason{};
  void* self = nullptr;
  record.begin("init");
  std::string fault = call(reason, [&] { return table->init(&host, &self, &reason); });
  record.end(fault);
  if (!fault.empty()) return record.failed("init");

  tenon_registrar registrar{};
  registrar.struct_size = sizeof registrar;
  registrar.context = &services;
  registrar.add_device_kind = add_device_kind;
  registrar.add_kernel_types = add_kernel_types;
  registrar.add_target = add_target;
  record.begin("enumerate");
  fault = call(reason, [&] { return table->enumerate(self, &registrar, &reason); });
  record.end(!fault.empty() ? fault
                            : counted(services.kernel_types, "kernel type") + ", " +
                                  counted(services.targets, "target") + ", " +
                                  counted(services.kinds.size(), "device kind"));
  if (!fault.empty()) return record.failed("enumerate");
  if (devices) try_devices(services, record);

  // A thread that the plugin started gets a moment to show what it is up to.
  if (thread_count() > threads_before) {
    constexpr timespec kMoment{0, 200'000'000};
    record.begin("threads");
    nanosleep(&kMoment, nullptr);
    record.end();
  }
  record.ok();
}

}  // namespace tenon::probe
