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
/// The elements of a list output: all but the outputs before and after it.
[[nodiscard]] std::vector<Tensor> list_output(std::vector<Tensor>& outputs,
                                              std::size_t before,
                                              std::size_t after);

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
          const std::vector<std::pair<std::string, Tensor>>& tensors = {});

  /// Calls; the results in manifest order, elements of lists one by one.
  Result<std::vector<Tensor>> call(std::initializer_list<TypedArg> args,
                                   const TensorView* out = nullptr,
                                   std::optional<Device> device = std::nullopt);
  /// Calls an op that returns one tensor.
  Result<Tensor> call_one(std::initializer_list<TypedArg> args,
                          std::optional<Device> device = std::nullopt);
  /// Calls an op that returns nothing.
  Result<void> call_none(std::initializer_list<TypedArg> args,
                         std::optional<Device> device = std::nullopt);
  /// Calls an op without lists whose only output is buffered. Every input in manifest order. On a
  /// hit: no allocation, no lock.
  template <std::size_t kCount>
  Result<TensorView> call_out(const std::array<TensorIn, kCount>& inputs, const TensorView& out) {
    std::array<const TensorView*, kCount + 1> views{};
    std::array<TensorArg, kCount> args{};
    for (std::size_t i = 0; i < kCount; ++i) {
      views[i] = inputs[i].view();
      if (views[i] != nullptr) args[i] = {&views[i], 1};
    }
    return call_views(args, out);
  }

 private:
  Result<TensorView> call_views(std::span<const TensorArg> args, const TensorView& out);
  Result<Op> op_;
};

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
  OpTable& table = runtime.op_table();
  const std::uint64_t generation = table.generation();
  for (const std::optional<Memo>& memo : memos) {
    if (memo && memo->generation == generation && same_params(memo->params, params)) {
      memo->slot->mark();
      return static_cast<Class*>(memo->slot->op.get());
    }
  }
  std::shared_ptr<OpTable::Slot> slot;
  TENON_TRY_ASSIGN(slot, table.find(Class::kOp, to_values(params), [&] {
    return std::make_unique<Class>(runtime, params);
  }));
  Memo& memo = memos[next++ % kMemos].emplace(Memo{generation, params, std::move(slot)});
  return static_cast<Class*>(memo.slot->op.get());
}

}  // namespace tenon
