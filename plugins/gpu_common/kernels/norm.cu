// Launches of RMS norm and layer norm.
#include "kernels/norm_loops.cuh"

namespace tenon::gpu {
namespace {

bool rows_stay(const DenseRows& rows, std::int64_t row_vectors) {
  const std::int64_t units = rows.unit_count;
  return row_vectors == kManyRowThreads * kManyRowVectors &&
         rows.row_count > kFewestStayingRows * units && rows.row_count <= kMostStayingRows * units;
}

template <bool kCentered>
void on_chip(Element element, const DenseRows& rows, Stream stream) {
  visit_float(element, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t of_row = rows.n / kPerVector<T>;
    const bool dense_units = !kCentered && rows.row_count > 2 * std::int64_t{rows.unit_count} &&
                             of_row > kManyRowThreads &&
                             of_row <= kManyRowThreads * kManyRowVectors;
    if constexpr (!kCentered) {
      if (rows_stay(rows, of_row)) {
        rms_norm_staying<T><<<kStayingBlocks * rows.unit_count, kManyRowThreads, 0, stream>>>(
            static_cast<const T*>(rows.x),
            static_cast<const T*>(rows.weight),
            static_cast<T*>(rows.out),
            static_cast<int>(rows.row_count),
            rows.eps);
        return;
      }
    }
    const auto launch = [&](dim3 grid, dim3 block, int vectors, int row_vectors) {
      const auto start = [&](auto kernel) {
        kernel<<<grid, block, 0, stream>>>(static_cast<const T*>(rows.x),
                                           static_cast<const T*>(rows.weight),
                                           static_cast<const T*>(rows.bias),
                                           static_cast<T*>(rows.out),
                                           rows.row_count,
                                           row_vectors,
                                           rows.eps);
      };
      if constexpr (!kCentered) {
        if (dense_units) return start(norm_on_chip<T, kCentered, kManyRowVectors, kManyRowThreads>);
      }
      switch (vectors) {
        case 1:
          return start(norm_on_chip<T, kCentered, 1>);
        case 2:
          return start(norm_on_chip<T, kCentered, 2>);
        case 4:
          return start(norm_on_chip<T, kCentered, 4>);
        default:
          return start(norm_on_chip<T, kCentered, 8>);
      }
    };
    over_dense_rows<T>(rows, launch, dense_units ? kManyRowVectors : 4);
  });
}

template <bool kCentered>
void strided(Element element, const StridedRows& rows, Stream stream) {
  visit_float(element, [&](auto zero) {
    norm_strided<decltype(zero), kCentered>
        <<<strided_row_blocks(rows.outer), strided_row_threads(rows.n), 0, stream>>>(rows);
  });
}

}  // namespace

void launch_rms_norm_on_chip(Element element, const DenseRows& rows, Stream stream) {
  on_chip<false>(element, rows, stream);
}
void launch_layer_norm_on_chip(Element element, const DenseRows& rows, Stream stream) {
  on_chip<true>(element, rows, stream);
}
void launch_rms_norm_strided(Element element, const StridedRows& rows, Stream stream) {
  strided<false>(element, rows, stream);
}
void launch_layer_norm_strided(Element element, const StridedRows& rows, Stream stream) {
  strided<true>(element, rows, stream);
}

}  // namespace tenon::gpu
