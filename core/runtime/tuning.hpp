// What tuning needs beside the kernel: a launch like those that it will serve, and a place in the
// store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/binding.hpp"
#include "runtime/value_copies.hpp"

namespace tenon {

/// The shapes, dtypes, strides, fields and facts of a launch, without its memory.
class LaunchExample {
 public:
  explicit LaunchExample(const tenon_launch& launch);

  /// A launch of the same form on tensors of its own, which are freed with it. [any-thread]
  class Synthetic {
   public:
    [[nodiscard]] const tenon_launch& launch() const { return launch_; }

   private:
    friend class LaunchExample;
    std::vector<Tensor> memory_;
    std::vector<tenon_tensor> tensors_;
    std::vector<const tenon_tensor*> pointers_;
    tenon_call call_{};
    tenon_launch launch_{};
  };
  /// Floating tensors hold numbers of absolute value 0.5 to 1, all others zeros.
  Result<void> synthesize(DeviceTable& devices,
                          const DeviceEntry& device,
                          void* stream,
                          Synthetic& out) const;

 private:
  struct Shape {
    DType dtype = DType::kFloat32;
    std::uint32_t rank = 0;
    std::int32_t same_as = -1;  ///< an earlier tensor that is the very same view
  };
  Result<Tensor> filled(DeviceTable& devices,
                        const DeviceEntry& device,
                        DType dtype,
                        std::int64_t elements,
                        void* stream) const;

  bool has_call_ = false;
  ValueCopies fields_;
  std::size_t n_fields_ = 0;
  std::vector<tenon_arg_facts> facts_;
  std::vector<Shape> shapes_;
  std::vector<std::int64_t> dims_;      ///< shape, then strides, of each
  std::vector<std::int32_t> pointers_;  ///< index into shapes_, -1: absent
  std::vector<std::uint32_t> first_;
};

/// The key under which a kernel's tuning result is kept in its plugin's part of the store: arch and
/// facts of the device, op, interface, kernel type and call key. The store adds the plugin's build.
[[nodiscard]] std::string tuning_key(const DeviceEntry& device,
                                     const std::string& op,
                                     const std::string& interface,
                                     const std::string& kernel,
                                     std::span<const std::uint64_t> call_key);
/// A kept result; empty where there is none.
[[nodiscard]] std::string kept_tuning(const PluginInfo& plugin, const std::string& key);
/// What a kernel says of its configuration; empty where it says nothing.
[[nodiscard]] std::string config_of(const tenon_kernel& kernel, std::string_view qualified);

}  // namespace tenon
