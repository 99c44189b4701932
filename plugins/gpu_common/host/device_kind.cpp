// The owner of the plugin's device kind.
#include "host/device_kind.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <string>

#include "device/test_kernels.hpp"
#include "host/arch_tags.hpp"
#include "host/check.hpp"

namespace tenon::gpu {

/// What is made once for a device and lives as long as the process.
struct GpuDevices::PerDevice {
  // Facts; a description's strings stay valid for the process.
  std::once_flag described;
  std::string name;
  std::string pci;
  std::string uuid;
  std::vector<std::string> archs;
  std::vector<tenon_str> arch_views;
  tenon_device facts{};
  std::atomic<std::uint32_t> clock_khz{0};

  std::once_flag made_stream;
  Stream default_stream = nullptr;
  std::once_flag made_pool;
  bool has_pool = false;
  MemPool pool{};
  std::mutex peers_mutex;
  std::vector<std::int32_t> peers;  // devices that may read this one's pool

  KeptMemory kept;
  std::mutex streams_mutex;
  std::vector<Stream> streams;  // made by stream_create, not given back yet

  std::atomic<std::uint64_t> allocations{0};
  std::atomic<std::uint64_t> frees{0};
  std::atomic<std::uint64_t> synchronizations{0};
  std::atomic<std::uint64_t> live_bytes{0};
};

namespace {

std::int32_t index_of(const DeviceFacts& device) { return device.index(); }
bool is_mine(const DeviceFacts& device) { return device.kind() == kKind; }

std::uint32_t attribute(decltype(kUnits) which, int index, const char* what) {
  int value = 0;
  check(TENON_GPU(DeviceGetAttribute)(&value, which, index), what, index);
  return static_cast<std::uint32_t>(std::max(value, 0));
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

#if defined(TENON_GPU_CUDA)
std::string uuid_text(const Properties& properties) {
  static_assert(sizeof(properties.uuid) == 16);
  std::array<unsigned char, 16> bytes{};
  std::memcpy(bytes.data(), &properties.uuid, bytes.size());
  std::string text = "GPU-";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", bytes[i]);
    text += digits.data();
  }
  return text;
}
#else
// The other runtimes give it through their driver's interface only; cards are matched by PCI.
std::string uuid_text(const Properties& /*properties*/) { return {}; }
#endif

std::vector<std::string> arch_tags(const Properties& properties) {
#if TENON_GPU_IS_NVIDIA
  return nvidia_arch_tags(properties.major, properties.minor);
#elif defined(TENON_GPU_HIP)
  return amd_arch_tags(properties.gcnArchName);
#else
  return {"xcore" + std::to_string(properties.major * 100 + properties.minor)};
#endif
}

// Lets this thread ask for memory while a stream of it captures. The memory is for another stream;
// the runtimes refuse it all the same, because an allocation may wait.
class AllocationsAllowed {
 public:
  AllocationsAllowed() { static_cast<void>(swap_capture_mode(&mode_)); }
  ~AllocationsAllowed() { static_cast<void>(swap_capture_mode(&mode_)); }
  AllocationsAllowed(const AllocationsAllowed&) = delete;
  AllocationsAllowed& operator=(const AllocationsAllowed&) = delete;

 private:
  CaptureMode mode_ = TENON_GPU(StreamCaptureModeRelaxed);
};

}  // namespace

GpuDevices::GpuDevices(Host host) : host_(host) {}
GpuDevices::~GpuDevices() {
  // Nothing is in use any more; what cannot be given back goes with the process.
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    if (!devices_[i]->kept.any() || loss_of(index).is_lost()) continue;
    try {
      const Current current(index);
      if (TENON_GPU(DeviceSynchronize)() == kSuccess) give_back_idle(index);
    } catch (const std::exception&) {
      continue;
    }
  }
}

GpuDevices::PerDevice& GpuDevices::per_device(std::int32_t index) {
  const std::lock_guard lock(mutex_);
  const auto at = static_cast<std::size_t>(index);
  while (devices_.size() <= at) devices_.push_back(std::make_unique<PerDevice>());
  return *devices_[at];
}

DeviceCount GpuDevices::count() {
  int found = 0;  // the runtime leaves it untouched on some errors
  const Status status = TENON_GPU(GetDeviceCount)(&found);
  if (status == kSuccess && found > 0) return static_cast<std::uint32_t>(found);
  static thread_local std::string why;
  why = status == kSuccess ? "the runtime reports no device" : words_of(status);
  if (status != kSuccess) forget(status);
  // No device, no driver, a driver too old: each runtime has its own numbers for them, and with any
  // of them there is nothing to use.
  return no_devices(why.c_str());
}

void GpuDevices::describe(std::uint32_t index, tenon_device& out) {
  const auto device = static_cast<std::int32_t>(index);
  PerDevice& mine = per_device(device);
  std::call_once(mine.described, [&] {
    Properties properties{};
    check(TENON_GPU(GetDeviceProperties)(&properties, device), "describing the device", device);
    mine.name = properties.name;
    mine.uuid = uuid_text(properties);
    std::array<char, 32> pci{};
    check(TENON_GPU(DeviceGetPCIBusId)(pci.data(), static_cast<int>(pci.size()), device),
          "asking for the PCI address",
          device);
    mine.pci = lower(pci.data());
    mine.archs = arch_tags(properties);
    for (const std::string& tag : mine.archs) mine.arch_views.push_back(to_str(tag));
    mine.facts.arch = mine.arch_views.front();
    mine.facts.runs_archs = mine.arch_views.data();
    mine.facts.n_runs_archs = mine.arch_views.size();
    mine.facts.unit_count = attribute(kUnits, device, "asking for the number of units");
    mine.facts.warp_size = static_cast<std::uint32_t>(properties.warpSize);
    mine.facts.memory_bytes = properties.totalGlobalMem;
    mine.facts.shared_per_block_bytes =
        attribute(kSharedPerBlock, device, "asking for shared memory per block");
    mine.facts.shared_per_unit_bytes =
        attribute(kSharedPerUnit, device, "asking for shared memory per unit");
    mine.facts.name = to_str(mine.name);
    mine.facts.pci = to_str(mine.pci);
    mine.facts.uuid = to_str(mine.uuid);
  });
  out.arch = mine.facts.arch;
  out.runs_archs = mine.facts.runs_archs;
  out.n_runs_archs = mine.facts.n_runs_archs;
  out.unit_count = mine.facts.unit_count;
  out.warp_size = mine.facts.warp_size;
  out.memory_bytes = mine.facts.memory_bytes;
  out.shared_per_block_bytes = mine.facts.shared_per_block_bytes;
  out.shared_per_unit_bytes = mine.facts.shared_per_unit_bytes;
  out.name = mine.facts.name;
  out.pci = mine.facts.pci;
  out.uuid = mine.facts.uuid;
  if (loss_of(device).is_lost()) out.flags |= TENON_DEVICE_FLAG_LOST;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the documented handle is the ordinal
  out.native = reinterpret_cast<void*>(static_cast<std::intptr_t>(device));
}

Stream GpuDevices::stream_of(const DeviceFacts& device, void* stream) {
  auto* const own = static_cast<Stream>(stream_default(device));
  if (stream == nullptr || stream == own) return own;
  require_stream_of(index_of(device), static_cast<Stream>(stream));
  return static_cast<Stream>(stream);
}

Stream GpuDevices::stream_now(const DeviceFacts& device, void* stream) {
  auto* const own = static_cast<Stream>(stream_default(device));
  if (stream == nullptr || stream == own) return own;
  require_stream_now(index_of(device), static_cast<Stream>(stream));
  return static_cast<Stream>(stream);
}

void* GpuDevices::stream_default(const DeviceFacts& device) {
  const std::int32_t index = index_of(device);
  PerDevice& mine = per_device(index);
  std::call_once(mine.made_stream, [&] {
    const Current current(index);
    check(TENON_GPU(StreamCreateWithFlags)(&mine.default_stream, TENON_GPU(StreamNonBlocking)),
          "making the default stream",
          index);
  });
  return mine.default_stream;
}

void* GpuDevices::alloc(const DeviceFacts& device,
                        std::uint32_t memory_kind,
                        std::uint64_t size_bytes,
                        void* stream) {
  const std::int32_t index = index_of(device);
  PerDevice& mine = per_device(index);
  const Current current(index);
  const std::uint64_t size = std::max<std::uint64_t>(size_bytes, 1);
  const std::string what = "allocating " + std::to_string(size) + " bytes";
  void* memory = nullptr;
  const AllocationsAllowed allowed;
  switch (memory_kind) {
    case TENON_MEMORY_DEVICE:
      std::call_once(mine.made_pool, [&] {
        if (attribute(kHasMemPools, index, "asking for memory pools") == 0) return;
        MemPoolProperties properties{};
        properties.allocType = kPinnedAllocation;
        properties.location.type = kDeviceLocation;
        properties.location.id = index;
        if (const Status refused = TENON_GPU(MemPoolCreate)(&mine.pool, &properties);
            refused != kSuccess) {
          forget(refused);
          return;
        }
        // Keep what is freed: the next call needs it again.
        std::uint64_t threshold = std::numeric_limits<std::uint64_t>::max();
        check(TENON_GPU(MemPoolSetAttribute)(mine.pool, kReleaseThreshold, &threshold),
              "setting up the memory pool",
              index);
        mine.has_pool = true;
      });
      if (stream_is_capturing(device, stream)) {
        // It would become a part of the graph, valid within a replay only.
        throw Failure(TENON_INVALID_ARGUMENT,
                      "the stream captures, and memory that is made in a capture lives within a "
                      "replay only: give outputs, or hold a tenon::CaptureScope");
      }
      if (mine.kept.any()) give_back(index, static_cast<Stream>(stream));
      if (mine.has_pool) {
        check(TENON_GPU(MallocFromPoolAsync)(&memory, size, mine.pool, stream_of(device, stream)),
              what.c_str(),
              index);
      } else {
        check(TENON_GPU(Malloc)(&memory, size), what.c_str(), index);
      }
      break;
    case TENON_MEMORY_PINNED:
      check(host_alloc(&memory, size), what.c_str(), index);
      break;
    case TENON_MEMORY_MANAGED:
      check(
          TENON_GPU(MallocManaged)(&memory, size, TENON_GPU(MemAttachGlobal)), what.c_str(), index);
      break;
    default:
      throw Failure(
          TENON_INVALID_ARGUMENT,
          std::string("kind ") + kKind + " knows no memory kind " + std::to_string(memory_kind));
  }
  mine.allocations.fetch_add(1, std::memory_order_relaxed);
  mine.live_bytes.fetch_add(size, std::memory_order_relaxed);
  return memory;
}

void GpuDevices::free(const DeviceFacts& device,
                      std::uint32_t memory_kind,
                      void* memory,
                      std::uint64_t size_bytes,
                      void* stream) {
  if (memory == nullptr) return;
  const std::int32_t index = index_of(device);
  PerDevice& mine = per_device(index);
  const Current current(index);
  const Kept piece{memory, size_bytes, memory_kind, stream_of(device, stream)};
  // A graph can free only what it allocated, and waiting for the stream would end the capture.
  if (captures(index, piece.stream)) return mine.kept.keep(piece);
  check(release(index, piece), "freeing memory", index);
  if (mine.kept.any()) give_back(index, piece.stream);
}

/// Frees behind the work of the piece's stream, which does not capture.
Status GpuDevices::release(std::int32_t device_index, const Kept& piece) {
  PerDevice& mine = per_device(device_index);
  Status status = kSuccess;
  if (piece.memory_kind == TENON_MEMORY_DEVICE && mine.has_pool) {
    status = TENON_GPU(FreeAsync)(piece.memory, piece.stream);
  } else {
    const AllocationsAllowed allowed;  // another stream of this thread may capture
    status = TENON_GPU(StreamSynchronize)(piece.stream);
    if (status != kSuccess) return status;
    mine.synchronizations.fetch_add(1, std::memory_order_relaxed);
    status = piece.memory_kind == TENON_MEMORY_PINNED ? host_free(piece.memory)
                                                      : TENON_GPU(Free)(piece.memory);
  }
  if (status != kSuccess) return status;
  mine.frees.fetch_add(1, std::memory_order_relaxed);
  mine.live_bytes.fetch_sub(std::max<std::uint64_t>(piece.size_bytes, 1),
                            std::memory_order_relaxed);
  return status;
}

/// Gives back what was kept for streams that no longer capture: the one that a call names, and
/// those that the plugin made. The device is current.
void GpuDevices::give_back(std::int32_t device_index, Stream named) {
  PerDevice& mine = per_device(device_index);
  for (const Stream stream : mine.kept.streams()) {
    const auto is_own = [&] {
      const std::lock_guard lock(mine.streams_mutex);
      return stream == mine.default_stream ||
             std::find(mine.streams.begin(), mine.streams.end(), stream) != mine.streams.end();
    };
    if (stream != named && !is_own()) continue;
    if (captures(device_index, stream)) continue;
    for (const Kept& piece : mine.kept.take([&](const Kept& it) { return it.stream == stream; })) {
      // The call that happens to come by has nothing to do with a failure here.
      if (const Status status = release(device_index, piece); status != kSuccess) forget(status);
    }
  }
}

/// After all work of the device is done: behind no stream in particular.
void GpuDevices::give_back_idle(std::int32_t device_index) {
  PerDevice& mine = per_device(device_index);
  const Stream own = mine.default_stream;
  if (own == nullptr || captures(device_index, own)) return;
  for (Kept piece : mine.kept.take([](const Kept&) { return true; })) {
    piece.stream = own;
    if (const Status status = release(device_index, piece); status != kSuccess) forget(status);
  }
}

/// Lets copies between two devices go past the host where the hardware can.
void GpuDevices::allow_peer(std::int32_t reader, std::int32_t owner) {
  PerDevice& mine = per_device(owner);
  const std::lock_guard lock(mine.peers_mutex);
  if (std::find(mine.peers.begin(), mine.peers.end(), reader) != mine.peers.end()) return;
  mine.peers.push_back(reader);
  int can = 0;
  const auto ignore = [](Status status) {  // "enabled already" is no error
    if (status != kSuccess) forget(status);
  };
  ignore(TENON_GPU(DeviceCanAccessPeer)(&can, reader, owner));
  if (can != 0) {
    const Current current(reader);
    ignore(TENON_GPU(DeviceEnablePeerAccess)(owner, 0));
#if defined(TENON_GPU_CUDA)
    if (mine.has_pool) {
      cudaMemAccessDesc access{};
      access.location.type = cudaMemLocationTypeDevice;
      access.location.id = reader;
      access.flags = cudaMemAccessFlagsProtReadWrite;
      ignore(cudaMemPoolSetAccess(mine.pool, &access, 1));
    }
#endif
  }
}

void GpuDevices::copy(const DeviceFacts& dst_device,
                      void* dst,
                      const DeviceFacts& src_device,
                      const void* src,
                      std::uint64_t size_bytes,
                      void* stream) {
  if (size_bytes == 0) return;
  const bool to_mine = is_mine(dst_device);
  const bool from_mine = is_mine(src_device);
  const bool across = to_mine && from_mine && dst_device.index() != src_device.index();
  // Between two devices the stream may be either's.
  const bool of_source =
      !to_mine ||
      (across && stream != nullptr &&
       device_of_stream(index_of(dst_device), static_cast<Stream>(stream)) == index_of(src_device));
  const DeviceFacts& owner = of_source ? src_device : dst_device;
  const std::int32_t index = index_of(owner);
  const Current current(index);
  const std::string what = "copying " + std::to_string(size_bytes) + " bytes";
  const Stream on = stream_now(owner, stream);
  if (across) {
    allow_peer(dst_device.index(), src_device.index());
    allow_peer(src_device.index(), dst_device.index());
    check(TENON_GPU(MemcpyPeerAsync)(
              dst, dst_device.index(), src, src_device.index(), size_bytes, on),
          what.c_str(),
          index);
    return;
  }
  const auto direction =
      to_mine ? (from_mine ? TENON_GPU(MemcpyDeviceToDevice) : TENON_GPU(MemcpyHostToDevice))
              : TENON_GPU(MemcpyDeviceToHost);
  check(TENON_GPU(MemcpyAsync)(dst, src, size_bytes, direction, on), what.c_str(), index);
}

void GpuDevices::fill(const DeviceFacts& device,
                      void* dst,
                      std::uint8_t value,
                      std::uint64_t size_bytes,
                      void* stream) {
  if (size_bytes == 0) return;
  const Current current(index_of(device));
  check(TENON_GPU(MemsetAsync)(dst, value, size_bytes, stream_now(device, stream)),
        "filling memory",
        index_of(device));
}

MemoryInfo GpuDevices::mem_info(const DeviceFacts& device) {
  const Current current(index_of(device));
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(
      TENON_GPU(MemGetInfo)(&free_bytes, &total_bytes), "asking for free memory", index_of(device));
  return {free_bytes, total_bytes};
}

void* GpuDevices::stream_create(const DeviceFacts& device) {
  const Current current(index_of(device));
  Stream stream = nullptr;
  check(TENON_GPU(StreamCreateWithFlags)(&stream, TENON_GPU(StreamNonBlocking)),
        "making a stream",
        index_of(device));
  PerDevice& mine = per_device(index_of(device));
  const std::lock_guard lock(mine.streams_mutex);
  mine.streams.push_back(stream);
  return stream;
}

void GpuDevices::stream_destroy(const DeviceFacts& device, void* stream) {
  if (stream == nullptr || stream == stream_default(device)) return;
  const Current current(index_of(device));
  PerDevice& mine = per_device(index_of(device));
  if (mine.kept.any()) give_back(index_of(device), static_cast<Stream>(stream));
  {
    const std::lock_guard lock(mine.streams_mutex);
    mine.streams.erase(std::remove(mine.streams.begin(), mine.streams.end(), stream),
                       mine.streams.end());
  }
  forget_streams();
  check(TENON_GPU(StreamDestroy)(static_cast<Stream>(stream)),
        "giving back a stream",
        index_of(device));
}

void GpuDevices::stream_synchronize(const DeviceFacts& device, void* stream) {
  const Current current(index_of(device));
  PerDevice& mine = per_device(index_of(device));
  mine.synchronizations.fetch_add(1, std::memory_order_relaxed);
  const Stream on = stream_of(device, stream);
  check(TENON_GPU(StreamSynchronize)(on), "waiting for a stream", index_of(device));
  if (mine.kept.any()) give_back(index_of(device), on);
}

void GpuDevices::stream_wait_event(const DeviceFacts& device, void* stream, void* event) {
  const Current current(index_of(device));
  check(TENON_GPU(StreamWaitEvent)(stream_of(device, stream), static_cast<Event>(event), 0),
        "making a stream wait for an event",
        index_of(device));
}

bool GpuDevices::stream_is_capturing(const DeviceFacts& device, void* stream) {
  const Current current(index_of(device));
  return captures(index_of(device), stream_of(device, stream));
}

void* GpuDevices::event_create(const DeviceFacts& device) {
  const Current current(index_of(device));
  Event event = nullptr;
  check(TENON_GPU(EventCreateWithFlags)(&event, TENON_GPU(EventDefault)),
        "making an event",
        index_of(device));
  return event;
}

void GpuDevices::event_record(const DeviceFacts& device, void* event, void* stream) {
  const Current current(index_of(device));
  check(TENON_GPU(EventRecord)(static_cast<Event>(event), stream_of(device, stream)),
        "recording an event",
        index_of(device));
}

bool GpuDevices::event_query(const DeviceFacts& device, void* event) {
  const Current current(index_of(device));
  const Status status = TENON_GPU(EventQuery)(static_cast<Event>(event));
  if (status == kNotReady) {
    forget(status);
    return false;
  }
  check(status, "asking whether an event has passed", index_of(device));
  return true;
}

std::uint64_t GpuDevices::event_elapsed_ns(const DeviceFacts& device, void* start, void* end) {
  const Current current(index_of(device));
  float milliseconds = 0;
  check(TENON_GPU(EventElapsedTime)(
            &milliseconds, static_cast<Event>(start), static_cast<Event>(end)),
        "reading the time between two events",
        index_of(device));
  return static_cast<std::uint64_t>(static_cast<double>(milliseconds) * 1e6);
}

void GpuDevices::event_destroy(const DeviceFacts& device, void* event) {
  const Current current(index_of(device));
  check(
      TENON_GPU(EventDestroy)(static_cast<Event>(event)), "giving back an event", index_of(device));
}

void GpuDevices::synchronize(const DeviceFacts& device) {
  const Current current(index_of(device));
  PerDevice& mine = per_device(index_of(device));
  mine.synchronizations.fetch_add(1, std::memory_order_relaxed);
  check(TENON_GPU(DeviceSynchronize)(), "waiting for the device", index_of(device));
  if (mine.kept.any()) give_back_idle(index_of(device));
}

void GpuDevices::last_error(const DeviceFacts& device, bool clear) {
  const std::int32_t index = index_of(device);
  const Loss& loss = loss_of(index);
  if (loss.is_lost()) {
    throw Failure(
        TENON_DEVICE,
        std::string(kKind) + ":" + std::to_string(index) + " is lost since " + loss.why());
  }
  const Current current(index);
  const Status status = clear && !kSharedRuntime ? take_error() : peek_error();
  if (status == kSuccess) return;
  if (ends_device(status)) fail(status, "looking for errors", index);
  // The plugin takes back what its own calls leave, so this is the application's.
  if (kSharedRuntime) return;
  throw Failure(
      TENON_DEVICE,
      "an earlier call left " + words_of(status) + " on " + kKind + ":" + std::to_string(index));
}

// ---- Extensions ----------------------------------------------------------------------------

void GpuDevices::graph_begin(std::int32_t device_index, void* stream) {
  const Current current(device_index);
  require_stream_now(device_index, static_cast<Stream>(stream));
  if (captures(device_index, static_cast<Stream>(stream)))
    throw Failure(TENON_INVALID_ARGUMENT, "the stream captures already");
  check(TENON_GPU(StreamBeginCapture)(static_cast<Stream>(stream),
                                      TENON_GPU(StreamCaptureModeThreadLocal)),
        "beginning a capture",
        device_index);
}

void* GpuDevices::graph_end(std::int32_t device_index, void* stream) {
  const Current current(device_index);
  if (!captures(device_index, static_cast<Stream>(stream)))
    throw Failure(TENON_INVALID_ARGUMENT, "the stream does not capture");
  Graph graph{};
  check(TENON_GPU(StreamEndCapture)(static_cast<Stream>(stream), &graph),
        "ending a capture",
        device_index);
  GraphExec executable{};
  const Status status = graph_instantiate(&executable, graph);
  static_cast<void>(TENON_GPU(GraphDestroy)(graph));
  check(status, "making a captured graph ready", device_index);
  if (KeptMemory& kept = per_device(device_index).kept; kept.any())
    give_back(device_index, static_cast<Stream>(stream));
  return executable;
}

void GpuDevices::graph_launch(std::int32_t device_index, void* graph, void* stream) {
  const Current current(device_index);
  require_stream_of(device_index, static_cast<Stream>(stream));
  check(TENON_GPU(GraphLaunch)(static_cast<GraphExec>(graph), static_cast<Stream>(stream)),
        "launching a graph",
        device_index);
}

void GpuDevices::graph_destroy(std::int32_t device_index, void* graph) {
  const Current current(device_index);
  check(TENON_GPU(GraphExecDestroy)(static_cast<GraphExec>(graph)),
        "giving back a graph",
        device_index);
}

void GpuDevices::delay(std::int32_t device_index, void* stream, std::uint64_t delay_ns) {
  const Current current(device_index);
  PerDevice& mine = per_device(device_index);
  if (mine.clock_khz == 0) {
    mine.clock_khz = attribute(kClockRate, device_index, "asking for the clock");
  }
  const Status pending = pending_error();
  launch_delay(static_cast<Stream>(stream), delay_ns, mine.clock_khz);
  check_launch("launching the delay", device_index, pending);
}

void GpuDevices::read_counters(std::int32_t device_index, tenon_device_counters& out) {
  const PerDevice& mine = per_device(device_index);
  out.allocations = mine.allocations.load(std::memory_order_relaxed);
  out.frees = mine.frees.load(std::memory_order_relaxed);
  out.synchronizations = mine.synchronizations.load(std::memory_order_relaxed);
  out.live_bytes = mine.live_bytes.load(std::memory_order_relaxed);
}

namespace {

using Dev = const tenon_device*;
GpuDevices& self(void* context) { return *static_cast<GpuDevices*>(context); }

void* stream_or_default(void* context, Dev device, void* stream) {
  return stream != nullptr ? stream : self(context).stream_default(DeviceFacts(*device));
}

const tenon_device_graph kGraph{
    sizeof(tenon_device_graph),
    [](void* c, Dev d, void* stream, tenon_reason* reason) -> tenon_status {
      return detail::guarded(
          reason, [&] { self(c).graph_begin(d->index, stream_or_default(c, d, stream)); });
    },
    [](void* c, Dev d, void* stream, void** graph, tenon_reason* reason) -> tenon_status {
      return detail::guarded(
          reason, [&] { *graph = self(c).graph_end(d->index, stream_or_default(c, d, stream)); });
    },
    [](void* c, Dev d, void* graph, void* stream, tenon_reason* reason) -> tenon_status {
      return detail::guarded(
          reason, [&] { self(c).graph_launch(d->index, graph, stream_or_default(c, d, stream)); });
    },
    [](void* c, Dev d, void* graph, tenon_reason* reason) -> tenon_status {
      return detail::guarded(reason, [&] { self(c).graph_destroy(d->index, graph); });
    }};

const tenon_device_test kTest{
    sizeof(tenon_device_test),
    [](void* c, Dev d, void* stream, std::uint64_t delay_ns, tenon_reason* reason) -> tenon_status {
      return detail::guarded(
          reason, [&] { self(c).delay(d->index, stream_or_default(c, d, stream), delay_ns); });
    },
    [](void* c, Dev d, tenon_device_counters* out, tenon_reason* reason) -> tenon_status {
      return detail::guarded(reason, [&] { self(c).read_counters(d->index, *out); });
    }};

}  // namespace

const void* GpuDevices::extension(std::string_view name, std::uint32_t min_version) {
  if (min_version > 1) return nullptr;
  if (name == TENON_EXTENSION_DEVICE_GRAPH) return &kGraph;
  if (name == TENON_EXTENSION_DEVICE_TEST) return &kTest;
  return nullptr;
}

}  // namespace tenon::gpu
