// What a device does around kernels: the second call, streams, capture, errors.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "check.hpp"
#include "samples.hpp"

namespace tenon::gpu_check {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

void check_hits(Bench& bench) {
  const auto* test = bench.extension<tenon_device_test>(TENON_EXTENSION_DEVICE_TEST);
  over_samples(bench, [&](Ready& ready, const std::string& group) {
    const auto counters = [&] {
      tenon_device_counters out{};
      out.struct_size = sizeof(out);
      tenon_reason reason = empty_reason();
      test->counters(bench.kind().context, &bench.entry().launch, &out, &reason);
      return out;
    };
    const auto free_bytes = [&] {
      std::uint64_t free = 0;
      std::uint64_t total = 0;
      tenon_reason reason = empty_reason();
      bench.kind().mem_info(bench.kind().context, &bench.entry().launch, &free, &total, &reason);
      return free;
    };
    const tenon_device_counters before = counters();
    const std::uint64_t free_before = free_bytes();
    for (int i = 0; i < 100; ++i) must(ready());
    const tenon_device_counters after = counters();
    must(bench.devices().synchronize(bench.entry()));
    const bool built = ready.op.last_call() && ready.op.last_call()->built;
    const bool quiet = before.allocations == after.allocations &&
                       before.synchronizations == after.synchronizations && !built;
    if (quiet && free_before == free_bytes()) {
      bench.tally().pass("hits: " + group, 0);
    } else {
      bench.tally().fail("hits: " + group,
                         "free memory " + std::to_string(free_before) + " to " +
                             std::to_string(free_bytes()) + ", allocations " +
                             std::to_string(after.allocations - before.allocations) +
                             ", synchronisations " +
                             std::to_string(after.synchronizations - before.synchronizations));
    }
  });
}

void check_streams(Bench& bench) {
  const auto* test = bench.extension<tenon_device_test>(TENON_EXTENSION_DEVICE_TEST);
  const tenon_device_kind& kind = bench.kind();
  const tenon_device* device = &bench.entry().launch;
  tenon_reason reason = empty_reason();
  void* stream = nullptr;
  if (kind.stream_create(kind.context, device, &stream, &reason) != TENON_OK)
    return bench.tally().fail("streams", reason.text);
  over_samples(bench, [&](Ready& ready, const std::string& group) {
    const std::vector<std::byte> expected = bytes_of(bench, ready.out);
    // The first call on this stream may make its workspace.
    must(on_stream(bench.device(), stream, [&] { return ready(); }));
    kind.stream_synchronize(kind.context, device, stream, &reason);
    // The input is poison until a slow producer on the stream has written it.
    const Tensor& input = ready.inputs.front();
    const Tensor good = to_host(bench, input);
    const auto size = input.storage()->size_bytes();
    std::vector<std::byte> poison(size, std::byte{0x3c});
    must(bench.devices().copy_bytes(
        bench.device(), input.storage()->memory(), Device{}, poison.data(), size));
    // Keep a pinned copy: a copy from pageable memory would wait.
    void* pinned = nullptr;
    kind.alloc(kind.context, device, TENON_MEMORY_PINNED, size, stream, &pinned, &reason);
    std::memcpy(pinned, good.storage()->memory(), size);
    tenon_device host{};
    host.struct_size = sizeof(host);
    host.kind = {"cpu", 3};
    const auto start = Clock::now();
    test->delay(kind.context, device, stream, 200'000'000, &reason);
    kind.copy(
        kind.context, device, input.storage()->memory(), &host, pinned, size, stream, &reason);
    const auto called = on_stream(bench.device(), stream, [&] { return ready(); });
    const double returned_ms =
        std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    kind.stream_synchronize(kind.context, device, stream, &reason);
    const double done_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    kind.free(kind.context, device, TENON_MEMORY_PINNED, pinned, size, stream, &reason);
    const bool right = bytes_of(bench, ready.out) == expected;
    if (called && right && returned_ms < 50 && done_ms > 150) {
      bench.tally().pass("streams: " + group, 0);
    } else {
      bench.tally().fail("streams: " + group,
                         (called ? std::string() : called.error().to_string() + "; ") +
                             "returned after " + std::to_string(returned_ms) + " ms, done after " +
                             std::to_string(done_ms) + " ms, result " +
                             (right ? "right" : "wrong"));
    }
  });
  kind.stream_destroy(kind.context, device, stream, &reason);
}

void check_capture(Bench& bench) {
  const auto* graph = bench.extension<tenon_device_graph>(TENON_EXTENSION_DEVICE_GRAPH);
  const tenon_device_kind& kind = bench.kind();
  const tenon_device* device = &bench.entry().launch;
  tenon_reason reason = empty_reason();
  void* stream = nullptr;
  if (kind.stream_create(kind.context, device, &stream, &reason) != TENON_OK)
    return bench.tally().fail("capture", reason.text);
  over_samples(bench, [&](Ready& ready, const std::string& group) {
    const std::vector<std::byte> expected = bytes_of(bench, ready.out);
    must(on_stream(bench.device(), stream, [&] { return ready(); }));
    kind.stream_synchronize(kind.context, device, stream, &reason);
    const auto clear = [&] {
      std::vector<std::byte> poison(ready.out.storage()->size_bytes(), std::byte{0xa5});
      must(bench.devices().copy_bytes(
          bench.device(), ready.out.storage()->memory(), Device{}, poison.data(), poison.size()));
    };
    clear();
    tenon_status status = graph->begin(kind.context, device, stream, &reason);
    const auto called = on_stream(bench.device(), stream, [&] { return ready(); });
    void* captured = nullptr;
    if (status == TENON_OK) status = graph->end(kind.context, device, stream, &captured, &reason);
    if (status != TENON_OK || !called) {
      return bench.tally().fail(
          "capture: " + group,
          std::string(reason.text) + (called ? std::string() : called.error().to_string()));
    }
    bool right = bytes_of(bench, ready.out) != expected;  // nothing ran yet
    for (int replay = 0; replay < 2; ++replay) {
      clear();
      graph->launch(kind.context, device, captured, stream, &reason);
      kind.stream_synchronize(kind.context, device, stream, &reason);
      right = right && bytes_of(bench, ready.out) == expected;
    }
    graph->destroy(kind.context, device, captured, &reason);
    if (right) {
      bench.tally().pass("capture: " + group, 0);
    } else {
      bench.tally().fail("capture: " + group, "a replay gave another result");
    }
  });
  // A first call while the stream captures: refused with advice, and the next call works.
  const Call call = sample_calls().front();
  auto fresh = make_ready(bench, call, bench.keys(call.op, call.dtype).front());
  graph->begin(kind.context, device, stream, &reason);
  const auto first = on_stream(bench.device(), stream, [&] { return (*fresh)(); });
  void* captured = nullptr;
  graph->end(kind.context, device, stream, &captured, &reason);
  if (captured != nullptr) graph->destroy(kind.context, device, captured, &reason);
  std::printf(
      "  a first call in a capture: %s\n",
      first ? "built already by an earlier instance, captured" : first.error().to_string().c_str());
  const auto next = (*fresh)();
  if (next) {
    bench.tally().pass("capture: the call after it", 0);
  } else {
    bench.tally().fail("capture: the call after it", next.error().to_string());
  }
  kind.stream_destroy(kind.context, device, stream, &reason);
}

int provoke_illegal_address(Bench& bench, bool met_by_product) {
  const std::vector<Call> calls = sample_calls();
  auto ready = make_ready(bench, calls.front(), "");
  must((*ready)());
  const auto product_call = std::find_if(
      calls.begin(), calls.end(), [](const Call& each) { return each.op == "MatMulFwdOp"; });
  auto product = make_ready(bench, *product_call, "");
  must((*product)());
  must(bench.devices().synchronize(bench.entry()));
  TensorView bad = ready->inputs.front().view();
  // An address that nothing is mapped at.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  bad.data = reinterpret_cast<void*>(std::uintptr_t{0x7000'0000'0000});
  bad.byte_offset = 0;
  ready->views[0] = &bad;
  const auto launched = (*ready)();
  std::printf("    the launch: %s\n", launched ? "accepted" : launched.error().to_string().c_str());
  // Long enough for the kernel to have failed.
  if (met_by_product) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto waited = met_by_product ? (*product)() : bench.devices().synchronize(bench.entry());
  std::printf("    %s: %s\n",
              met_by_product ? "a product after it" : "waiting",
              waited ? "no error" : waited.error().to_string().c_str());
  ready->views[0] = &ready->inputs.front().view();
  const auto next = (*ready)();
  std::printf("    the next call: %s\n", next ? "no error" : next.error().to_string().c_str());
  tenon_device described{};
  described.struct_size = sizeof(described);
  tenon_reason reason = empty_reason();
  bench.kind().describe(bench.kind().context, 0, &described, &reason);
  const bool lost = (described.flags & TENON_DEVICE_FLAG_LOST) != 0;
  std::printf("    the device is %smarked as lost\n", lost ? "" : "NOT ");
  std::fflush(stdout);
  // Without the destructors: their device is gone.
  std::_Exit(launched && !waited && !next && lost ? 0 : 1);
}

namespace {

/// Streams of the first card, named with memory of both: a copy between them takes one of either, a
/// fill on the second takes none of the first.
void check_streams_of_two(Bench& bench, const DeviceEntry& second, void* there, const void* here) {
  const tenon_device_kind& kind = bench.kind();
  const tenon_device* first = &bench.entry().launch;
  constexpr std::uint64_t kBytes = 4096;
  tenon_reason reason = empty_reason();
  void* stream = nullptr;
  kind.stream_create(kind.context, first, &stream, &reason);
  const tenon_status copied =
      kind.copy(kind.context, &second.launch, there, first, here, kBytes, stream, &reason);
  const tenon_status waited = kind.stream_synchronize(kind.context, first, stream, &reason);
  if (copied == TENON_OK && waited == TENON_OK) {
    bench.tally().pass("two cards: a copy on a stream of the source", 0);
  } else {
    bench.tally().fail("two cards: a copy on a stream of the source", reason.text);
  }
  const tenon_status filled =
      kind.fill(kind.context, &second.launch, there, 0, kBytes, stream, &reason);
  if (filled == TENON_INVALID_ARGUMENT) {
    bench.tally().pass("two cards: a fill on a stream of the other", 0);
  } else {
    bench.tally().fail("two cards: a fill on a stream of the other",
                       "status " + std::to_string(filled));
  }
  kind.stream_destroy(kind.context, first, stream, &reason);
}

}  // namespace

/// A call on the second card, whatever card is current; and one with a stream of the first.
void check_calls_on_second(Bench& bench, const DeviceEntry& entry, std::mt19937_64& random) {
  DeviceTable& devices = bench.devices();
  const Device second = entry.device;
  const tenon_device_kind& kind = bench.kind();
  const std::string group = "two cards: ";
  const Dims shape{64, 1024};
  const Tensor x_host = make_host(DType::kBFloat16, shape, Layout::kDense);
  fill(x_host, Values::kNormal, random);
  Tensor x = must(devices.make_tensor(DType::kBFloat16, shape, second));
  must(devices.copy_bytes(second,
                          x.view().first(),
                          Device{},
                          x_host.view().first(),
                          static_cast<std::size_t>(x_host.view().count()) * 2));
  Op op = must(bench.runtime().make("MulFwdOp", {}));
  const auto run = [&]() -> Result<void> {
    auto results = op.call({{"self", x}, {"other", x}});
    if (!results) return fail(std::move(results).error());
    TENON_TRY(devices.synchronize(entry));
    Tensor got = must(Tensor::host(DType::kBFloat16, shape));
    TENON_TRY(devices.copy_bytes(Device{},
                                 got.view().first(),
                                 second,
                                 results->front().view().first(),
                                 static_cast<std::size_t>(got.view().count()) * 2));
    for (std::int64_t i = 0; i < got.view().count(); ++i) {
      const double value = load_as_double(DType::kBFloat16, x_host.view().first() + i * 2);
      std::uint16_t expected = 0;
      store_from_double(DType::kBFloat16, &expected, value * value);
      if (std::memcmp(&expected, got.view().first() + i * 2, 2) != 0)
        return fail(ErrorCode::kInternal, "a wrong result at " + std::to_string(i));
    }
    return {};
  };
  const auto called = run();
  if (called) {
    bench.tally().pass(group + "a call on the second", 0);
  } else {
    bench.tally().fail(group + "a call on the second", called.error().to_string());
  }
  tenon_reason reason = empty_reason();
  void* stream = nullptr;
  kind.stream_create(kind.context, &bench.entry().launch, &stream, &reason);
  const auto wrong = on_stream(second, stream, run);
  const auto after = run();
  std::printf("  a stream of the other card: %s\n",
              wrong ? "accepted" : wrong.error().to_string().c_str());
  if (!wrong && after) {
    bench.tally().pass(group + "a stream of the other card, and the next call", 0);
  } else {
    bench.tally().fail(group + "a stream of the other card, and the next call",
                       after ? "the wrong stream was accepted" : after.error().to_string());
  }
  kind.stream_destroy(kind.context, &bench.entry().launch, stream, &reason);
}

void check_two_cards(Bench& bench) {
  DeviceTable& devices = bench.devices();
  const Device first = bench.device();
  const Device second{first.kind, 1};
  const auto found = devices.find(second);
  if (!found) {
    std::printf("  not run, there is one card: %s\n", found.error().message().c_str());
    return;
  }
  const std::string group = "two cards: ";
  std::mt19937_64 random(22);
  const Tensor host = make_host(DType::kBFloat16, Dims{1 << 22}, Layout::kDense);
  fill(host, Values::kNormal, random);
  const auto size = host.storage()->size_bytes();
  const Tensor here = to_device(bench, host);
  const Tensor there =
      must(devices.make_tensor(DType::kUInt8, Dims{static_cast<std::int64_t>(size)}, second));
  std::vector<std::byte> back(size);
  must(devices.copy_bytes(second, there.view().first(), first, here.storage()->memory(), size));
  must(devices.copy_bytes(Device{}, back.data(), second, there.view().first(), size));
  if (std::memcmp(back.data(), host.storage()->memory(), size) == 0) {
    bench.tally().pass(group + "a copy from one to the other", 0);
  } else {
    bench.tally().fail(group + "a copy from one to the other", "other bytes arrived");
  }

  check_streams_of_two(bench, **found, there.view().first(), here.storage()->memory());
  check_calls_on_second(bench, **found, random);
}

void check_errors(Bench& bench,
                  const std::string& program,
                  const std::vector<std::string>& plugins) {
  const tenon_device_kind& kind = bench.kind();
  const tenon_device* device = &bench.entry().launch;
  tenon_reason reason = empty_reason();
  void* memory = nullptr;
  const tenon_status status = kind.alloc(
      kind.context, device, TENON_MEMORY_DEVICE, std::uint64_t{1} << 44, nullptr, &memory, &reason);
  std::printf("  out of memory: status %d, %s\n", status, reason.text);
  const Call call = sample_calls().front();
  auto ready = make_ready(bench, call, "");
  const auto next = (*ready)();
  if (status == TENON_OUT_OF_MEMORY && next) {
    bench.tally().pass("errors: out of memory, and the next call", 0);
  } else {
    bench.tally().fail("errors: out of memory, and the next call",
                       next ? "no error came" : next.error().to_string());
  }
  const auto absent = bench.devices().find(Device{bench.device().kind, 99});
  std::printf("  device 99: %s\n", absent ? "found" : absent.error().to_string().c_str());
  for (const bool met_by_product : {false, true}) {
    std::printf("  an illegal address, in a process of its own:\n");
    std::fflush(stdout);
    std::string command =
        "'" + program + "' --illegal --kind " + std::string(bench.device().kind.name());
    if (met_by_product) command += " --met-by-product";
    for (const std::string& plugin : plugins) command += " --plugin '" + plugin + "'";
    const int ended = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe,cert-env33-c)
    const std::string group =
        met_by_product ? "errors: illegal address, met by a product" : "errors: illegal address";
    if (ended == 0) {
      bench.tally().pass(group, 0);
    } else {
      bench.tally().fail(group, "see above");
    }
  }
}

}  // namespace tenon::gpu_check
