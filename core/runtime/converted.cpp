// Construction-time tensors where and as calls need them.
#include "runtime/instance.hpp"
#include "runtime/streams.hpp"

namespace tenon {
namespace {

// Memory that calls on any stream read: it goes once the device has passed them.
class ReadByStreams final : public Storage {
 public:
  ReadByStreams(std::shared_ptr<Storage> kept,
                std::shared_ptr<DeviceTable> devices,
                const DeviceEntry& device)
      : Storage(kept->memory(), kept->size_bytes(), kept->device(), nullptr),
        kept_(std::move(kept)),
        devices_(std::move(devices)),
        device_(&device) {}
  ~ReadByStreams() { devices_->let_go_when_passed(*device_, std::move(kept_)); }
  ReadByStreams(const ReadByStreams&) = delete;
  ReadByStreams& operator=(const ReadByStreams&) = delete;

 private:
  std::shared_ptr<Storage> kept_;
  std::shared_ptr<DeviceTable> devices_;
  const DeviceEntry* device_;
};

}  // namespace

// A dense tensor on the same device, complete when it is returned: calls on any stream read it.
Result<Tensor> Op::Instance::dense_as(const Tensor& tensor, DType dtype) {
  DeviceTable& devices = *engine().devices;
  auto entry = devices.find(tensor.device());
  if (!entry) return fail(std::move(entry).error());
  void* stream = nullptr;
  TENON_TRY_ASSIGN(stream, stream_for(devices, **entry));
  TENON_TRY(
      require_not_capturing(devices, **entry, stream, "converting a construction-time tensor"));
  // The stream that it is read on need not be the one that it was made on.
  TENON_TRY(devices.synchronize(**entry));
  auto made = devices.make_tensor(dtype, tensor.shape(), tensor.device(), stream);
  if (!made) return made;
  TENON_TRY(convert(tensor.view(), made->view()));
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
  if (auto entry = engine().devices->find(device); entry && made.tensor.storage() != nullptr) {
    made.tensor =
        Tensor(std::make_shared<ReadByStreams>(made.tensor.storage(), engine().devices, **entry),
               made.tensor.view());
  }
  const std::lock_guard lock(running.mutex);
  return &running.converted.add(std::move(made), is_it).tensor.view();
}

}  // namespace tenon
