// Where the memory of outputs and workspaces comes from: the owner, the application's allocator, a
// capture's scope; and what a forked child may still use.
#include <cstdlib>
#include <map>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "core/support/scale_world.hpp"
#include "tenon/core/capture.hpp"

using namespace tenon;
using tenon::test::FakeRow;
using World = tenon::test::ScaleWorld;

namespace {

/// An application's pool that remembers what it gave.
struct Pool {
  std::map<void*, std::size_t> live;
  int given = 0;
  static constexpr std::size_t kNoLimit = ~std::size_t{0};
  bool empty = false;
  std::size_t most_bytes = kNoLimit;
  std::vector<void*> streams;

  DeviceAllocator allocator() {
    return {[this](Device device, std::size_t size, void* stream) -> void* {
              CHECK(device.to_string() == "fake:0");
              if (empty || size > most_bytes) return nullptr;
              void* memory = std::aligned_alloc(256, (size + 255) / 256 * 256);
              live[memory] = size;
              streams.push_back(stream);
              ++given;
              return memory;
            },
            [this](Device, void* memory, std::size_t size, void*) {
              REQUIRE(live.count(memory) == 1);
              CHECK(live[memory] == size);
              live.erase(memory);
              std::free(memory);
            }};
  }
};

// What a launch wrote to, and the workspace that it had.
struct Seen {
  void* out = nullptr;
  void* workspace = nullptr;
  void watch(FakeRow& row) {
    row.launch = [this](const tenon_launch& l, tenon_reason& reason) {
      out = l.tensors[l.arg_first[2]]->data;
      workspace = l.workspace;
      return tenon::test::doubles(l, reason);
    };
  }
};

}  // namespace

TEST_SUITE("device memory") {
  TEST_CASE("outputs and workspaces come from the application's allocator, and go back to it") {
    static Pool pool;  // this thread keeps a workspace beyond the world
    {
      World w;
      FakeRow& row = w.row("fast");
      row.workspace_bytes = 1000;
      Seen seen;
      seen.watch(row);
      w.publish();
      REQUIRE(w.engine->devices().set_allocator(w.fake.kind, pool.allocator()));
      Op op = w.make();

      for (int call = 0; call < 3; ++call) {
        auto made = op.call({{"x", w.tensor({3})}});
        REQUIRE(made);
        CHECK((*made)[0].data<float>()[1] == 4.0f);
        CHECK(pool.live.count(seen.out) == 1);
        CHECK(seen.workspace != nullptr);
      }

      CHECK(pool.given == 7);        // an input and an output each, one workspace
      CHECK(pool.live.size() == 1);  // the workspace, kept for the next call
      CHECK(w.kind.allocations == 0);

      pool.empty = true;
      const auto out_of_memory = w.engine->devices().make_tensor(DType::kFloat32, {3}, w.fake);
      REQUIRE_FALSE(out_of_memory);
      CHECK(out_of_memory.error().code() == ErrorCode::kOutOfMemory);
      CHECK(out_of_memory.error().message().find("application's allocator") != std::string::npos);
      pool.empty = false;
    }
  }

  TEST_CASE("a workspace that cannot be had is told by whose it is, in repeated calls too") {
    static Pool pool;  // this thread keeps a workspace beyond the world
    static char other_stream = 0;
    World w;
    FakeRow& row = w.row("fast");
    row.workspace_bytes = std::uint64_t{1} << 20;
    w.publish();
    REQUIRE(w.engine->devices().set_allocator(w.fake.kind, pool.allocator()));
    Op op = w.make();
    const Tensor x = w.tensor({3});
    const auto check = [&](const std::string& text) {
      const auto made = op.call({{"x", x}});
      REQUIRE_FALSE(made);
      CHECK(made.error().code() == ErrorCode::kOutOfMemory);
      CHECK_MESSAGE(made.error().message().find(text) == 0, made.error().message());
    };
    const char told[] =
        "the workspace of 1048576 bytes for kernel type 'acme:fast' of interface 'scale_fwd': "
        "allocating 1048576 bytes on fake:0";

    pool.most_bytes = 1000;
    check(told);
    pool.most_bytes = Pool::kNoLimit;
    for (int call = 0; call < 3; ++call) REQUIRE(op.call({{"x", x}}));
    pool.most_bytes = 1000;
    {
      const StreamScope scope(w.fake, &other_stream);  // which has no workspace yet
      check(told);
    }

    row.workspace_bytes = ~std::uint64_t{0};
    op = w.make();
    check(
        "the workspace of 18446744073709551615 bytes for kernel type 'acme:fast' of interface "
        "'scale_fwd': a workspace of 18446744073709551615 bytes on fake:0 is more than");
    pool.most_bytes = Pool::kNoLimit;
  }

  TEST_CASE("an allocator that wants workspaces apart is asked for each in its own size") {
    static Pool pool;  // this thread keeps workspaces beyond the world
    {
      World w;
      FakeRow& row = w.row("fast");
      row.workspace_bytes = 1000;
      Seen seen;
      seen.watch(row);
      w.publish();
      DeviceAllocator apart = pool.allocator();
      apart.name = "the watched pool";
      apart.separate_workspaces = true;
      REQUIRE(w.engine->devices().set_allocator(w.fake.kind, std::move(apart)));
      Op op = w.make();

      for (int call = 0; call < 3; ++call) {
        REQUIRE(op.call({{"x", w.tensor({3})}}));
        REQUIRE(pool.live.count(seen.workspace) == 1);
        CHECK(pool.live[seen.workspace] == 1000);
      }

      CHECK(pool.given == 7);  // an input and an output each, one workspace that is used again
      pool.empty = true;
      const auto out_of_memory = w.engine->devices().make_tensor(DType::kFloat32, {3}, w.fake);
      REQUIRE_FALSE(out_of_memory);
      CHECK(out_of_memory.error().message().find("the watched pool has none left") !=
            std::string::npos);
      pool.empty = false;
    }
  }

  TEST_CASE("an allocator comes before the first memory, and is whole") {
    World w;
    w.row("fast");
    w.publish();
    Pool pool;
    DeviceTable& devices = w.engine->devices();

    const auto half = devices.set_allocator(w.fake.kind, {pool.allocator().alloc, nullptr});
    const auto unknown = devices.set_allocator(DeviceKind::of("nowhere"), pool.allocator());
    const Tensor early = w.tensor({3});
    const auto late = devices.set_allocator(w.fake.kind, pool.allocator());

    REQUIRE_FALSE(half);
    CHECK(half.error().code() == ErrorCode::kUsageError);
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().code() == ErrorCode::kDeviceError);
    REQUIRE_FALSE(late);
    CHECK(late.error().code() == ErrorCode::kUsageError);
    CHECK(late.error().hint().find("before the first") != std::string::npos);
    CHECK(pool.given == 0);
  }

  TEST_CASE("what a capture writes to is kept by its scope, and given to nobody else") {
    World w;
    FakeRow& row = w.row("fast");
    row.workspace_bytes = 1000;
    Seen seen;
    seen.watch(row);
    Op op = w.make();
    const Tensor x = w.tensor({3});
    REQUIRE(op.call({{"x", x}}));
    void* const eager_workspace = seen.workspace;
    const auto before = w.kind.live_bytes.load();
    char stream = 0;
    void* captured_out = nullptr;
    void* captured_workspace = nullptr;
    {
      auto scope = CaptureScope::open(*w.engine, w.fake);
      REQUIRE(scope);
      CHECK(w.kind.streams == 1);  // allocations must not go to the capturing stream
      w.kind.capturing_stream = &stream;
      w.kind.capturing = true;
      {
        const auto made = on_stream(w.fake, &stream, [&] { return op.call({{"x", x}}); });
        REQUIRE(made);
        captured_out = seen.out;
        captured_workspace = seen.workspace;
        CHECK((*made)[0].data<float>() == captured_out);
      }  // the output's tensor is gone, its memory is not
      const auto again = on_stream(w.fake, &stream, [&] { return op.call({{"x", x}}); });
      w.kind.capturing = false;
      REQUIRE(again);
      CHECK(seen.out != captured_out);
      CHECK(seen.workspace == captured_workspace);  // one stream: one after the other
      CHECK(captured_workspace != eager_workspace);
      REQUIRE(scope->close());
      CHECK(scope->size_bytes() >= 2 * 12 + 1000);

      // As before: eager calls take nothing of the scope's.
      const auto eager = op.call({{"x", x}});
      REQUIRE(eager);
      CHECK(seen.out != captured_out);
      CHECK(seen.workspace == eager_workspace);
      CHECK(w.kind.live_bytes > before);
      REQUIRE(scope->close());  // a second time does nothing
    }
    CHECK(w.kind.live_bytes == before);
    CHECK(w.kind.streams == 0);
  }

  TEST_CASE("an output that outlives its scope keeps the scope's memory") {
    World w;
    w.row("fast");
    Op op = w.make();
    const Tensor x = w.tensor({3});
    const auto before = w.kind.live_bytes.load();
    std::optional<Tensor> kept;
    {
      auto scope = CaptureScope::open(*w.engine, w.fake);
      REQUIRE(scope);
      auto made = op.call({{"x", x}});
      REQUIRE(made);
      kept = (*made)[0];
    }
    CHECK(w.kind.live_bytes > before);
    CHECK(kept->data<float>()[2] == 6.0f);
    // The scope is closed although nobody closed it: the next output is an ordinary one.
    const auto ordinary = op.call({{"x", x}});
    REQUIRE(ordinary);
    kept.reset();
    CHECK(w.kind.live_bytes == before + 12);
    CHECK(w.kind.streams == 0);
  }

  TEST_CASE("without a scope a call that makes its output while the stream captures says why not") {
    World w;
    w.row("fast");
    Op op = w.make();
    const Tensor x = w.tensor({3});
    char stream = 0;
    REQUIRE(on_stream(w.fake, &stream, [&] { return op.call({{"x", x}}); }));
    w.kind.capturing_stream = &stream;
    w.kind.capturing = true;

    const auto refused = on_stream(w.fake, &stream, [&] { return op.call({{"x", x}}); });

    w.kind.capturing = false;
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kDeviceError);
    CHECK(refused.error().message().find("captures") != std::string::npos);
    CHECK(on_stream(w.fake, &stream, [&] { return op.call({{"x", x}}); }));
  }

#if !defined(__SANITIZE_THREAD__)
  TEST_CASE("in a forked child every kind but cpu is lost, with that reason") {
    World w;
    FakeRow& row = w.row("fast");
    Op op = w.make();
    const Tensor x = w.tensor({3});
    for (int call = 0; call < 3; ++call) REQUIRE(op.call({{"x", x}}));  // kept, and launched again
    const int launches = row.launches;
    const int frees = static_cast<int>(w.kind.live_bytes);

    const pid_t child = fork();
    if (child == 0) {
      int wrong = 0;
      for (int call = 0; call < 2; ++call) {
        const auto lost = op.call({{"x", x}});
        wrong |= lost ? 1 : 0;
        if (!lost && (lost.error().code() != ErrorCode::kDeviceError ||
                      lost.error().message().find("forked") == std::string::npos))
          wrong |= 2;
      }
      if (row.launches != launches) wrong |= 4;
      {
        const Tensor host = w.engine->devices().make_tensor(DType::kFloat32, {3}, Device{}).value();
        if (host.data<float>() == nullptr) wrong |= 8;
      }
      DeviceEntry mine;
      mine.device = w.fake;
      if (w.engine->devices().synchronize(mine)) wrong |= 16;
      _exit(wrong);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(static_cast<int>(w.kind.live_bytes) == frees);
    CHECK(op.call({{"x", x}}));  // the parent goes on
  }
#endif
}
