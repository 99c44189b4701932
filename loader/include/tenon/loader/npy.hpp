// NumPy's .npy files as tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "tenon/core/dtype.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon {

/// What the header of a .npy file says.
struct NpyHeader {
  DType dtype = DType::kFloat32;
  Dims shape;
  bool fortran_order = false;     ///< the first axis varies fastest
  std::uint64_t data_offset = 0;  ///< where the elements begin in the file
  std::uint64_t data_bytes = 0;   ///< how many bytes the elements take
};

/// Reads the header of a .npy file, format version 1, 2 or 3, from its first bytes.
/// @errors UsageError: wrong magic, truncated, big-endian, object or structured dtype, a shape that
/// is no tensor's.
/// Source: NumPy Enhancement Proposal 1 and numpy.lib.format.
[[nodiscard]] Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes);

/// Loads a .npy file into host memory. Fortran order becomes strides; the bytes stay as they are.
/// `as` reads an integer carrier as another dtype of the same size: a uint16 file as bfloat16, a
/// uint8 file as a float8.
/// @errors UsageError: no such file, not a .npy file, shorter than its header says.
[[nodiscard]] Result<Tensor> load_npy(const std::filesystem::path& file,
                                      std::optional<DType> as = std::nullopt);

/// Writes a tensor of host memory, of any strides, as a dense row-major .npy file. dtypes that
/// NumPy lacks go out as their unsigned carrier of the same size. The file appears whole or not at
/// all.
/// @errors UsageError: the tensor is not in host memory, the file cannot be written.
[[nodiscard]] Result<void> save_npy(const std::filesystem::path& file, const TensorView& tensor);

}  // namespace tenon
