// That a hit writes nothing shared: everything that an instance allocated is made read-only while
// two threads hit it. An executable of its own: it replaces operator new.
#include <atomic>
#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <thread>

#include <doctest/doctest.h>

#include "core/support/scale_world.hpp"

using namespace tenon;
using tenon::test::FakeRow;
using World = tenon::test::ScaleWorld;

namespace {

// Memory that can be made read-only as a whole. Never given back.
constexpr std::size_t kArenaBytes = std::size_t{8} << 20;
std::byte* arena = nullptr;
std::size_t arena_used = 0;
thread_local bool in_arena = false;

bool is_in_arena(const void* p) {
  const auto* at = static_cast<const std::byte*>(p);
  return arena != nullptr && at >= arena && at < arena + kArenaBytes;
}

void* take(std::size_t size, std::size_t align) {
  if (!in_arena) return std::aligned_alloc(align, (size + align - 1) / align * align);
  arena_used = (arena_used + align - 1) / align * align;
  void* taken = arena + arena_used;
  arena_used += size;
  return arena_used <= kArenaBytes ? taken : nullptr;
}

}  // namespace

void* operator new(std::size_t size) {
  if (void* taken = take(size, 16)) return taken;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t align) {
  if (void* taken = take(size, static_cast<std::size_t>(align))) return taken;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept {
  if (!is_in_arena(p)) std::free(p);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }
void operator delete(void* p, std::align_val_t) noexcept { operator delete(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { operator delete(p); }

TEST_CASE("two threads hit an instance 10,000 times while its memory is read-only") {
  arena = static_cast<std::byte*>(
      mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(arena != MAP_FAILED);
  World w;
  FakeRow& row = w.row("any");
  row.layouts = TENON_LAYOUTS_ALL;
  w.publish();
  const Tensor memory = w.tensor({64});
  const TensorView views[] = {
      TensorView(memory.data<float>(), DType::kFloat32, Dims{8}, w.fake),
      TensorView(memory.data<float>(), DType::kFloat32, Dims{8}, Dims{2}, w.fake),
      TensorView(memory.data<float>() + 1, DType::kFloat32, Dims{8}, w.fake)};
  const auto call_all = [&](Op& op, const TensorView& out) {
    bool good = true;
    for (const TensorView& x : views) {
      const TensorView* px = &x;
      const TensorArg args[] = {{&px, 1}, {}};
      good = op.call_out(args, out).has_value() && good;
    }
    return good;
  };
  const Tensor own = w.tensor({8});

  // The instance, its bindings and its kernels lie in the arena; threads' own states do not.
  in_arena = true;
  auto op = std::make_unique<Op>(w.make());
  const bool built = call_all(*op, own);
  in_arena = false;
  REQUIRE(built);
  REQUIRE(is_in_arena(&op->instance()));
  const int builds = row.builds;

  std::atomic<int> ready{0};
  std::atomic<bool> protect{false};
  std::atomic<int> failures{0};
  std::thread threads[2];
  Tensor outs[2] = {w.tensor({8}), w.tensor({8})};
  for (int t = 0; t < 2; ++t) {
    threads[t] = std::thread([&, t] {
      for (int i = 0; i < 4; ++i) failures += call_all(*op, outs[t]) ? 0 : 1;
      ++ready;
      while (!protect) std::this_thread::yield();
      for (int i = 0; i < 10000; ++i) failures += call_all(*op, outs[t]) ? 0 : 1;
    });
  }
  while (ready < 2) std::this_thread::yield();
  REQUIRE(mprotect(arena, kArenaBytes, PROT_READ) == 0);
  protect = true;
  for (auto& thread : threads) thread.join();
  REQUIRE(mprotect(arena, kArenaBytes, PROT_READ | PROT_WRITE) == 0);

  CHECK(failures == 0);
  CHECK(row.builds == builds);
  CHECK(outs[1].data<float>()[1] == 2 * memory.data<float>()[2]);
}
