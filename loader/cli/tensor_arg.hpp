// Tensor arguments of the command line: `x=in.npy`, `x=2048x4096:bf16^1,0~normal@3`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/core/plan.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cli {

enum class FillKind : std::uint8_t { kNormal, kUniform, kArange, kZeros, kConst };
[[nodiscard]] std::string_view name_of(FillKind kind) noexcept;

/// What a made tensor holds.
struct Fill {
  FillKind kind = FillKind::kNormal;
  double value = 0;  ///< of kConst
  /// Of kConst with a whole number of 64 bits, of which a double holds only some.
  struct Whole {
    std::uint64_t bits = 0;
    bool is_signed = false;
  };
  std::optional<Whole> whole;
  std::uint64_t seed = 0;
  /// "normal, seed 0", "zeros", "const 1.5"
  [[nodiscard]] std::string to_string() const;
};

/// A tensor argument as written: a file, or the description of a tensor to make.
struct TensorSource {
  std::string name;  ///< the tensor's
  std::string text;  ///< what stands after `name=`

  std::string file;              ///< path of a .npy file; empty for a made tensor
  std::optional<DType> carried;  ///< `in.npy:bf16`: the file's integers are the bits of this dtype

  TensorSpec spec;                    ///< of a made tensor; on cpu:0
  std::int64_t offset_elements = 0;   ///< where its first element lies in its allocation
  std::int64_t storage_elements = 0;  ///< elements that the allocation has
  Fill fill;

  /// Of a tensor with a size that is a range, `[1..4096]`: all of its sizes. It has a dtype, and no
  /// memory.
  std::vector<SizeRange> ranges;

  [[nodiscard]] bool is_file() const { return !file.empty(); }
  [[nodiscard]] bool is_ranged() const { return !ranges.empty(); }
};

/// The grammar, for help texts.
inline constexpr std::string_view kTensorGrammar =
    "FILE.npy[:DTYPE]  or  SHAPE:DTYPE[^PERM][+OFFSET][/STEP][~FILL][@SEED]";

/// Reads `name=TENSOR`.
/// TENSOR   a path that ends in `.npy`, or SHAPE:DTYPE[^PERM][+OFFSET][/STEP][~FILL][@SEED].
/// SHAPE    sizes joined by `x`: `2048x4096`; `8e` is a size of 8 with stride 0; `scalar` has rank
/// 0. `[1..4096]x4096:bf16` is known by ranges alone: nothing follows its dtype.
/// PERM     the axes from outermost to innermost in memory: `2048x4096:bf16^1,0` is the
/// transpose of
///          a dense 4096x2048.
/// OFFSET   elements of the allocation before the first one.
/// STEP     every STEP-th element of the last axis; below zero it walks backwards.
/// FILL     normal (default), uniform, arange, zeros, const=V.
/// SEED     of normal and uniform; 0 where it is not given.
/// Errors   UsageError with the fields `source` (the text) and `column` (from 1), for a caret.
[[nodiscard]] Result<TensorSource> parse_tensor_argument(std::string_view argument);

/// Looks a dtype up by either name. Errors: UsageError with the nearest names.
[[nodiscard]] Result<DType> parse_dtype(std::string_view text);

}  // namespace tenon::cli
