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

Error stream_error(const DeviceEntry& device, const char* what, const tenon_reason& reason) {
  return {ErrorCode::kDeviceError,
          std::string(what) + " of " + device.device.to_string() +
              " failed: " + detail::text_of(reason)};
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

CapturePool::~CapturePool() {
  // A replay may still be under way.
  (void)devices_->synchronize(*device_);
  workspaces_.clear();
  for (const auto& [memory, size] : blocks_)
    devices_->free(*device_, TENON_MEMORY_DEVICE, memory, size, stream_);
  const DeviceKindEntry* kind = devices_->kind(device_->device.kind);
  if (stream_ == nullptr || kind == nullptr || kind->table.stream_destroy == nullptr) return;
  detail::LentReason reason;
  (void)call_owner(*kind,
                   "stream_destroy",
                   kind->table.stream_destroy,
                   *reason.get(),
                   &device_->launch,
                   stream_);
}

Result<Tensor> CapturePool::make_tensor(DType dtype, const Dims& shape) {
  std::size_t size = 0;
  TENON_TRY_ASSIGN(size, detail::dense_bytes(dtype, shape));
  void* memory = nullptr;
  if (size != 0) {
    TENON_TRY_ASSIGN(memory, devices_->alloc(*device_, TENON_MEMORY_DEVICE, size, stream_));
    blocks_.emplace_back(memory, size);
    size_bytes_ += size;
  }
  return Tensor(std::make_shared<CapturedMemory>(memory, size, shared_from_this()),
                TensorView(memory, dtype, shape, device_->device));
}

WorkspaceArena& CapturePool::workspace_of(void* stream) {
  for (const auto& [of, arena] : workspaces_) {
    if (of == stream) return *arena;
  }
  workspaces_.emplace_back(stream,
                           std::make_unique<WorkspaceArena>(devices_, device_, stream, stream_));
  return *workspaces_.back().second;
}

Result<void> CapturePool::settle() {
  const DeviceKindEntry* kind = devices_->kind(device_->device.kind);
  if (stream_ == nullptr || kind == nullptr || kind->table.stream_synchronize == nullptr)
    return devices_->synchronize(*device_);
  detail::LentReason reason;
  if (call_owner(*kind,
                 "stream_synchronize",
                 kind->table.stream_synchronize,
                 *reason.get(),
                 &device_->launch,
                 stream_) != TENON_OK)
    return fail(stream_error(*device_, "waiting for a stream", *reason));
  return {};
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
    if (call_owner(*kind,
                   "stream_create",
                   kind->table.stream_create,
                   *reason.get(),
                   &entry->launch,
                   &stream) != TENON_OK)
      return fail(stream_error(*entry, "making a stream", *reason));
  }
  auto pool = std::make_shared<CapturePool>(devices, *entry, stream);
  open_captures().push_back(pool.get());
  ++open_captures_of_thread;
  return CaptureScope(std::move(pool));
}

Result<void> CaptureScope::close() {
  if (pool_ == nullptr) return {};
  auto& open = open_captures();
  const auto found = std::find(open.begin(), open.end(), pool_.get());
  if (found == open.end()) return {};
  open.erase(found);
  --open_captures_of_thread;
  return pool_->settle();
}

std::size_t CapturePool::size_bytes() const {
  std::size_t sum = size_bytes_;
  for (const auto& [of, arena] : workspaces_) sum += arena->held_bytes();
  return sum;
}

std::size_t CaptureScope::size_bytes() const { return pool_ == nullptr ? 0 : pool_->size_bytes(); }

}  // namespace tenon
