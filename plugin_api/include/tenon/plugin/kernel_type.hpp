// Kernel types: turns a class that says what it serves and does into a tenon_kernel_type row.
//
// The class (T) is written like this; what is marked * may be left out:
//   static constexpr auto op = "RMSNormFwdOp", interface = "rms_norm_fwd", key = "short_rows";
//   static constexpr std::array devices{"acme"};             one text or an array of texts
// * static constexpr std::array supported_archs{"a2"};       none: every arch
// * static constexpr std::array preferred_over{"rows"};      "key", "plugin:key", "plugin:*"
// * static constexpr std::array dtypes{kFloat32};            none: all of the contract
// * static constexpr std::array storage{stored(kBool, kUInt8)};     instead of dtypes
// * static constexpr std::uint32_t layouts = kInner | kStrided;     besides dense
// * static constexpr std::uint32_t alignment = 8;            elements; the flow pads to it
// * static constexpr ElementType accumulate = kFloat32;
// * static constexpr bool general, reference, handles_padding, deterministic, capture_safe,
//                         sequential_sums;
//   using Call = tenon::contracts::rms_norm_fwd::Call;       or RawCall, and
//                                                    static const tenon_contract& contract()
// * static Refusal refusal(const Call&[, const DeviceFacts&][, const ArgFacts&]);
// * static auto identity(const Call&[, const DeviceFacts&][, const ArgFacts&]);     a tuple
//   T(const Call&, BuildContext&), T(const Call&), T(BuildContext&) or T();         may throw
// * workspace_bytes(const Call&[, const ArgFacts&]) or workspace_bytes(), static or const
//   void launch(const Launch&) const;                        or tenon_status; may throw
// * void tune(const Launch&, std::uint64_t budget_ns);
// * std::string config() const;
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/plugin/detect.hpp"
#include "tenon/plugin/guard.hpp"
#include "tenon/plugin/identity.hpp"
#include "tenon/plugin/refusal.hpp"
#include "tenon/plugin/views.hpp"

namespace tenon {
inline namespace sdk {

/// Layouts that a kernel type takes besides dense, for `layouts`.
inline constexpr std::uint32_t kInner = TENON_LAYOUT_BIT(TENON_LAYOUT_INNER);
inline constexpr std::uint32_t kStrided = TENON_LAYOUT_BIT(TENON_LAYOUT_STRIDED);
inline constexpr std::uint32_t kExpanded = TENON_LAYOUT_BIT(TENON_LAYOUT_EXPANDED);
inline constexpr std::uint32_t kReversed = TENON_LAYOUT_BIT(TENON_LAYOUT_REVERSED);
inline constexpr std::uint32_t kAllLayouts = TENON_LAYOUTS_ALL;

/// A row of `storage`: calls of `dtype` get their tensors as `stored_as`.
[[nodiscard]] constexpr tenon_storage stored(ElementType dtype, ElementType stored_as) noexcept {
  return tenon_storage{dtype.raw(), stored_as.raw()};
}

namespace detail {

TENON_DETAIL_MEMBER(supported_archs);
TENON_DETAIL_MEMBER(preferred_over);
TENON_DETAIL_MEMBER(dtypes);
TENON_DETAIL_MEMBER(storage);
TENON_DETAIL_MEMBER(layouts);
TENON_DETAIL_MEMBER(alignment);
TENON_DETAIL_MEMBER(accumulate);
TENON_DETAIL_MEMBER(general);
TENON_DETAIL_MEMBER(reference);
TENON_DETAIL_MEMBER(handles_padding);
TENON_DETAIL_MEMBER(deterministic);
TENON_DETAIL_MEMBER(capture_safe);
TENON_DETAIL_MEMBER(sequential_sums);
TENON_DETAIL_MEMBER(refusal);
TENON_DETAIL_MEMBER(identity);
TENON_DETAIL_MEMBER(workspace_bytes);
TENON_DETAIL_MEMBER(tune);
TENON_DETAIL_MEMBER(config);
TENON_DETAIL_MEMBER(contract);

// The arrays that rows point to: constants, one per kernel type, alive as long as the plugin's
// image.
template <class T>
struct KernelTables {
  static constexpr auto kDevices = str_array(T::devices);
  static constexpr auto kArchs = [] {
    if constexpr (Has_supported_archs<T>::value) {
      return str_array(T::supported_archs);
    } else {
      return std::array<tenon_str, 0>{};
    }
  }();
  static constexpr auto kPreferredOver = [] {
    if constexpr (Has_preferred_over<T>::value) {
      return str_array(T::preferred_over);
    } else {
      return std::array<tenon_str, 0>{};
    }
  }();
  static constexpr auto kStorage = [] {
    if constexpr (Has_storage<T>::value) {
      static_assert(!Has_dtypes<T>::value, "a kernel type has `dtypes` or `storage`, not both");
      return T::storage;
    } else if constexpr (Has_dtypes<T>::value) {
      std::array<tenon_storage, std::tuple_size<std::decay_t<decltype(T::dtypes)>>::value> out{};
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = stored(T::dtypes[i], T::dtypes[i]);
      return out;
    } else {
      return std::array<tenon_storage, 0>{};
    }
  }();
};

template <class T>
constexpr std::uint64_t kernel_flags() noexcept {
  std::uint64_t flags = 0;
  if constexpr (Has_general<T>::value) flags |= T::general ? TENON_KERNEL_GENERAL : 0u;
  if constexpr (Has_reference<T>::value) flags |= T::reference ? TENON_KERNEL_REFERENCE : 0u;
  if constexpr (Has_handles_padding<T>::value)
    flags |= T::handles_padding ? TENON_KERNEL_HANDLES_PADDING : 0u;
  if constexpr (Has_deterministic<T>::value)
    flags |= T::deterministic ? TENON_KERNEL_DETERMINISTIC : 0u;
  if constexpr (Has_capture_safe<T>::value)
    flags |= T::capture_safe ? TENON_KERNEL_CAPTURE_SAFE : 0u;
  if constexpr (Has_sequential_sums<T>::value)
    flags |= T::sequential_sums ? TENON_KERNEL_SEQUENTIAL_SUMS : 0u;
  return flags;
}

template <class T>
const tenon_contract& contract_of() {
  if constexpr (Has_contract<T>::value) {
    return T::contract();
  } else {
    return T::Call::contract();
  }
}

// refusal and identity take as much of (call, device, args) as the class wants to see.
template <class T>
struct AskRefusal {
  template <class... Facts>
  auto operator()(const Facts&... facts) const -> decltype(T::refusal(facts...)) {
    return T::refusal(facts...);
  }
};
template <class T>
struct AskIdentity {
  template <class... Facts>
  auto operator()(const Facts&... facts) const -> decltype(T::identity(facts...)) {
    return T::identity(facts...);
  }
};
template <class Call, class Ask>
auto with_facts(Ask ask, const tenon_device* device, const tenon_call& raw) {
  const Call call = Call::from(raw);
  if constexpr (std::is_invocable_v<Ask, const Call&, const DeviceView&, const ArgFacts&>) {
    return ask(call, DeviceView(*device), ArgFacts(raw));
  } else if constexpr (std::is_invocable_v<Ask, const Call&, const DeviceView&>) {
    return ask(call, DeviceView(*device));
  } else if constexpr (std::is_invocable_v<Ask, const Call&, const ArgFacts&>) {
    return ask(call, ArgFacts(raw));
  } else {
    static_assert(
        std::is_invocable_v<Ask, const Call&>,
        "refusal and identity take (const Call&[, const DeviceView&][, const ArgFacts&])");
    return ask(call);
  }
}

template <class T>
std::uint64_t workspace_of(const T& kernel, const tenon_call* raw) {
  if constexpr (std::is_invocable_v<decltype(&T::workspace_bytes)> ||
                std::is_invocable_v<decltype(&T::workspace_bytes), const T&>) {
    return kernel.workspace_bytes();
  } else {
    if (raw == nullptr) throw Failure(TENON_INVALID_ARGUMENT, "workspace_bytes(call) needs a call");
    const auto call = T::Call::from(*raw);
    using Call = std::decay_t<decltype(call)>;
    if constexpr (std::
                      is_invocable_v<decltype(&T::workspace_bytes), const Call&, const ArgFacts&> ||
                  std::is_invocable_v<decltype(&T::workspace_bytes),
                                      const T&,
                                      const Call&,
                                      const ArgFacts&>) {
      return kernel.workspace_bytes(call, ArgFacts(*raw));
    } else {
      return kernel.workspace_bytes(call);
    }
  }
}

// The functions of a tenon_kernel whose state is a T. Launch allocates nothing here.
template <class T>
struct KernelFunctions {
  static tenon_status workspace(void* state,
                                const tenon_call* call,
                                std::uint64_t* size_bytes) noexcept {
    return guarded(nullptr,
                   [&] { *size_bytes = workspace_of(*static_cast<const T*>(state), call); });
  }
  static tenon_status launch(void* state,
                             const tenon_launch* launch,
                             tenon_reason* reason) noexcept {
    return guarded(reason, [&] { return static_cast<const T*>(state)->launch(Launch(*launch)); });
  }
  static tenon_status tune(void* state,
                           const tenon_launch* launch,
                           std::uint64_t budget_ns,
                           tenon_reason* reason) noexcept {
    return guarded(reason,
                   [&] { return static_cast<T*>(state)->tune(Launch(*launch), budget_ns); });
  }
  static tenon_status config(void* state,
                             char* text,
                             std::uint64_t capacity_bytes,
                             std::uint64_t* size_bytes) noexcept {
    return guarded(nullptr, [&] {
      const std::string config = static_cast<const T*>(state)->config();
      *size_bytes = config.size();
      if (config.size() <= capacity_bytes) std::copy(config.begin(), config.end(), text);
    });
  }
  static void destroy(void* state) noexcept { delete static_cast<T*>(state); }

  static void fill(tenon_kernel* out, T* state) noexcept {
    out->state = state;
    if constexpr (Has_workspace_bytes<T>::value) out->workspace = &workspace;
    out->launch = &launch;
    if constexpr (Has_tune<T>::value) out->tune = &tune;
    if constexpr (Has_config<T>::value) out->config = &config;
    out->destroy = &destroy;
  }
};

template <class T>
T* make_kernel(const tenon_call& raw, BuildContext& context) {
  using Call = typename T::Call;
  if constexpr (std::is_constructible_v<T, const Call&, BuildContext&>) {
    return new T(Call::from(raw), context);
  } else if constexpr (std::is_constructible_v<T, const Call&>) {
    return new T(Call::from(raw));
  } else if constexpr (std::is_constructible_v<T, BuildContext&>) {
    return new T(context);
  } else {
    static_assert(std::is_default_constructible_v<T>,
                  "a kernel type is constructed from (const Call&, BuildContext&), (const Call&), "
                  "(BuildContext&) or ()");
    return new T();
  }
}

// The functions of a row.
template <class T>
struct KernelTypeFunctions {
  static tenon_status refuse(void*,
                             const tenon_device* device,
                             const tenon_call* call,
                             tenon_reason* reason) noexcept {
    return guarded(reason, [&]() -> tenon_status {
      const Refusal refusal = with_facts<typename T::Call>(AskRefusal<T>(), device, *call);
      if (!refusal) return TENON_OK;
      refusal.write_to(*reason);
      return TENON_REFUSED;
    });
  }
  static tenon_status identity(void*,
                               const tenon_device* device,
                               const tenon_call* call,
                               void* bytes,
                               std::uint64_t capacity_bytes,
                               std::uint64_t* size_bytes) noexcept {
    return guarded(nullptr, [&] {
      write_identity(with_facts<typename T::Call>(AskIdentity<T>(), device, *call),
                     bytes,
                     capacity_bytes,
                     size_bytes);
    });
  }
  static tenon_status build(void*,
                            const tenon_host* host,
                            const tenon_build* build,
                            tenon_kernel* out,
                            tenon_reason* reason) noexcept {
    return guarded(reason, [&] {
      BuildContext context(host, *build);
      KernelFunctions<T>::fill(out, make_kernel<T>(*build->call, context));
    });
  }
};

/// The row of kernel type T. Everything it points to is static.
template <class T>
tenon_kernel_type kernel_row() {
  using Tables = KernelTables<T>;
  tenon_kernel_type row{};
  row.struct_size = sizeof(row);
  row.op = to_str(T::op);
  row.interface = to_str(T::interface);
  row.key = to_str(T::key);
  row.contract = &contract_of<T>();
  row.devices = Tables::kDevices.data();
  row.n_devices = Tables::kDevices.size();
  row.archs = Tables::kArchs.data();
  row.n_archs = Tables::kArchs.size();
  row.preferred_over = Tables::kPreferredOver.data();
  row.n_preferred_over = Tables::kPreferredOver.size();
  row.storage = Tables::kStorage.data();
  row.n_storage = Tables::kStorage.size();
  row.flags = kernel_flags<T>();
  if constexpr (Has_layouts<T>::value) row.layouts = T::layouts;
  if constexpr (Has_alignment<T>::value) row.alignment_elements = T::alignment;
  if constexpr (Has_accumulate<T>::value) row.accumulate = ElementType(T::accumulate).raw();
  if constexpr (Has_refusal<T>::value) row.refuse = &KernelTypeFunctions<T>::refuse;
  if constexpr (Has_identity<T>::value) row.identity = &KernelTypeFunctions<T>::identity;
  row.build = &KernelTypeFunctions<T>::build;
  return row;
}

}  // namespace detail
}  // namespace sdk
}  // namespace tenon
