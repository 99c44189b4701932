// Scratch memory of a thread.
#include "runtime/workspace.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <unistd.h>

#include "runtime/built_entries.hpp"
#include "runtime/capture_pool.hpp"
#include "runtime/streams.hpp"

namespace tenon {
namespace {

constexpr std::size_t kAlign = 256;
// Sums of a few such sizes do not wrap around.
constexpr std::size_t kMostBytes = std::numeric_limits<std::size_t>::max() / 4;
constexpr std::size_t kLeastBlock = std::size_t{64} * 1024;

// Of the main thread, where a leak checker finds them.
std::vector<std::unique_ptr<WorkspaceArena>>& kept_arenas() {
  static auto* const kKept = new std::vector<std::unique_ptr<WorkspaceArena>>;
  return *kKept;
}

struct ThreadArenas {
  std::vector<std::unique_ptr<WorkspaceArena>> arenas;
  ThreadArenas() = default;
  ThreadArenas(const ThreadArenas&) = delete;
  ThreadArenas& operator=(const ThreadArenas&) = delete;
  ~ThreadArenas() {
    // The main thread ends with the process, and the end of the process calls nothing of any
    // plugin.
    if (gettid() != getpid()) return;
    kept_arenas() = std::move(arenas);
  }
};

}  // namespace

WorkspaceArena::WorkspaceArena(std::shared_ptr<DeviceTable> devices,
                               const DeviceEntry* device,
                               void* stream)
    : WorkspaceArena(std::move(devices), device, stream, stream) {
  const auto own = devices_->default_stream(*device_);
  is_of_caller_ = !own || *own != stream;
}

// Memory that is given back on the default stream.
struct WorkspaceArena::Returned {
  Returned(std::shared_ptr<DeviceTable> table, const DeviceEntry* of, std::vector<Block> taken)
      : devices(std::move(table)), device(of), blocks(std::move(taken)) {}
  ~Returned() {
    const auto stream = devices->default_stream(*device);
    for (const Block& block : blocks) {
      devices->free(
          *device, TENON_MEMORY_DEVICE, block.memory, block.size_bytes, stream ? *stream : nullptr);
    }
  }
  Returned(const Returned&) = delete;
  Returned& operator=(const Returned&) = delete;

  std::shared_ptr<DeviceTable> devices;
  const DeviceEntry* device;
  std::vector<Block> blocks;
};

WorkspaceArena::~WorkspaceArena() {
  if (is_of_caller_ && !blocks_.empty()) {
    devices_->let_go_when_passed(*device_,
                                 std::make_shared<Returned>(devices_, device_, std::move(blocks_)));
    return;
  }
  for (const Block& block : blocks_)
    devices_->free(*device_, TENON_MEMORY_DEVICE, block.memory, block.size_bytes, alloc_stream_);
}

std::size_t WorkspaceArena::held_bytes() const {
  std::size_t sum = 0;
  for (const Block& block : blocks_) sum += block.size_bytes;
  return sum;
}

Result<void*> WorkspaceArena::take(std::size_t size_bytes) {
  if (size_bytes > kMostBytes) {
    return fail(ErrorCode::kOutOfMemory,
                "a workspace of " + std::to_string(size_bytes) + " bytes on " +
                    device_->device.to_string() + " is more than can be addressed");
  }
  if (separate_) return take_separate(size_bytes);
  const std::size_t size = (size_bytes + kAlign - 1) / kAlign * kAlign;
  while (top_.block < blocks_.size() && blocks_[top_.block].size_bytes - top_.used < size)
    top_ = {top_.block + 1, 0};
  if (top_.block == blocks_.size()) {
    // A block of its own, at least as large as all before it together: few blocks, whatever the
    // order of sizes.
    TENON_TRY(add_block(std::max({size, held_bytes(), kLeastBlock})));
  }
  void* taken = blocks_[top_.block].memory + top_.used;
  top_.used += size;
  return taken;
}

Result<void*> WorkspaceArena::take_separate(std::size_t size_bytes) {
  const std::size_t size = std::max<std::size_t>(size_bytes, 1);
  const auto is_fitting = [size](const Block& block) { return block.size_bytes == size; };
  // From the top on nobody has the blocks any more: their order is free.
  const auto top = static_cast<std::ptrdiff_t>(top_.block);
  auto fitting = std::find_if(blocks_.begin() + top, blocks_.end(), is_fitting);
  if (fitting == blocks_.end()) {
    TENON_TRY(add_block(size));
    fitting = blocks_.end() - 1;
  }
  std::iter_swap(blocks_.begin() + top, fitting);
  void* taken = blocks_[top_.block].memory;
  top_ = {top_.block + 1, 0};
  return taken;
}

Result<void> WorkspaceArena::add_block(std::size_t size_bytes) {
  TENON_TRY(require_not_capturing(*devices_, *device_, alloc_stream_, "making a workspace"));
  void* memory = nullptr;
  TENON_TRY_ASSIGN(memory,
                   devices_->alloc(*device_, TENON_MEMORY_DEVICE, size_bytes, alloc_stream_));
  blocks_.push_back({static_cast<std::byte*>(memory), size_bytes});
  return {};
}

Error error_for(std::string what, const BuiltEntry& kernel, const Error& why) {
  Error error(why.code(), std::move(what) + " for " + kernel.description() + ": " + why.message());
  for (const auto& [name, value] : why.fields()) error.add(name, value);
  error.add("kernel", kernel.name());
  return std::move(error).with_hint(why.hint()).with_where(why.where());
}

Error workspace_error(std::uint64_t size_bytes, const BuiltEntry& kernel, const Error& why) {
  return error_for("the workspace of " + std::to_string(size_bytes) + " bytes", kernel, why);
}

WorkspaceArena& workspace_of_thread(const std::shared_ptr<DeviceTable>& devices,
                                    const DeviceEntry* device,
                                    void* stream) {
  if (open_captures_of_thread != 0) {
    if (CapturePool* pool = capture_of_thread(*devices, device->device))
      return pool->workspace_of(stream);
  }
  static thread_local ThreadArenas mine;
  for (const auto& arena : mine.arenas) {
    if (arena->is_for(devices.get(), device, stream)) return *arena;
  }
  std::erase_if(mine.arenas, [](const auto& arena) {
    return arena->is_last_user();
  });  // of Runtimes that are gone
  mine.arenas.push_back(std::make_unique<WorkspaceArena>(devices, device, stream));
  return *mine.arenas.back();
}

}  // namespace tenon
