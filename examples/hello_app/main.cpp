// An application: normalises hidden states, and says which kernel did it and why.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <vector>

#include <tenon/ops.hpp>
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
  tenon::ops::RMSNormFwd rms_norm{*runtime, {.normalized_shape = {512}}};
  tenon::Result<tenon::Tensor> y = rms_norm(*x, *w);
  if (!y) return tenon::fail(y.error());
  std::cout << "RMSNorm of " << y->shape()[0] << " x " << y->shape()[1] << " by "
            << rms_norm.last_call()->kernel() << " on " << rms_norm.serving_target() << '\n';

  // Into memory that is there already: on a repeated call nothing is allocated.
  if (auto done = rms_norm.out(*x, *w, *y); !done) return tenon::fail(done.error());

  // Why this kernel, and why none of the others.
  const std::vector<tenon::NamedSpec> call{{"x", x->spec()}, {"weight", w->spec()}};
  std::cout << rms_norm.op()->explain(call).table();
  return {};
}
// docs:end app

// docs:begin names
// The same without a header for each op: what a script or a framework does.
tenon::Result<tenon::Tensor> by_name(const tenon::Runtime& runtime,
                                     const tenon::Tensor& x,
                                     const tenon::Tensor& w) {
  auto op = runtime.make("RMSNormFwdOp", {{"normalized_shape", {512}}});
  if (!op) return tenon::fail(op.error());
  auto outputs = op->call({{"x", x}, {"weight", w}});
  if (!outputs) return tenon::fail(outputs.error());
  return outputs->front();
}

// And in one line: the Runtime keeps the instance and finds it again.
tenon::Result<tenon::Tensor> in_one_line(const tenon::Runtime& runtime,
                                         const tenon::Tensor& x,
                                         const tenon::Tensor& w) {
  return tenon::ops::rms_norm_fwd(runtime, x, w, {.normalized_shape = {512}});
}
// docs:end names

tenon::Result<void> compare(const char* hidden, const char* weight) {
  const tenon::Runtime runtime = tenon::Runtime::from_environment().value();
  const tenon::Tensor x = tenon::load_npy(hidden, runtime.default_device()).value();
  const tenon::Tensor w = tenon::load_npy(weight, runtime.default_device()).value();
  const tenon::Tensor a = by_name(runtime, x, w).value();
  const tenon::Tensor b = in_one_line(runtime, x, w).value();
  const auto count = static_cast<std::size_t>(a.view().count()) * tenon::size_bytes_of(a.dtype());
  std::cout << (std::memcmp(a.data<char>(), b.data<char>(), count) == 0 ? "equal" : "different")
            << " by name and in one line\n";
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: hello_app HIDDEN.npy WEIGHT.npy\n";
    return 2;
  }
  for (const auto step : {run, compare}) {
    if (auto done = step(argv[1], argv[2]); !done) {
      std::cerr << done.error().to_string() << '\n';
      return EXIT_FAILURE;
    }
  }
  return EXIT_SUCCESS;
}
