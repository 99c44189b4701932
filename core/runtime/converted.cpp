// Construction-time tensors where and as calls need them.
#include "runtime/instance.hpp"

namespace tenon {

// A dense tensor on the same device, complete when it is returned: calls on any stream read it.
Result<Tensor> Op::Instance::dense_as(const Tensor& tensor, DType dtype) {
  DeviceTable& devices = *engine().devices;
  auto made = devices.make_tensor(dtype, tensor.shape(), tensor.device());
  if (!made) return made;
  TENON_TRY(convert(tensor.view(), made->view()));
  auto entry = devices.find(tensor.device());
  if (!entry) return fail(std::move(entry).error());
  TENON_TRY(devices.synchronize(**entry));
  return made;
}

Result<Tensor> Op::Instance::convert_tensor(const Tensor& own, Device device, DType dtype) {
  Tensor at = own;
  const bool casts = own.dtype() != dtype;
  const bool casts_there = casts && can_cast(device.kind, own.dtype(), dtype);
  const bool casts_here = casts && !casts_there && can_cast(own.device().kind, own.dtype(), dtype);
  if (casts && !casts_there && !casts_here) {
    return fail(ErrorCode::kNoImplementation,
                "a construction-time tensor of op '" + decl().name + "' is " +
                    std::string(name_of(own.dtype())) + " and the call needs " +
                    std::string(name_of(dtype)) + ": neither device kind '" +
                    std::string(device.kind.name()) + "' nor '" +
                    std::string(own.device().kind.name()) + "' has a CastFwdOp kernel for it");
  }
  const bool moves = !(own.device() == device);
  if (casts_here || (moves && !own.view().is_dense()))
    TENON_TRY_ASSIGN(at, dense_as(at, casts_here ? dtype : at.dtype()));
  if (moves) TENON_TRY_ASSIGN(at, engine().devices->to_device(at, device));
  if (at.dtype() != dtype) TENON_TRY_ASSIGN(at, dense_as(at, dtype));
  return at;
}

Result<const TensorView*> Op::Instance::converted(std::uint32_t index, Device device, DType dtype) {
  const auto is_it = [&](const ConvertedTensor& one) {
    return one.index == index && one.device == device && one.tensor.dtype() == dtype;
  };
  if (const ConvertedTensor* found = running.converted.find(is_it)) return &found->tensor.view();
  ConvertedTensor made{index, device, {}};
  TENON_TRY_ASSIGN(made.tensor,
                   convert_tensor(*construction.construction->tensors()[index], device, dtype));
  const std::lock_guard lock(running.mutex);
  return &running.converted.add(std::move(made), is_it).tensor.view();
}

}  // namespace tenon
