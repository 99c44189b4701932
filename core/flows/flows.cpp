// The flows of one step: direct, elementwise, row_norm, reduce, matmul. And the list of all flows.
#include <array>
#include <limits>

#include "flows/composed_flows.hpp"

namespace tenon {

bool AsDeclaredFlow::view_as(const FlowContext& /*context*/,
                             std::uint32_t /*arg*/,
                             const TensorView& tensor,
                             const Dims& shape,
                             TensorView& view) const {
  if (!(tensor.shape == shape)) return false;
  view = tensor;
  return true;
}

bool FoldedFlow::view_as(const FlowContext& /*context*/,
                         std::uint32_t /*arg*/,
                         const TensorView& tensor,
                         const Dims& shape,
                         TensorView& view) const {
  return reshape_view(tensor, shape, view);
}

namespace {

// Passes tensors as they are declared.
class DirectFlow final : public AsDeclaredFlow {
 public:
  [[nodiscard]] std::string_view name() const override { return "direct"; }
};

// Every operand in the shape of the result; broadcast axes have stride 0.
class ElementwiseFlow final : public Flow {
 public:
  [[nodiscard]] std::string_view name() const override { return "elementwise"; }
  [[nodiscard]] bool view_as(const FlowContext& /*context*/,
                             std::uint32_t /*arg*/,
                             const TensorView& tensor,
                             const Dims& shape,
                             TensorView& view) const override {
    return expand_view(tensor, shape, view);
  }
};

// Folds axes: [*B, *rows] as [m, n], [*S] as [outer, n, inner].
class RowNormFlow final : public FoldedFlow {
 public:
  [[nodiscard]] std::string_view name() const override { return "row_norm"; }
};

// Matrices with batch axes: the last two as they are, those before broadcast.
class MatMulFlow final : public Flow {
 public:
  [[nodiscard]] std::string_view name() const override { return "matmul"; }
  [[nodiscard]] bool contracts() const override { return true; }
  [[nodiscard]] bool view_as(const FlowContext& /*context*/,
                             std::uint32_t /*arg*/,
                             const TensorView& tensor,
                             const Dims& shape,
                             TensorView& view) const override {
    const std::size_t rank = tensor.shape.size();
    if (rank < 2 || shape.size() < 2) return false;
    for (std::size_t back = 1; back <= 2; ++back) {
      if (tensor.shape[rank - back] != shape[shape.size() - back]) return false;
    }
    return expand_view(tensor, shape, view);
  }
};

// Reductions over the axes that the parameter `dim` names: an int, a list, or None and the empty
// list for all. An input has its kept axes first, in order, then its reduced ones; a result has the
// kept ones only. What is neutral along a reduced axis differs: a sum's 0, a maximum's -inf, ...
class ReduceFlow final : public Flow {
 public:
  ReduceFlow(std::string_view name, double pad_value) : name_(name), pad_value_(pad_value) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] double pad_value() const override { return pad_value_; }

  [[nodiscard]] bool flow_values(const FlowContext& context,
                                 std::span<tenon_value> values) const override {
    const TensorView* tensor = reduced_input(context);
    if (tensor == nullptr || values.size() > 1) return false;
    if (values.empty()) return true;
    const std::uint32_t mask = reduced_axes(context, tensor->shape.size());
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < tensor->shape.size(); ++i) {
      if (((mask >> i) & 1u) != 0) context.scratch[n++] = tensor->shape[i];
    }
    values[0] = tenon_value{TENON_VALUE_INTS, 0, n, 0, 0.0, context.scratch.data()};
    return true;
  }

  [[nodiscard]] bool view_as(const FlowContext& context,
                             std::uint32_t arg,
                             const TensorView& tensor,
                             const Dims& shape,
                             TensorView& view) const override {
    const TensorView* whole = reduced_input(context);
    if (whole == nullptr) return false;
    const std::size_t rank = whole->shape.size();
    const std::uint32_t mask = reduced_axes(context, rank);
    view.data = tensor.data;
    view.dtype = tensor.dtype;
    view.device = tensor.device;
    view.byte_offset = tensor.byte_offset;
    view.shape.resize(0);
    view.strides.resize(0);
    const bool is_result = context.interface.args[arg].role != TENON_ROLE_IN;
    if (is_result && tensor.shape.size() != rank) {
      view.shape = tensor.shape;  // without keepdim: the kept axes already
      view.strides = tensor.strides;
      return tensor.shape == shape;
    }
    const auto take = [&](bool reduced) {
      for (std::size_t i = 0; i < rank; ++i) {
        if ((((mask >> i) & 1u) != 0) != reduced) continue;
        view.shape.push_back(tensor.shape[i]);
        view.strides.push_back(tensor.strides[i]);
      }
    };
    take(false);
    if (!is_result) take(true);
    return view.shape == shape;
  }

 private:
  static const TensorView* reduced_input(const FlowContext& context) {
    for (const auto& arg : context.interface.args) {
      if (arg.source == ArgSource::kInput && arg.role == TENON_ROLE_IN)
        return context.args.inputs[arg.index].single();
    }
    return nullptr;
  }

  // Bit i: axis i is reduced. The signature has checked that every axis lies in the tensor.
  static std::uint32_t reduced_axes(const FlowContext& context, std::size_t rank) {
    const std::uint32_t all = rank == 0 ? 0u : (1u << rank) - 1u;
    const auto& params = context.plan.decl().params;
    const Value* dim = nullptr;
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (params[i].name == "dim") dim = &context.construction.params()[i];
    }
    if (dim == nullptr || dim->is_none()) return all;
    const auto bit = [&](std::int64_t axis) {
      const auto wrapped = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
      return rank == 0 ? 0u : 1u << static_cast<unsigned>(wrapped);
    };
    if (const auto* one = dim->get_if<std::int64_t>()) return bit(*one);
    const auto* list = dim->get_if<ValueList>();
    if (list == nullptr || list->items.empty()) return all;
    std::uint32_t mask = 0;
    for (const Value& item : list->items) {
      if (const auto* axis = item.get_if<std::int64_t>()) mask |= bit(*axis);
    }
    return mask;
  }

  std::string_view name_;
  double pad_value_;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const DirectFlow kDirect;
const ElementwiseFlow kElementwise;
const MatMulFlow kMatMul;
const ReduceFlow kReduce("reduce", 0);
const ReduceFlow kReduceMax("reduce_max", -kInfinity);
const ReduceFlow kReduceMin("reduce_min", kInfinity);
const ReduceFlow kReduceProd("reduce_prod", 1);
const RowNormFlow kRowNorm;

std::array<const Flow*, 10> all_flows() {
  return {&add_row_norm_flow(),
          &attention_flow(),
          &kDirect,
          &kElementwise,
          &kMatMul,
          &kReduce,
          &kReduceMax,
          &kReduceMin,
          &kReduceProd,
          &kRowNorm};
}

}  // namespace

const Flow* find_flow(std::string_view name) {
  for (const Flow* flow : all_flows()) {
    if (flow->name() == name) return flow;
  }
  return nullptr;
}

std::vector<std::string_view> flow_names() {
  std::vector<std::string_view> names;
  for (const Flow* flow : all_flows()) names.push_back(flow->name());
  return names;
}

}  // namespace tenon
