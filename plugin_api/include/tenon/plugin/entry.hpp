// The plugin itself: the description that TENON_PLUGIN takes, the exported object and the identity
// note.
#pragma once

#include <array>
#include <cstdint>
#include <new>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "tenon/plugin/device_kind.hpp"
#include "tenon/plugin/guard.hpp"
#include "tenon/plugin/kernel_type.hpp"
#include "tenon/plugin/target.hpp"
#include "tenon/plugin/values.hpp"

namespace tenon {
inline namespace sdk {

/// Rows made in another source file, so that a plugin with many kernel types compiles in parallel:
/// `tenon::KernelRows norm_kernels() { return tenon::kernel_rows<ShortRowNorm, Rows>(); }`, then
/// `.rows(norm_kernels)`.
using KernelRows = Span<const tenon_kernel_type>;
template <class... KernelTypes>
[[nodiscard]] KernelRows kernel_rows() {
  static const std::array<tenon_kernel_type, sizeof...(KernelTypes)> kRows{
      detail::kernel_row<KernelTypes>()...};
  return KernelRows(kRows);
}

namespace detail {

template <class... T>
struct TypeList {};
template <class A, class B>
struct Joined;
template <class... A, class... B>
struct Joined<TypeList<A...>, TypeList<B...>> {
  using type = TypeList<A..., B...>;
};

/// A list of at most N, filled while compiling. More than N is a compile error at the `throw`.
template <class T, std::size_t N>
struct FixedList {
  std::array<T, N> items{};
  std::size_t count = 0;
  constexpr void add(T item) {
    if (count == N) throw "the plugin's description holds too many of these";
    items[count++] = item;
  }
};

/// What a plugin says of itself besides its classes.
struct PluginData {
  std::string_view id;
  std::string_view version;
  std::string_view vendor;
  std::string_view manifest;
  FixedList<tenon_str, 16> needs_kinds;
  FixedList<tenon_option, 32> options;
  FixedList<std::string_view, 32> archs;
  FixedList<std::string_view, 16> depends;
  FixedList<KernelRows (*)(), 64> rows;
  void (*on_init)(Host) = nullptr;
  void (*on_shutdown)() = nullptr;
};

template <class Devices, class Kernels, class Targets>
class PluginSpec;

}  // namespace detail

/// Begins a plugin's description: `plugin("acme",
/// "1.2.0").vendor("Acme").devices<...>().kernels<...>()`. All texts must be string literals. The
/// whole is a constant, so loading a plugin runs no constructor.
[[nodiscard]] constexpr auto plugin(const char* id, const char* version);

namespace detail {

template <class Devices, class Kernels, class Targets>
class PluginSpec {
 public:
  constexpr explicit PluginSpec(const PluginData& data) : data_(data) {}

  [[nodiscard]] constexpr PluginSpec vendor(const char* name) const {
    PluginData d = data_;
    d.vendor = name;
    return PluginSpec(d);
  }
  /// YAML of ops in the plugin's own namespace.
  [[nodiscard]] constexpr PluginSpec manifest(std::string_view yaml) const {
    PluginData d = data_;
    d.manifest = yaml;
    return PluginSpec(d);
  }
  /// Device kinds of other plugins that the rows name.
  template <class... Names>
  [[nodiscard]] constexpr PluginSpec needs_kinds(Names... names) const {
    PluginData d = data_;
    (d.needs_kinds.add(to_str(names)), ...);
    return PluginSpec(d);
  }
  /// An option under plugins.options.<id>; its kind is that of the default: bool, int, double or
  /// text.
  template <class T>
  [[nodiscard]] constexpr PluginSpec option(const char* name, T default_value) const {
    PluginData d = data_;
    d.options.add(tenon_option{to_str(name), option_kind<T>(), 0, option_value(default_value)});
    return PluginSpec(d);
  }
  /// Arch tags for the identity note, besides those of the classes in kernels<...>().
  template <class... Tags>
  [[nodiscard]] constexpr PluginSpec archs(Tags... tags) const {
    PluginData d = data_;
    (d.archs.add(tags), ...);
    return PluginSpec(d);
  }
  /// Absolute paths of files whose change makes an earlier probe of this plugin worthless.
  template <class... Paths>
  [[nodiscard]] constexpr PluginSpec depends(Paths... paths) const {
    PluginData d = data_;
    (d.depends.add(paths), ...);
    return PluginSpec(d);
  }
  /// Rows made by a function in another source file.
  [[nodiscard]] constexpr PluginSpec rows(KernelRows (*function)()) const {
    PluginData d = data_;
    d.rows.add(function);
    return PluginSpec(d);
  }
  /// Runs once when the host starts the plugin, before its device kinds are made; touches no
  /// driver; may throw.
  [[nodiscard]] constexpr PluginSpec on_init(void (*function)(Host)) const {
    PluginData d = data_;
    d.on_init = function;
    return PluginSpec(d);
  }
  /// Runs once on the host's explicit shutdown.
  [[nodiscard]] constexpr PluginSpec on_shutdown(void (*function)()) const {
    PluginData d = data_;
    d.on_shutdown = function;
    return PluginSpec(d);
  }
  template <class... T>
  [[nodiscard]] constexpr auto devices() const {
    return PluginSpec<typename Joined<Devices, TypeList<T...>>::type, Kernels, Targets>(data_);
  }
  template <class... T>
  [[nodiscard]] constexpr auto kernels() const {
    return PluginSpec<Devices, typename Joined<Kernels, TypeList<T...>>::type, Targets>(data_);
  }
  template <class... T>
  [[nodiscard]] constexpr auto targets() const {
    return PluginSpec<Devices, Kernels, typename Joined<Targets, TypeList<T...>>::type>(data_);
  }

  [[nodiscard]] constexpr const PluginData& data() const { return data_; }

 private:
  template <class T>
  static constexpr std::uint32_t option_kind() {
    if constexpr (std::is_same_v<T, bool>) return TENON_VALUE_BOOL;
    if constexpr (std::is_floating_point_v<T>) return TENON_VALUE_FLOAT;
    if constexpr (std::is_integral_v<T>) return TENON_VALUE_INT;
    return TENON_VALUE_STR;
  }
  template <class T>
  static constexpr tenon_value option_value(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      return {TENON_VALUE_FLOAT, 0, 0, 0, static_cast<double>(value), nullptr};
    } else if constexpr (std::is_integral_v<T>) {
      return {option_kind<T>(), 0, 0, static_cast<std::int64_t>(value), 0, nullptr};
    } else {
      const std::string_view text(value);
      return {TENON_VALUE_STR, 0, text.size(), 0, 0, text.data()};
    }
  }

  PluginData data_;
};

constexpr bool is_plugin_id(std::string_view id) {
  if (id.empty() || id[0] < 'a' || id[0] > 'z') return false;
  for (const char c : id) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) return false;
  }
  return true;
}
/// Numbers between dots: "1.2.0".
constexpr bool is_version(std::string_view version) {
  bool digit_before = false;
  for (const char c : version) {
    if (c == '.' && !digit_before) return false;
    if (c != '.' && (c < '0' || c > '9')) return false;
    digit_before = c != '.';
  }
  return digit_before;
}

/// Storage for one object that is made late and never by a static constructor.
template <class T>
struct Slot {
  alignas(T) unsigned char bytes[sizeof(T)];
  T* object;
  void make(Host host) {
    if (object != nullptr) return;  // a second init finds everything in place
    if constexpr (std::is_constructible_v<T, Host>) {
      object = new (bytes) T(host);
    } else {
      object = new (bytes) T();
    }
  }
  void destroy() noexcept {
    if (object != nullptr) object->~T();
    object = nullptr;
  }
};

/// The exported object of the plugin that `Spec` describes, and the functions behind it.
template <const auto& Spec>
class PluginEntry;

template <class Devices, class Kernels, class Targets>
struct PluginClasses;
template <class... D, class... K, class... T>
struct PluginClasses<TypeList<D...>, TypeList<K...>, TypeList<T...>> {
  static inline std::tuple<Slot<D>...> device_slots{};
  static inline std::tuple<Slot<T>...> target_slots{};

  static void make_all([[maybe_unused]] Host host) {
    try {
      (std::get<Slot<D>>(device_slots).make(host), ...);
      (std::get<Slot<T>>(target_slots).make(host), ...);
    } catch (...) {
      destroy_all();
      throw;
    }
  }
  static void destroy_all() noexcept {
    (std::get<Slot<T>>(target_slots).destroy(), ...);
    (std::get<Slot<D>>(device_slots).destroy(), ...);
  }

  static tenon_status add_all(const tenon_registrar& to, tenon_reason* reason) {
    tenon_status status = TENON_OK;
    [[maybe_unused]] const auto add_kind = [&](const tenon_device_kind& row) {
      if (status == TENON_OK) status = to.add_device_kind(to.context, &row, reason);
    };
    (add_kind(device_kind_row(std::get<Slot<D>>(device_slots).object)), ...);
    if constexpr (sizeof...(K) > 0) {
      if (status == TENON_OK) {
        const tenon_kernel_type rows[] = {kernel_row<K>()...};
        status =
            to.add_kernel_types(to.context, rows, sizeof...(K), sizeof(tenon_kernel_type), reason);
      }
    }
    [[maybe_unused]] const auto add_target = [&](const tenon_target& row) {
      if (status == TENON_OK) status = to.add_target(to.context, &row, reason);
    };
    (add_target(target_row(std::get<Slot<T>>(target_slots).object)), ...);
    return status;
  }

  template <class Visit>
  static constexpr void each_arch(Visit&& visit) {
    (each_arch_of<K>(visit), ...);
  }
  template <class Kernel, class Visit>
  static constexpr void each_arch_of(Visit& visit) {
    for (const tenon_str& arch : KernelTables<Kernel>::kArchs) visit(to_view(arch));
  }
};

template <class D, class K, class T>
PluginClasses<D, K, T> classes_of(const PluginSpec<D, K, T>&);

template <const auto& Spec>
class PluginEntry {
  using Classes = decltype(classes_of(Spec));
  static constexpr const PluginData& data() { return Spec.data(); }
  static_assert(is_plugin_id(data().id), "a plugin's id is [a-z][a-z0-9-]*");
  static_assert(is_version(data().version),
                "a plugin's version is numbers between dots, such as 1.2.0");

  static tenon_status init(const tenon_host* host, void** self, tenon_reason* reason) noexcept {
    *self = nullptr;
    return guarded(reason, [&] {
      if (data().on_init != nullptr) data().on_init(Host(host));
      Classes::make_all(Host(host));
    });
  }
  static tenon_status enumerate(void*,
                                const tenon_registrar* registrar,
                                tenon_reason* reason) noexcept {
    return guarded(reason, [&]() -> tenon_status {
      tenon_status status = Classes::add_all(*registrar, reason);
      for (std::size_t i = 0; status == TENON_OK && i < data().rows.count; ++i) {
        const KernelRows rows = data().rows.items[i]();
        status = registrar->add_kernel_types(
            registrar->context, rows.data(), rows.size(), sizeof(tenon_kernel_type), reason);
      }
      return status;
    });
  }
  static void shutdown(void*) noexcept {
    static_cast<void>(guarded(nullptr, [&] {
      Classes::destroy_all();
      if (data().on_shutdown != nullptr) data().on_shutdown();
    }));
  }

 public:
  static constexpr tenon_plugin table() {
    return tenon_plugin{sizeof(tenon_plugin),
                        TENON_ABI_MAJOR,
                        TENON_ABI_MINOR,
                        TENON_TARGET_MINOR,
                        0,
                        to_str(data().id),
                        to_str(data().version),
                        to_str(data().vendor),
                        to_str(data().manifest),
                        data().needs_kinds.items.data(),
                        data().options.items.data(),
                        data().needs_kinds.count,
                        data().options.count,
                        &init,
                        &enumerate,
                        &shutdown};
  }

 private:
  // Lists of the note: each item once, a newline in between.
  struct ListWriter {
    char* out;  // null: count only
    std::size_t size_bytes;
    std::array<std::string_view, 256> seen;
    std::size_t seen_count;
    constexpr void operator()(std::string_view item) {
      for (std::size_t i = 0; i < seen_count; ++i) {
        if (seen[i] == item) return;
      }
      if (seen_count < seen.size()) seen[seen_count++] = item;
      if (size_bytes != 0) put('\n');
      for (const char c : item) put(c);
    }
    constexpr void put(char c) {
      if (out != nullptr) out[size_bytes] = c;
      ++size_bytes;
    }
  };
  static constexpr std::size_t put_archs(char* out) {
    ListWriter writer{out, 0, {}, 0};
    for (std::size_t i = 0; i < data().archs.count; ++i) writer(data().archs.items[i]);
    Classes::each_arch(writer);
    return writer.size_bytes;
  }
  static constexpr std::size_t put_depends(char* out) {
    ListWriter writer{out, 0, {}, 0};
    for (std::size_t i = 0; i < data().depends.count; ++i) writer(data().depends.items[i]);
    return writer.size_bytes;
  }
  static constexpr std::size_t kIdBytes = data().id.size() + 1;
  static constexpr std::size_t kVersionBytes = data().version.size() + 1;
  static constexpr std::size_t kArchsBytes = put_archs(nullptr) + 1;
  static constexpr std::size_t kDependsBytes = put_depends(nullptr) + 1;

 public:
  struct Note {
    tenon_note fixed;
    char texts[(kIdBytes + kVersionBytes + kArchsBytes + kDependsBytes + 3) / 4 * 4];
  };
  static constexpr Note note() {
    Note note{TENON_NOTE_FIXED(sizeof(Note), kIdBytes, kVersionBytes, kArchsBytes, kDependsBytes),
              {}};
    char* out = note.texts;
    for (std::size_t i = 0; i < data().id.size(); ++i) out[i] = data().id[i];
    out += kIdBytes;
    for (std::size_t i = 0; i < data().version.size(); ++i) out[i] = data().version[i];
    out += kVersionBytes;
    put_archs(out);
    put_depends(out + kArchsBytes);
    return note;
  }
};

}  // namespace detail

constexpr auto plugin(const char* id, const char* version) {
  detail::PluginData data{};
  data.id = id;
  data.version = version;
  return detail::PluginSpec<detail::TypeList<>, detail::TypeList<>, detail::TypeList<>>(data);
}

}  // namespace sdk
}  // namespace tenon

/// Defines the exported object and the identity note of the described plugin. Once per plugin, at
/// file scope.
#define TENON_PLUGIN(...)                                       \
  namespace {                                                   \
  constexpr auto tenon_plugin_spec = __VA_ARGS__;               \
  }                                                             \
  TENON_DETAIL_PLUGIN_NOTE                                      \
  extern "C" {                                                  \
  constexpr tenon_plugin TENON_PLUGIN_OBJECT =                  \
      ::tenon::detail::PluginEntry<tenon_plugin_spec>::table(); \
  }                                                             \
  static_assert(true, "")
#ifdef TENON_PLUGIN_STATIC
#define TENON_DETAIL_PLUGIN_NOTE
#else
#define TENON_DETAIL_PLUGIN_NOTE                                          \
  TENON_NOTE_ATTRIBUTES static constexpr auto tenon_note_of_this_plugin = \
      ::tenon::detail::PluginEntry<tenon_plugin_spec>::note();
#endif
