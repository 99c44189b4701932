// ATen's side of the dispatch benchmark; compiled only where libtorch is installed.
#include "aten_rows.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/version.h>

namespace tenon::bench {
namespace {

struct Operands {
  c10::InferenceMode guard;
  at::Tensor a = at::full({1}, 1.5);
  at::Tensor b = at::full({1}, 2.5);
  at::Tensor out = at::empty({1});
  Operands() { at::set_num_threads(1); }
};

}  // namespace

bool has_aten() { return true; }
const char* aten_version() { return TORCH_VERSION; }

void aten_add_out(std::int64_t count) {
  Operands o;
  for (std::int64_t i = 0; i < count; ++i) at::add_out(o.out, o.a, o.b);
}

void aten_add(std::int64_t count) {
  Operands o;
  for (std::int64_t i = 0; i < count; ++i) o.out = at::add(o.a, o.b);
}

void aten_empty(std::int64_t count) {
  Operands o;
  for (std::int64_t i = 0; i < count; ++i) o.out = at::empty({1});
}

}  // namespace tenon::bench
