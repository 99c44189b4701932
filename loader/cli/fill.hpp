// Contents of made tensors: deterministic numbers, the same on every machine.
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/core/error.hpp"
#include "tenon/core/tensor.hpp"
#include "tensor_arg.hpp"

namespace tenon::cli {

/// Random numbers by position: number `index` of stream `stream` needs none of those before it.
/// Source: SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA
/// 2014; the constants are those of Sebastiano Vigna's public-domain splitmix64.c).
[[nodiscard]] std::uint64_t random_bits(std::uint64_t stream, std::uint64_t index) noexcept;
/// In [0, 1), a multiple of 2^-53.
[[nodiscard]] double random_uniform(std::uint64_t stream, std::uint64_t index) noexcept;
/// Mean 0, variance 1, within +-6: the sum of twelve uniform numbers less six (Irwin-Hall), which
/// needs no function whose last bit differs between mathematics libraries.
[[nodiscard]] double random_normal(std::uint64_t stream, std::uint64_t index) noexcept;

/// The stream of a tensor: its seed and its name, so that two tensors of one seed differ.
[[nodiscard]] std::uint64_t stream_of(std::uint64_t seed, std::string_view name) noexcept;

/// Fills a view of host memory in row-major order of its indices.
/// normal   floats: mean 0, variance 1; integers: that times ten, rounded, without its sign where
/// the
///          dtype has none; bool: a fair coin.
/// uniform  floats: in [0, 1), rounded to the dtype; integers: 0 to 99; bool: a fair coin.
/// arange   0, 1, 2, ..., again from 0 where the dtype no longer holds every integer.
/// Packed four-bit floats are filled byte by byte with random bits, or with the byte V.
void fill_view(const TensorView& view, const Fill& fill, std::uint64_t stream);

/// A tensor in host memory as described. Bytes of its allocation that are no element of it are
/// 0xff, so that a kernel that reads them shows. Precondition: not a file.
/// @errors OutOfMemory.
[[nodiscard]] Result<Tensor> make_tensor(const TensorSource& source);

}  // namespace tenon::cli
