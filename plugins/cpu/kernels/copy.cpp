// CopyFwdOp, reference: the same bytes, whatever they mean.
#include <array>
#include <cstring>

#include "kernels/element_types.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/reference.hpp"
#include "tenon/contracts/elementwise.h"

namespace tenon::cpu {
namespace {

using Bytes16 = std::array<std::uint64_t, 2>;

struct CopyReference : ReferenceKernel<contracts::copy_fwd::Call> {
  static constexpr auto op = "CopyFwdOp", interface = "copy_fwd";

  static void launch(const Launch& launch) {
    const View x = view_of(launch, 0);
    const View output = view_of(launch, 1);
    require_like(x, output, "x");
    const auto same = [](auto value) { return value; };
    switch (ElementType(output.dtype).size_bytes()) {
      case 1:
        return map_elements<std::uint8_t>(x, output, same);
      case 2:
        return map_elements<std::uint16_t>(x, output, same);
      case 4:
        return map_elements<std::uint32_t>(x, output, same);
      case 8:
        return map_elements<std::uint64_t>(x, output, same);
      case 16:
        return map_elements<Bytes16>(x, output, same);
      default:
        unknown_dtype(output.dtype);
    }
  }
};

}  // namespace

KernelRows copy_kernels() { return kernel_rows<CopyReference>(); }

}  // namespace tenon::cpu
