// Construction-time tensors where and as calls need them.
#include <algorithm>

#include "runtime/instance.hpp"

namespace tenon {
namespace {

const ConvertedNode* find_converted(const ConvertedNode* node,
                                    std::uint32_t index,
                                    Device device,
                                    DType dtype) {
  while (node != nullptr &&
         !(node->index == index && node->device == device && node->tensor.dtype() == dtype))
    node = node->next;
  return node;
}

}  // namespace

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
  const auto* found =
      find_converted(running.converted.load(std::memory_order_acquire), index, device, dtype);
  if (found != nullptr) return &found->tensor.view();
  auto node = std::make_unique<ConvertedNode>();
  node->index = index;
  node->device = device;
  TENON_TRY_ASSIGN(node->tensor,
                   convert_tensor(*construction.construction->tensors()[index], device, dtype));
  const std::lock_guard lock(running.mutex);
  ConvertedNode* const head = running.converted.load(std::memory_order_acquire);
  found = find_converted(head, index, device, dtype);  // another thread was first
  if (found != nullptr) return &found->tensor.view();
  node->next = head;
  running.converted_nodes.push_back(std::move(node));
  running.converted.store(running.converted_nodes.back().get(), std::memory_order_release);
  return &running.converted_nodes.back()->tensor.view();
}

}  // namespace tenon
