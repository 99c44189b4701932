// An application: normalises hidden states, and says which kernel did it and why.
#include <cstdlib>
#include <iostream>
#include <vector>

#include <tenon/tenon.hpp>

namespace {

// docs:begin app
tenon::Result<void> run(const char* hidden, const char* weight) {
  // Reads tenon.yaml and the environment, finds and loads plugins.
  tenon::Result<tenon::Runtime> runtime = tenon::Runtime::from_environment();
  if (!runtime) return tenon::fail(runtime.error());

  tenon::Result<tenon::Tensor> x = tenon::load_npy(hidden, runtime->default_device());
  if (!x) return tenon::fail(x.error());
  tenon::Result<tenon::Tensor> w = tenon::load_npy(weight, runtime->default_device());
  if (!w) return tenon::fail(w.error());

  // Construction parameters belong to the instance, tensors to the call.
  tenon::Result<tenon::Op> op = runtime->make("RMSNormFwdOp", {{"normalized_shape", {512}}});
  if (!op) return tenon::fail(op.error());
  auto outputs = op->call({{"x", *x}, {"weight", *w}});
  if (!outputs) return tenon::fail(outputs.error());

  const tenon::Tensor& y = outputs->front();
  std::cout << "RMSNorm of " << y.shape()[0] << " x " << y.shape()[1] << " by "
            << op->last_call()->kernel() << " on " << op->serving_target() << '\n';

  // Why this kernel, and why none of the others.
  const std::vector<tenon::NamedSpec> call{{"x", x->spec()}, {"weight", w->spec()}};
  std::cout << op->explain(call).table();
  return {};
}
// docs:end app

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: hello_app HIDDEN.npy WEIGHT.npy\n";
    return 2;
  }
  if (auto done = run(argv[1], argv[2]); !done) {
    std::cerr << done.error().to_string() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
