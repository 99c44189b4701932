// Builder targets: turns a class that serves whole ops into a tenon_target row.
//
// The class (T) is written like this; every function may throw Failure.
//   static constexpr auto name = "acme-graph";
//   static constexpr std::array kinds{"acme"};           one text or an array of texts
//   static constexpr std::array ops{"MatMulFwdOp", "AddFwdOp"};
//   T(Host) or T();
//   bool claims(const DeviceFacts&) const;               whether it wants calls there unasked
//   BuiltKernel build(const TargetBuild&) const;         built<Kernel>(constructor's arguments)
// A target's kernel is any class with `void launch(const Launch&) const`, and, where wanted,
// workspace_bytes(), tune and config, as in kernel_type.hpp. Its launch gets the op's own arguments
// and no call.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/plugin/detect.hpp"
#include "tenon/plugin/guard.hpp"
#include "tenon/plugin/kernel_type.hpp"
#include "tenon/plugin/views.hpp"

namespace tenon {
inline namespace sdk {

/// A kernel of a builder target. Movable; owns its state until it is handed to the host.
class BuiltKernel {
 public:
  template <class Kernel>
  explicit BuiltKernel(Kernel* state) noexcept {
    detail::KernelFunctions<Kernel>::fill(&table_, state);
  }
  BuiltKernel(BuiltKernel&& other) noexcept : table_(std::exchange(other.table_, tenon_kernel{})) {}
  BuiltKernel(const BuiltKernel&) = delete;
  BuiltKernel& operator=(const BuiltKernel&) = delete;
  BuiltKernel& operator=(BuiltKernel&&) = delete;
  ~BuiltKernel() {
    if (table_.destroy != nullptr) table_.destroy(table_.state);
  }

  /// Hands state and functions to the host's table.
  void release_to(tenon_kernel& out) noexcept {
    const std::uint64_t struct_size = out.struct_size;
    out = std::exchange(table_, tenon_kernel{});
    out.struct_size = struct_size;
  }

 private:
  tenon_kernel table_{};
};

/// Makes a target's kernel.
template <class Kernel, class... Args>
[[nodiscard]] BuiltKernel built(Args&&... args) {
  return BuiltKernel(new Kernel(std::forward<Args>(args)...));
}

/// What a target builds for. Borrowed for the call.
class TargetBuild {
 public:
  TargetBuild(const tenon_host* host,
              std::uint64_t op,
              const tenon_build& build,
              const tenon_tensor* const* specs,
              const std::uint32_t* spec_first,
              std::uint64_t n_inputs,
              const tenon_value* params,
              std::uint64_t n_params) noexcept
      : context_(host, build),
        op_(op),
        specs_(specs),
        spec_first_(spec_first),
        n_inputs_(n_inputs),
        params_(params),
        n_params_(n_params) {}

  /// Index into the target's `ops`.
  [[nodiscard]] std::size_t op() const noexcept { return static_cast<std::size_t>(op_); }
  [[nodiscard]] DeviceView device() const noexcept { return context_.device(); }
  [[nodiscard]] Host host() const noexcept { return context_.host(); }
  [[nodiscard]] std::string_view tuned_config() const noexcept { return context_.tuned_config(); }
  [[nodiscard]] std::size_t input_count() const noexcept {
    return static_cast<std::size_t>(n_inputs_);
  }
  /// Shape and dtype of input i, without data; absent where the call leaves it out.
  [[nodiscard]] ArgView input(std::size_t i) const noexcept {
    if (i >= n_inputs_) return ArgView(nullptr, 0);
    return ArgView(specs_ + spec_first_[i], spec_first_[i + 1] - spec_first_[i]);
  }
  [[nodiscard]] std::size_t param_count() const noexcept {
    return static_cast<std::size_t>(n_params_);
  }
  /// Parameter i in manifest order, as any type that `read` takes.
  template <class T>
  [[nodiscard]] T param(std::size_t i, std::string_view name = "parameter") const {
    return (i < n_params_ ? AnyValue(params_[i]) : AnyValue()).template as<T>(name);
  }

 private:
  BuildContext context_;
  std::uint64_t op_;
  const tenon_tensor* const* specs_;
  const std::uint32_t* spec_first_;
  std::uint64_t n_inputs_;
  const tenon_value* params_;
  std::uint64_t n_params_;
};

namespace detail {

template <class T>
struct TargetTables {
  static constexpr auto kKinds = str_array(T::kinds);
  static constexpr auto kOps = str_array(T::ops);
};

template <class T>
struct TargetFunctions {
  static tenon_status claims(void* context,
                             const tenon_device* device,
                             std::uint32_t* yes) noexcept {
    return guarded(nullptr, [&] {
      *yes = static_cast<const T*>(context)->claims(DeviceView(*device)) ? 1u : 0u;
    });
  }
  static tenon_status build(void* context,
                            const tenon_host* host,
                            std::uint64_t op,
                            const tenon_build* build,
                            const tenon_tensor* const* specs,
                            const std::uint32_t* spec_first,
                            std::uint64_t n_inputs,
                            const tenon_value* params,
                            std::uint64_t n_params,
                            tenon_kernel* out,
                            tenon_reason* reason) noexcept {
    return guarded(reason, [&] {
      BuiltKernel kernel = static_cast<const T*>(context)->build(
          TargetBuild(host, op, *build, specs, spec_first, n_inputs, params, n_params));
      kernel.release_to(*out);
    });
  }
};

/// The row of target T, whose functions act on `object`.
template <class T>
tenon_target target_row(T* object) noexcept {
  using Tables = TargetTables<T>;
  tenon_target row{};
  row.struct_size = sizeof(row);
  row.name = to_str(T::name);
  row.kinds = Tables::kKinds.data();
  row.n_kinds = Tables::kKinds.size();
  row.ops = Tables::kOps.data();
  row.n_ops = Tables::kOps.size();
  row.context = object;
  row.claims = &TargetFunctions<T>::claims;
  row.build = &TargetFunctions<T>::build;
  return row;
}

}  // namespace detail
}  // namespace sdk
}  // namespace tenon
