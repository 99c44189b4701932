// Generators: what fills the metadata tensors (offsets, page tables, expert ids) of a workload row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/core/value.hpp"

namespace tenon::manifest {

/// An evaluated argument of a generator or predicate: an Int, a Seq[Int] (also the contents of a
/// generated tensor of rank 1), a word, or a value of an algebraic type.
using CallArg = std::variant<std::int64_t, std::vector<std::int64_t>, std::string, AdtValue>;

/// The argument that a value is. Errors: a bool, a float, None, a list with anything but ints.
[[nodiscard]] Result<CallArg> call_arg_of(const Value& value);

/// What a formal argument takes.
enum class FormalKind : std::uint8_t { kInt, kSeq, kWord, kLayout };
/// As messages name it: "an Int", "a Seq[Int]", "a word", "a layout".
[[nodiscard]] std::string_view name_of(FormalKind kind) noexcept;

/// A formal argument of a generator or predicate.
struct FormalArg {
  std::string_view name;
  FormalKind kind = FormalKind::kInt;
  std::span<const std::string_view> words = {};  ///< what a kWord may be
};

/// Integers in row-major order. Rank 0 has one value.
struct GeneratedTensor {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> values;
  friend bool operator==(const GeneratedTensor&, const GeneratedTensor&) = default;
};

/// What the language needs to know of a generator before it runs.
struct GeneratorInfo {
  std::string_view name;
  std::span<const FormalArg> formals;
  std::int32_t rank = 1;   ///< of the result; -1: the length of the first argument
  bool is_random = false;  ///< draws from a generator of its own
  std::string_view doc;
};

/// Every generator, by name.
[[nodiscard]] std::span<const GeneratorInfo> all_generators() noexcept;
/// By name; null where there is none.
[[nodiscard]] const GeneratorInfo* find_generator(std::string_view name) noexcept;

/// The seed of workloads where nobody gives another.
inline constexpr std::uint32_t kWorkloadSeed = 1235;
/// The seed of one tensor's generator: the workload seed xor crc32 of "Op:tensor".
[[nodiscard]] std::uint32_t generator_seed(std::string_view op_name,
                                           std::string_view tensor_name,
                                           std::uint32_t workload_seed = kWorkloadSeed) noexcept;
/// CRC-32 as zlib, PNG and Ethernet have it. Source: ISO/IEC 8802-3; reflected polynomial
/// 0xEDB88320.
[[nodiscard]] std::uint32_t crc32(std::string_view bytes) noexcept;

/// More elements than this are refused: a workload that asks for them has a mistake in it.
inline constexpr std::int64_t kMaxGeneratedElements = std::int64_t{1} << 28;

/// Runs a generator. The same name, arguments and seed give the same tensor on every machine; one
/// that is not random ignores the seed.
/// Errors  ManifestInvalid: unknown name (nearest names), wrong number or kinds of arguments, an
///         argument outside the generator's domain, too many elements.
[[nodiscard]] Result<GeneratedTensor> generate(std::string_view name,
                                               std::span<const CallArg> args,
                                               std::uint32_t seed = kWorkloadSeed);

}  // namespace tenon::manifest
