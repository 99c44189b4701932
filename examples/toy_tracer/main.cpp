// Traces gelu(rms_norm(x) @ w) without running it, then replays the graph.
#include <cstdlib>
#include <iostream>
#include <vector>

#include "tracer.hpp"

namespace {

tenon::Result<void> run() {
  tenon::Result<tenon::Runtime> runtime = tenon::Runtime::from_environment();
  if (!runtime) return tenon::fail(runtime.error());
  // The framework keeps the instances for as long as its graphs may call them.
  auto norm = runtime->make("RMSNormFwdOp", {{"normalized_shape", {8}}, {"eps", 1e-6}});
  auto matmul = runtime->make("MatMulFwdOp");
  auto gelu = runtime->make("GeluFwdOp");
  for (const auto* op : {&norm, &matmul, &gelu}) {
    if (!*op) return tenon::fail(op->error());
  }

  std::vector<tenon::Tensor> inputs;
  for (const tenon::Dims& shape : {tenon::Dims{4, 8}, tenon::Dims{8, 2}}) {
    auto made = tenon::Tensor::host(tenon::DType::kFloat32, shape);
    if (!made) return tenon::fail(made.error());
    for (std::int64_t i = 0; i < made->view().count(); ++i)
      made->data<float>()[i] = static_cast<float>(i % 5) - 2.0f;
    inputs.push_back(*made);
  }

  toy::Graph graph(runtime->engine());
  const int x = graph.input(inputs[0].spec());
  const int w = graph.input(inputs[1].spec());
  auto rows = graph.record(*norm, {x, -1});
  if (!rows) return tenon::fail(rows.error());
  auto product = graph.record(*matmul, {rows->front(), w});
  if (!product) return tenon::fail(product.error());
  auto result = graph.record(*gelu, {product->front()});
  if (!result) return tenon::fail(result.error());
  std::cout << graph.text();

  const auto tensors = graph.replay(inputs);
  if (!tensors) return tenon::fail(tensors.error());
  const tenon::Tensor& y = (*tensors)[static_cast<std::size_t>(result->front())];
  std::cout << "replayed to " << y.shape().to_string() << ", the norm by "
            << norm->last_call()->kernel() << '\n';
  return {};
}

}  // namespace

int main() {
  if (auto done = run(); !done) {
    std::cerr << done.error().to_string() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
