// A call from the command line, ready to be explained, inferred or run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "call_args.hpp"
#include "session.hpp"
#include "tenon/core/op.hpp"
#include "tenon/core/registry.hpp"

namespace tenon::cli {

/// A tensor of a call and where it belongs.
struct CallTensor {
  const TensorSource* source = nullptr;
  Tensor host;  ///< made or loaded; undefined where only its spec was asked for
};

/// The call with the op's declaration, parameters as values and the device it is on.
struct PreparedCall {
  std::shared_ptr<const Snapshot> snapshot;
  const OpClass* op = nullptr;
  CallText text;
  CallTensors tensors;
  std::vector<NamedValue> params;
  Device device;
  bool out_is_first_input = false;  ///< --inplace by way of `out`

  [[nodiscard]] const OpDecl& decl() const { return op->plan->decl(); }
};

/// Reads the call and looks its op up. `assumed`: the device where nothing on the command line
/// names one.
/// @errors UsageError, OpNotFound (nearest names), UnknownTarget.
[[nodiscard]] Result<PreparedCall> prepare_call(const Session& session,
                                                const Arguments& arguments,
                                                std::optional<Device> assumed = std::nullopt);

/// The call's device must be here. @errors DeviceError with every device that is, and the plugins
/// that failed to load.
[[nodiscard]] Result<void> require_device(const Session& session, const PreparedCall& call);

/// The instance of the call: construction-time tensors are made on its device.
[[nodiscard]] Result<Op> make_instance(const Session& session,
                                       const PreparedCall& call,
                                       InstanceOptions options = {});

/// Loads or makes the tensor in host memory.
[[nodiscard]] Result<Tensor> host_tensor(const TensorSource& source);
/// The tensor as a spec on the call's device; of a file: what its header says.
[[nodiscard]] Result<NamedSpec> spec_of(const TensorSource& source, Device device);
/// Specs of the call's inputs, and of `out` where it is passed.
struct CallSpecs {
  std::vector<NamedSpec> inputs;
  std::optional<NamedSpec> out;
};
[[nodiscard]] Result<CallSpecs> specs_of(const PreparedCall& call);

/// A copy on another device, strides and offset kept; the same tensor where it is there already.
[[nodiscard]] Result<Tensor> moved_to(DeviceTable& devices, const Tensor& tensor, Device device);
/// The same, and always a copy.
[[nodiscard]] Result<Tensor> copied_to(DeviceTable& devices, const Tensor& tensor, Device device);

}  // namespace tenon::cli
