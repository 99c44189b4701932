// What the classes and functions of the generated headers stand on: arguments, instances, calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/op.hpp"
#include "tenon/loader/op_table.hpp"
#include "tenon/loader/typed_params.hpp"
#include "tenon/tenon.hpp"

namespace tenon {

/// A tensor passed to a typed call. Borrowed: it refers to the caller's Tensor or TensorView.
class TensorIn {
 public:
  TensorIn(const Tensor& t)
      : view_(&t.view()), owner_(&t) {}         // NOLINT(google-explicit-constructor)
  TensorIn(const TensorView& v) : view_(&v) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] const TensorView* view() const { return view_; }
  [[nodiscard]] const Tensor* owner() const { return owner_; }

 protected:
  TensorIn() = default;
  /// Absent where there is nothing to refer to.
  TensorIn(const Tensor* t, bool present)
      : view_(present ? &t->view() : nullptr), owner_(present ? t : nullptr) {}

 private:
  const TensorView* view_ = nullptr;
  const Tensor* owner_ = nullptr;
};

/// A tensor that may be absent: std::nullopt, or a Tensor that is not defined.
class OptionalTensorIn : public TensorIn {
 public:
  OptionalTensorIn() = default;
  // NOLINTBEGIN(google-explicit-constructor)
  OptionalTensorIn(std::nullopt_t) {}
  OptionalTensorIn(const TensorIn& t) : TensorIn(t) {}
  OptionalTensorIn(const TensorView& v) : TensorIn(v) {}
  OptionalTensorIn(const Tensor& t) : TensorIn(&t, t.defined() || t.view().data != nullptr) {}
  OptionalTensorIn(const std::optional<Tensor>& t) : TensorIn(t ? &*t : nullptr, t.has_value()) {}
  // NOLINTEND(google-explicit-constructor)
};

/// A list of tensors passed to a typed call. Borrowed.
using TensorListIn = std::span<const Tensor>;

/// One argument of a typed call, with the manifest's name.
struct TypedArg {
  TypedArg(std::string_view n, const TensorIn& t) : name(n), tensor(t) {}
  TypedArg(std::string_view n, TensorListIn l) : name(n), list(l) {}
  std::string_view name;
  OptionalTensorIn tensor;
  TensorListIn list;
};

/// An output that may be absent.
[[nodiscard]] inline std::optional<Tensor> if_present(Tensor tensor) {
  if (!tensor.defined() && tensor.view().data == nullptr) return std::nullopt;
  return tensor;
}
/// Results as a call gave them, elements of lists one by one, taken apart in manifest order.
class OutputReader {
 public:
  OutputReader() = default;
  OutputReader(std::vector<Tensor> outputs, std::vector<std::size_t> counts)
      : outputs_(std::move(outputs)), counts_(std::move(counts)) {}
  /// The next output, which is no list.
  [[nodiscard]] Tensor one();
  /// The next output, a list.
  [[nodiscard]] std::vector<Tensor> list();

 private:
  std::vector<Tensor> outputs_;
  std::vector<std::size_t> counts_;  ///< by output
  std::size_t next_output_ = 0;
  std::size_t next_tensor_ = 0;
};

/// Construction-time tensors with their names.
using TensorParams = std::vector<std::pair<std::string, Tensor>>;
/// The same tensor, keeping no memory.
[[nodiscard]] inline Tensor borrowed(const Tensor& tensor) { return {nullptr, tensor.view()}; }
/// Adds to `values` which tensors these are: their memory and how it is seen. False where one
/// belongs to nobody: its memory may be another's tomorrow.
[[nodiscard]] bool add_identities(const TensorParams& tensors, std::vector<NamedValue>& values);

/// What every class of the generated headers has. Movable, not copyable. [any-thread] calls on one
/// instance are safe.
class TypedOp {
 public:
  TypedOp(TypedOp&&) noexcept = default;
  TypedOp& operator=(TypedOp&&) noexcept = default;
  virtual ~TypedOp() = default;

  /// Whether the instance could be made; if not, every call returns this error.
  /// @errors SignatureMismatch for parameters, OpNotFound, UnknownTarget, ShutDown.
  [[nodiscard]] Result<void> made() const;
  /// The instance itself, for explain(), infer() and calls by name; null where it could not be
  /// made. Borrowed.
  [[nodiscard]] Op* op() { return op_ ? &*op_ : nullptr; }
  /// This thread's last successful call; nothing before the first.
  [[nodiscard]] std::optional<SignatureCall> last_call() const;
  /// The target that serves this instance; empty before the first call.
  [[nodiscard]] std::string serving_target() const;

 protected:
  TypedOp(const Runtime& runtime,
          std::string_view op,
          std::span<const NamedValue> params,
          InstanceOptions options,
          const TensorParams& tensors = {});

  /// Calls by name: where lists go in or come out, where no tensor says on which device the call
  /// is, and where `out` is given beside other outputs. The results in manifest order.
  Result<OutputReader> call(std::initializer_list<TypedArg> args, const CallOptions& options = {});

  /// Calls an op without lists. Every input and output in manifest order; on a hit nothing is
  /// allocated but what is returned, and no lock is taken.
  template <std::size_t kInputs, std::size_t kOutputs>
  Result<void> call_into(const std::array<TensorIn, kInputs>& inputs,
                         std::array<Tensor, kOutputs>& outputs) {
    const Positional<kInputs> positional(inputs);
    return call_views(inputs, positional.args, outputs);
  }
  /// Calls an op that returns one tensor.
  template <std::size_t kInputs>
  Result<Tensor> call_one(const std::array<TensorIn, kInputs>& inputs) {
    std::array<Tensor, 1> output;
    TENON_TRY(call_into(inputs, output));
    return std::move(output.front());
  }
  /// Calls an op that returns nothing.
  template <std::size_t kInputs>
  Result<void> call_none(const std::array<TensorIn, kInputs>& inputs) {
    std::array<Tensor, 0> none;
    return call_into(inputs, none);
  }
  /// Calls an op whose only output is buffered. On a hit: no allocation, no lock.
  template <std::size_t kInputs>
  Result<TensorView> call_out(const std::array<TensorIn, kInputs>& inputs, const TensorView& out) {
    const Positional<kInputs> positional(inputs);
    return call_views(positional.args, out);
  }

 private:
  /// Arguments as the core takes them.
  template <std::size_t kCount>
  struct Positional {
    explicit Positional(const std::array<TensorIn, kCount>& inputs) {
      for (std::size_t i = 0; i < kCount; ++i) {
        views[i] = inputs[i].view();
        if (views[i] != nullptr) args[i] = {&views[i], 1};
      }
    }
    Positional(const Positional&) = delete;
    Positional& operator=(const Positional&) = delete;
    std::array<const TensorView*, kCount> views{};
    std::array<TensorArg, kCount> args{};
  };

  Result<void> call_views(std::span<const TensorIn> inputs,
                          std::span<const TensorArg> args,
                          std::span<Tensor> outputs);
  [[nodiscard]] Result<std::vector<std::size_t>> output_counts(std::initializer_list<TypedArg> args,
                                                               std::size_t total);
  Result<TensorView> call_views(std::span<const TensorArg> args, const TensorView& out);
  Result<Op> op_;
};

namespace detail {

/// The instance for these parameters: of the Runtime's table, or for this call alone where nobody
/// could tell it again. `memo`: whether the same parameters will mean the same instance.
template <class Class>
Result<std::shared_ptr<OpTable::Slot>> search_typed(const Runtime& runtime,
                                                    const typename Class::Params& params,
                                                    bool& memo) {
  OpTable& table = runtime.op_table();
  const auto make = [&] { return std::make_unique<Class>(runtime, params); };
  std::vector<NamedValue> values = to_values(params);
  memo = true;
  if constexpr (requires { Class::tensors_of(params); })
    memo = add_identities(Class::tensors_of(params), values);
  return memo ? table.find(Class::kOp, values, make) : table.once(make);
}

/// Parameters to be remembered: they keep no tensor's memory, which the instance does.
template <class Class>
typename Class::Params remembered(const typename Class::Params& params) {
  if constexpr (requires { Class::borrowing(params); }) {
    return Class::borrowing(params);
  } else {
    return params;
  }
}

}  // namespace detail

/// The instance of the Runtime's table for these parameters; the free functions call it. Borrowed:
/// it stays at least until this thread's next search for an op of this class. No lock on a hit.
/// @errors what TypedOp::made() says.
template <class Class>
Result<Class*> find_typed(const Runtime& runtime, const typename Class::Params& params) {
  struct Memo {
    std::uint64_t generation;
    typename Class::Params params;
    std::shared_ptr<OpTable::Slot> slot;
  };
  constexpr std::size_t kMemos = 8;
  thread_local std::array<std::optional<Memo>, kMemos> memos;
  thread_local std::size_t next = 0;
  thread_local std::shared_ptr<OpTable::Slot> last;
  OpTable& table = runtime.op_table();
  const std::uint64_t generation = table.generation();
  for (const std::optional<Memo>& memo : memos) {
    if (memo && memo->generation == generation && same_params(memo->params, params)) {
      memo->slot->mark();
      return static_cast<Class*>(memo->slot->op.get());
    }
  }
  bool is_kept = true;
  TENON_TRY_ASSIGN(last, detail::search_typed<Class>(runtime, params, is_kept));
  auto* found = static_cast<Class*>(last->op.get());
  if (is_kept)
    memos[next++ % kMemos].emplace(
        Memo{generation, detail::remembered<Class>(params), std::move(last)});
  return found;
}

}  // namespace tenon
