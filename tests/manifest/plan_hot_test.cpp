// The hot path: no heap memory on a warm frame, one specialisation whatever the threads.
#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "plan_support.hpp"

namespace {
thread_local std::size_t allocation_count = 0;
}  // namespace

// Counts for this executable; every form of new ends here.
void* operator new(std::size_t size_bytes) {
  ++allocation_count;
  if (void* memory = std::malloc(size_bytes == 0 ? 1 : size_bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tenon::manifest::test {
namespace {

TEST_SUITE_BEGIN("manifest/plan_hot");

constexpr auto kF32 = DType::kFloat32;

/// Allocations of 100 checks after a first one, and of as many evaluations of the call spec.
std::size_t allocations(Call& call) {
  REQUIRE(call.check());
  const CallArgs args = call.arguments();
  const bool fields_too = !call.plan().decl().interfaces.empty();
  std::vector<tenon_value> fields(fields_too ? call.plan().decl().interfaces[0].fields.size() : 0);
  bool good = true;
  const std::size_t before = allocation_count;
  for (int i = 0; i < 100; ++i) {
    good = call.plan().check(call.construction(), args, call.frame()) && good;
    if (fields_too)
      good = call.plan().eval_call(0, call.construction(), args, call.frame(), {}, fields) && good;
  }
  const std::size_t after = allocation_count;
  CHECK(good);
  return after - before;
}

TEST_CASE("checks and call specs of the shipped ops take no heap memory on a warm frame") {
  Call norm(shipped("RMSNormFwdOp"), {{"normalized_shape", {8}}});
  norm.set("x", kF32, {2, 8}).set("weight", kF32, {8}).out(kF32, {2, 8});
  CHECK(allocations(norm) == 0);
  Call add(shipped("AddFwdOp"), {{"alpha", 2}});
  add.set("self", kF32, {4, 1}).set("other", kF32, {3}).out(kF32, {4, 3});
  CHECK(allocations(add) == 0);
  Call matmul(shipped("MatMulFwdOp"));
  matmul.set("a", kF32, {4, 1, 3, 5}).set("b", kF32, {2, 5, 7});
  CHECK(allocations(matmul) == 0);
  Call softmax(shipped("SoftmaxFwdOp"), {{"dim", -2}});
  softmax.set("x", kF32, {4, 3, 5});
  CHECK(allocations(softmax) == 0);
}

TEST_CASE("what has no instruction of its own takes no heap memory either") {
  const auto plan = plan_of(
      "    forall: {S: \"Seq[Shape]\", N: Dim, T: \"DType[float32]\"}\n    params: {sizes: {type: "
      "\"list[int]\"}}\n"
      "    inputs:\n      n: {dtype: int32, shape: \"[N]\", device: cpu}\n      xs: {dtype: T, "
      "list: {min: 1}, shape: \"[*S[i]]\"}\n"
      "    outputs: {parts: {dtype: T, list: \"len(sizes)\", shape: \"[sizes[i], N]\"}}\n"
      "    shape_rules: [\"all(len(s) > 0 for s in S)\", \"sum(k * N for k in sizes) > 0\"]\n");
  Call call(plan, {{"sizes", {1, 2}}});
  call.set("n", DType::kInt32, {4}).set_list("xs", kF32, {{2, 3}, {5}});
  CHECK(allocations(call) == 0);
}

TEST_CASE("threads that meet a branch first agree on it") {
  const auto plan = shipped("LayerNormFwdOp");
  const auto construction =
      plan->construct(std::vector<NamedValue>{{"normalized_shape", {8}}}, {}).value();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const auto frame = plan->make_frame();
      const TensorView x(nullptr, kF32, {2, 8});
      const TensorView w(nullptr, kF32, {8});
      const TensorView* px = &x;
      const TensorView* pw = &w;
      for (int i = 0; i < 64; ++i) {
        const TensorArg inputs[] = {{&px, 1},
                                    i % 2 != 0 ? TensorArg{&pw, 1} : TensorArg{},
                                    i % 4 > 1 ? TensorArg{&pw, 1} : TensorArg{}};
        CallArgs args;
        args.inputs = inputs;
        args.meta = true;
        if (!plan->check(*construction, args, *frame) || !(frame->outputs[0].shape == Dims{2, 8}))
          ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::manifest::test
