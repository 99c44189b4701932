// One program, whose configuration file alone decides which kernel runs.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <tenon/tenon.hpp>

namespace {

// docs:begin select
tenon::Result<void> run(const std::string& config_file) {
  tenon::RuntimeOptions options;
  options.config_file = config_file;
  tenon::Result<tenon::Runtime> runtime = tenon::Runtime::create(options);
  if (!runtime) return tenon::fail(runtime.error());

  std::array<tenon::Tensor, 2> operands;
  for (int i = 0; i < 2; ++i) {
    tenon::Result<tenon::Tensor> made = tenon::Tensor::host(tenon::DType::kFloat32, {4});
    if (!made) return tenon::fail(made.error());
    operands[i] = *made;
    std::fill_n(operands[i].data<float>(), 4, 3.0f + static_cast<float>(i));
  }

  // Nothing here names a vendor, a device or a kernel.
  tenon::Result<tenon::Op> add = runtime->make("AddFwdOp");
  if (!add) return tenon::fail(add.error());
  const auto sum = add->call({{"self", operands[0]}, {"other", operands[1]}});
  if (!sum) return tenon::fail(sum.error());

  std::cout << add->last_call()->kernel() << " on target " << add->serving_target() << ", 3 + 4 is "
            << sum->front().data<float>()[0] << '\n';
  const std::vector<tenon::NamedSpec> call{{"self", operands[0].spec()},
                                           {"other", operands[1].spec()}};
  std::cout << add->explain(call).table();
  return {};
}
// docs:end select

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: select_target CONFIG.yaml\n";
    return 2;
  }
  if (auto done = run(argv[1]); !done) {
    std::cerr << done.error().to_string() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
