// Applies a function to every element of one or two operands. Each element is read before its
// result is written, so an output that is the very same view as an operand comes out right.
#pragma once

#include "kernels/view.hpp"

namespace tenon::cpu {

template <class T, class Function>
void map_elements(const View& x, const View& output, Function function) {
  for_each_index<2>(output.sizes(), {x.steps(), output.steps()}, [&](const auto& at) {
    output.store(at[1], static_cast<T>(function(x.load<T>(at[0]))));
  });
}

template <class T, class Function>
void map_elements(const View& a, const View& b, const View& output, Function function) {
  for_each_index<3>(output.sizes(), {a.steps(), b.steps(), output.steps()}, [&](const auto& at) {
    output.store(at[2], static_cast<T>(function(a.load<T>(at[0]), b.load<T>(at[1]))));
  });
}

}  // namespace tenon::cpu
