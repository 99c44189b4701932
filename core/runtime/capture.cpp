// Scopes of a thread, and the memory that they keep.
#include "tenon/core/capture.hpp"

#include <algorithm>

#include "registry/lent_reason.hpp"
#include "runtime/capture_pool.hpp"
#include "runtime/instance.hpp"
#include "tenon/core/device_calls.hpp"
#include "values/tensor_bytes.hpp"

namespace tenon {
namespace {

std::vector<CapturePool*>& open_captures() {
  static thread_local std::vector<CapturePool*> mine;
  return mine;
}

}  // namespace

/// Of an output that was made in a scope: keeps all of the scope's memory.
class CapturedMemory final : public Storage {
 public:
  CapturedMemory(void* memory, std::size_t size_bytes, std::shared_ptr<CapturePool> pool)
      : Storage(memory, size_bytes, pool->device().device, nullptr), pool_(std::move(pool)) {}

 private:
  std::shared_ptr<CapturePool> pool_;
};

// A replay may still be under way.
CapturePool::~CapturePool() { devices_->let_go_when_passed(*device_, std::move(memory_)); }

CapturePool::Memory::~Memory() {
  workspaces.clear();
  for (const auto& [block, size] : blocks)
    devices->free(*device, TENON_MEMORY_DEVICE, block, size, stream);
  const DeviceKindEntry* kind = devices->kind(device->device.kind);
  if (stream == nullptr || kind == nullptr || kind->table.stream_destroy == nullptr ||
      devices->is_of_parent(*device))
    return;
  detail::LentReason reason;
  (void)call_owner(
      *kind, "stream_destroy", kind->table.stream_destroy, *reason.get(), &device->launch, stream);
}

Result<Tensor> CapturePool::make_tensor(DType dtype, const Dims& shape) {
  std::size_t size = 0;
  TENON_TRY_ASSIGN(size, detail::dense_bytes(dtype, shape));
  void* memory = nullptr;
  if (size != 0) {
    TENON_TRY_ASSIGN(memory, devices_->alloc(*device_, TENON_MEMORY_DEVICE, size, stream_));
    memory_->blocks.emplace_back(memory, size);
    size_bytes_ += size;
  }
  return Tensor(std::make_shared<CapturedMemory>(memory, size, shared_from_this()),
                TensorView(memory, dtype, shape, device_->device));
}

WorkspaceArena& CapturePool::workspace_of(void* stream) {
  auto& workspaces = memory_->workspaces;
  for (const auto& [of, arena] : workspaces) {
    if (of == stream) return *arena;
  }
  workspaces.emplace_back(stream,
                          std::make_unique<WorkspaceArena>(devices_, device_, stream, stream_));
  return *workspaces.back().second;
}

Result<void> CapturePool::settle() {
  const DeviceKindEntry* kind = devices_->kind(device_->device.kind);
  if (stream_ == nullptr || kind == nullptr || kind->table.stream_synchronize == nullptr)
    return devices_->synchronize(*device_);
  detail::LentReason reason;
  const tenon_status status = call_owner(*kind,
                                         "stream_synchronize",
                                         kind->table.stream_synchronize,
                                         *reason.get(),
                                         &device_->launch,
                                         stream_);
  if (status == TENON_OK) return {};
  return fail(devices_->function_error(*device_,
                                       "stream_synchronize",
                                       "waiting for a stream of " + device_->device.to_string(),
                                       status,
                                       *reason));
}

CapturePool* capture_of_thread(const DeviceTable& devices, Device device) {
  const auto& open = open_captures();
  const auto found = std::find_if(open.rbegin(), open.rend(), [&](const CapturePool* pool) {
    return pool->devices() == &devices && pool->device().device == device;
  });
  return found == open.rend() ? nullptr : *found;
}

CaptureScope::CaptureScope(std::shared_ptr<CapturePool> pool) : pool_(std::move(pool)) {}
CaptureScope::CaptureScope(CaptureScope&&) noexcept = default;

CaptureScope& CaptureScope::operator=(CaptureScope&& other) noexcept {
  if (this != &other) {
    (void)close();
    pool_ = std::move(other.pool_);
  }
  return *this;
}

CaptureScope::~CaptureScope() { (void)close(); }

Result<CaptureScope> CaptureScope::open(Engine& engine, Device device) {
  const std::shared_ptr<DeviceTable>& devices = engine.internals().devices;
  const DeviceEntry* entry = nullptr;
  TENON_TRY_ASSIGN(entry, devices->find(device));
  const DeviceKindEntry* kind = devices->kind(device.kind);
  void* stream = nullptr;
  if (kind->table.stream_create != nullptr && kind->table.stream_destroy != nullptr) {
    detail::LentReason reason;
    const tenon_status status = call_owner(
        *kind, "stream_create", kind->table.stream_create, *reason.get(), &entry->launch, &stream);
    if (status != TENON_OK) {
      return fail(devices->function_error(
          *entry, "stream_create", "making a stream of " + device.to_string(), status, *reason));
    }
  }
  auto pool = std::make_shared<CapturePool>(devices, *entry, stream);
  open_captures().push_back(pool.get());
  ++open_captures_of_thread;
  detail::capture_opened(pool.get(), device);
  return CaptureScope(std::move(pool));
}

Result<void> CaptureScope::close() {
  if (pool_ == nullptr) return {};
  auto& open = open_captures();
  const auto found = std::find(open.begin(), open.end(), pool_.get());
  if (found == open.end()) return {};
  open.erase(found);
  --open_captures_of_thread;
  detail::capture_closed(pool_.get());
  auto settled = pool_->settle();
  // What could not be waited for during the capture.
  pool_->let_go_of_passed();
  return settled;
}

std::size_t CapturePool::size_bytes() const {
  std::size_t sum = size_bytes_;
  for (const auto& [of, arena] : memory_->workspaces) sum += arena->held_bytes();
  return sum;
}

std::size_t CaptureScope::size_bytes() const { return pool_ == nullptr ? 0 : pool_->size_bytes(); }

}  // namespace tenon
