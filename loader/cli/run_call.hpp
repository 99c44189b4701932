// Running a call on real data: tensors in, results out, the comparison with the reference, and
// timing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "prepared_call.hpp"
#include "view_run.hpp"
#include "waiting.hpp"

namespace tenon::cli {

/// Tensors of a call by name, in host memory or on its device.
struct NamedTensors {
  std::vector<NamedTensor> inputs;
  std::optional<Tensor> out;
};

/// Loads and makes the inputs and `out` in host memory. The names point into `call`.
[[nodiscard]] Result<NamedTensors> host_tensors(const PreparedCall& call);
/// What becomes of tensors that are where a call wants them already.
enum class Placement : std::uint8_t { kShare, kCopy };
/// The same on the call's device; tensors that the op wants on the cpu stay there.
[[nodiscard]] Result<NamedTensors> on_device(DeviceTable& devices,
                                             const PreparedCall& call,
                                             const NamedTensors& host,
                                             Placement placement);
/// A copy of a tensor's whole allocation in host memory. @pre it lies in host memory
[[nodiscard]] Result<Tensor> copy_of(const Tensor& tensor);

/// A call that was made.
struct CalledOnce {
  NamedTensors tensors;         ///< on its device
  std::vector<Tensor> results;  ///< on its device, of an op's outputs in their order
  std::vector<Tensor> host_results;
  SignatureCall record;
};
/// Calls the op on tensors that lie in host memory, and waits for the results.
[[nodiscard]] Result<CalledOnce> call_once(const Session& session,
                                           Op& op,
                                           const PreparedCall& call,
                                           const NamedTensors& host,
                                           Placement placement);

/// Compares results with the op's reference kernel on wide data, under the bound of the entry's
/// error model. `inputs` are those before the call; `results` in host memory.
/// @errors NoImplementation where no reference kernel serves the cpu.
[[nodiscard]] Result<RunCheck> check_results(const Session& session,
                                             const PreparedCall& call,
                                             const NamedTensors& inputs,
                                             const std::vector<Tensor>& results,
                                             const SignatureCall& record);

/// Repeats the call until half a second or a thousand runs are over, after a warm-up; each run ends
/// when the device has. Where the op has one buffered output, `results` of an earlier call are
/// written again, so that no memory is allocated. `waiting` ends with the warm-up.
[[nodiscard]] Result<RunTime> time_call(const Session& session,
                                        Op& op,
                                        const PreparedCall& call,
                                        const NamedTensors& tensors,
                                        const std::vector<Tensor>& results,
                                        Waiting& waiting,
                                        Progress& progress);

}  // namespace tenon::cli
