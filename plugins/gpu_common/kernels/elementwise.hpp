// Launches of the elementwise kernels.
#pragma once

#include <cstdint>

#include "device/views.hpp"
#include "host/runtime.hpp"

namespace tenon::gpu {

/// self + alpha * other; with floats alpha is `scale`, with integers `factor`.
struct AddParameters {
  double scale = 1;
  std::int64_t factor = 1;
  bool scaled = false;
};

/// Adjacent elements, every address aligned to 16 bytes.
void launch_add_vector(Element element,
                       const void* a,
                       const void* b,
                       void* out,
                       std::int64_t count,
                       const AddParameters& parameters,
                       Stream stream);
void launch_mul_vector(
    Element element, const void* a, const void* b, void* out, std::int64_t count, Stream stream);
void launch_gelu_vector(
    Element element, const void* x, void* out, std::int64_t count, bool tanh_form, Stream stream);
/// `size_bytes` bytes, both addresses aligned to 16.
void launch_copy_vector(const void* x, void* out, std::int64_t size_bytes, Stream stream);

/// Any strides. `narrow`: every number and offset of an element fits into 31 bits.
void launch_add_strided(Element element,
                        const void* a,
                        const void* b,
                        void* out,
                        const Axes<3>& axes,
                        bool narrow,
                        const AddParameters& parameters,
                        Stream stream);
void launch_mul_strided(Element element,
                        const void* a,
                        const void* b,
                        void* out,
                        const Axes<3>& axes,
                        bool narrow,
                        Stream stream);
void launch_gelu_strided(Element element,
                         const void* x,
                         void* out,
                         const Axes<2>& axes,
                         bool narrow,
                         bool tanh_form,
                         Stream stream);
void launch_copy_strided(
    int element_bytes, const void* x, void* out, const Axes<2>& axes, bool narrow, Stream stream);

}  // namespace tenon::gpu
