// The samples, on the device.
#include "samples.hpp"

namespace tenon::gpu_check {

tenon_reason empty_reason() {
  tenon_reason reason{};
  reason.struct_size = sizeof(reason);
  reason.arg_index = -1;
  return reason;
}

std::unique_ptr<Ready> make_ready(Bench& bench, const Call& call, const std::string& key) {
  std::vector<Tensor> inputs;
  for (const auto& [name, tensor] : call.inputs) inputs.push_back(to_device(bench, tensor));
  auto ready = std::make_unique<Ready>(
      Ready{must(bench.make(call, key)),
            std::move(inputs),
            to_device(bench, make_host(call.dtype, call.out_shape, call.out_layout)),
            {},
            {}});
  // Absent optional inputs stay null.
  const OpDecl& decl = ready->op.decl();
  ready->views.assign(decl.inputs.size(), nullptr);
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    ready->views[*decl.input_index(call.inputs[i].first)] = &ready->inputs[i].view();
  for (const TensorView* const& view : ready->views)
    ready->arguments.push_back(view == nullptr ? TensorArg{} : TensorArg{&view, 1});
  return ready;
}

/// One call of each op that reaches each kernel type.
std::vector<Call> sample_calls() {
  std::mt19937_64 random(21);
  const DType dtype = DType::kBFloat16;
  const auto tensor = [&](const Dims& shape, DType of = DType::kBFloat16) {
    Tensor made = make_host(of, shape, Layout::kDense);
    fill(made, Values::kNormal, random);
    return made;
  };
  const Dims rows{64, 1024};
  std::vector<Call> calls;
  const auto add = [&](const char* op,
                       const char* interface,
                       std::vector<NamedValue> params,
                       std::vector<std::pair<std::string, Tensor>> inputs,
                       const Dims& out) {
    calls.push_back({op,
                     interface,
                     std::move(params),
                     std::move(inputs),
                     dtype,
                     out,
                     Layout::kDense,
                     1,
                     false,
                     std::nullopt});
  };
  add("AddFwdOp", "add_fwd", {}, {{"self", tensor(rows)}, {"other", tensor(rows)}}, rows);
  add("MulFwdOp", "mul_fwd", {}, {{"self", tensor(rows)}, {"other", tensor(rows)}}, rows);
  add("GeluFwdOp", "gelu_fwd", {}, {{"x", tensor(rows)}}, rows);
  add("CopyFwdOp", "copy_fwd", {}, {{"x", tensor(rows)}}, rows);
  add("CastFwdOp",
      "cast_fwd",
      {{"to", Value(dtype)}},
      {{"x", tensor(rows, DType::kFloat32)}},
      rows);
  add("RMSNormFwdOp",
      "rms_norm_fwd",
      {{"normalized_shape", Value({1024})}},
      {{"x", tensor(rows)}, {"weight", tensor(Dims{1024})}},
      rows);
  add("LayerNormFwdOp",
      "layer_norm_fwd",
      {{"normalized_shape", Value({1024})}},
      {{"x", tensor(rows)}, {"weight", tensor(Dims{1024})}, {"bias", tensor(Dims{1024})}},
      rows);
  add("SoftmaxFwdOp", "softmax_fwd", {}, {{"x", tensor(rows)}}, rows);
  add("SumFwdOp", "sum_fwd", {{"dim", Value({-1})}}, {{"x", tensor(Dims{2, 262144})}}, Dims{2});
  add("MatMulFwdOp",
      "matmul_fwd",
      {},
      {{"a", tensor(Dims{128, 256})}, {"b", tensor(Dims{256, 64})}},
      Dims{128, 64});
  return calls;
}

std::vector<std::byte> bytes_of(Bench& bench, const Tensor& tensor) {
  const Tensor host = to_host(bench, tensor);
  const auto* first = static_cast<const std::byte*>(host.storage()->memory());
  return {first, first + host.storage()->size_bytes()};
}

}  // namespace tenon::gpu_check
