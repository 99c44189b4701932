// Composition: what a flow works with while it runs an op as its declared stages.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/core/op.hpp"

namespace tenon {

/// One call of a composite op, or the explanation of one. Made by the runtime, on the stack.
class Composition {
 public:
  Composition(const Composition&) = delete;
  Composition& operator=(const Composition&) = delete;

  [[nodiscard]] virtual const OpDecl& decl() const = 0;
  /// An input of the call; null where it is absent, or where there is none of that name.
  [[nodiscard]] virtual const TensorView* input(std::string_view name) const = 0;
  /// An output, made or given; null where it is not returned.
  [[nodiscard]] virtual const TensorView* output(std::string_view name) const = 0;
  /// A parameter of the instance; none where there is none of that name.
  [[nodiscard]] virtual Value param(std::string_view name) const = 0;

  /// A sub-op and the stage that its calls are filed under.
  struct Delegate {
    Op* op = nullptr;
    std::uint32_t stage = 0;
  };
  using Params = std::function<std::vector<NamedValue>()>;
  /// The sub-op of a stage: made once per identity, or the one that was given for the stage at
  /// construction. Valid until the composition ends; an instance holds as many as it may hold call
  /// keys, and lets go of those that were not used for longest. It takes the outermost instance's
  /// snapshot, target request, selection options and tuned mode. `identity` is what `params`
  /// depends on beside the instance's own parameters; `params` is asked only when the sub-op is
  /// made.
  /// @errors Internal for a stage that is not declared or calls no op; what Engine::make says.
  virtual Result<Delegate> delegate_for(std::string_view stage,
                                        std::span<const std::int64_t> identity,
                                        const Params& params) = 0;
  /// Calls a sub-op whose one output is buffered, on this thread, and files the call.
  virtual Result<void> run(const Delegate& delegate,
                           std::span<const TensorArg> inputs,
                           const TensorView& out) = 0;
  /// The same, with outputs that the sub-op makes: one per output that is no list.
  virtual Result<void> run(const Delegate& delegate,
                           std::span<const TensorArg> inputs,
                           std::span<Tensor> outputs) = 0;
  /// A dense tensor that lives until the composition ends. Its contents are undefined.
  virtual Result<TensorView> temporary(DType dtype, const Dims& shape) = 0;

 protected:
  Composition() = default;
  ~Composition() = default;
};

}  // namespace tenon
