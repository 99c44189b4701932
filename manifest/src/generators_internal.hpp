// What generators and predicates share: checked arguments, layouts, the random source.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/manifest/generators.hpp"

namespace tenon::manifest::detail {

using Ints = std::vector<std::int64_t>;
__extension__ using Wide = __int128;  ///< sums and differences of any two int64 fit

/// A layout of rows by expert: each expert's rows padded to `max_m`, or one after the other.
struct MoeLayout {
  bool is_masked = false;
  std::int64_t max_m = 0;
  bool is_aligned = false;  ///< contiguous: each expert starts at a multiple of `alignment`
  bool is_per_row = false;  ///< contiguous: the metadata are expert ids, else ends of experts
  std::int64_t alignment = 1;
};

/// The arguments of one call, of the right number and kinds.
class Args {
 public:
  Args(std::string_view callee, std::span<const FormalArg> formals, std::span<const CallArg> args)
      : callee_(callee), formals_(formals), args_(args) {}

  /// Number, kinds and words.
  [[nodiscard]] Result<void> check() const;

  [[nodiscard]] std::int64_t integer(std::size_t i) const {
    return std::get<std::int64_t>(args_[i]);
  }
  [[nodiscard]] const Ints& seq(std::size_t i) const { return std::get<Ints>(args_[i]); }
  [[nodiscard]] const std::string& word(std::size_t i) const {
    return std::get<std::string>(args_[i]);
  }
  [[nodiscard]] Result<MoeLayout> layout(std::size_t i) const;

  /// "topk_ids: k is 9, expected at most experts, 8"
  [[nodiscard]] tl::unexpected<Error> reject(std::string message) const {
    return fail(ErrorCode::kManifestInvalid, std::string(callee_) + ": " + std::move(message));
  }
  /// Integer argument i is at least `least`.
  [[nodiscard]] Result<void> at_least(std::size_t i, std::int64_t least) const;
  /// Every item of sequence i is at least `least`, and there is one if `non_empty`.
  [[nodiscard]] Result<void> items_at_least(std::size_t i,
                                            std::int64_t least,
                                            bool non_empty) const;
  /// The product of sizes; an error beyond kMaxGeneratedElements.
  [[nodiscard]] Result<std::int64_t> elements(std::initializer_list<std::int64_t> sizes) const;
  /// The sum of a sequence of non-negative items; an error beyond int64.
  [[nodiscard]] Result<std::int64_t> total(std::size_t i) const;

 private:
  /// Fields of a layout.
  [[nodiscard]] Result<std::int64_t> layout_int(const AdtValue& layout,
                                                std::string_view field,
                                                std::int64_t least) const;
  /// True where it is the first word.
  [[nodiscard]] Result<bool> layout_word(const AdtValue& layout,
                                         std::string_view field,
                                         std::string_view yes,
                                         std::string_view no) const;

  std::string_view callee_;
  std::span<const FormalArg> formals_;
  std::span<const CallArg> args_;
};

/// Rounds up to a whole number of parts; both arguments as in a division, divisor > 0, n >= 0.
inline std::int64_t ceil_div(std::int64_t n, std::int64_t divisor) {
  return n / divisor + (n % divisor != 0 ? 1 : 0);
}

/// total = count equal parts, the first `total % count` one larger.
inline Ints balanced_sizes(std::int64_t total, std::int64_t count) {
  Ints sizes(static_cast<std::size_t>(count), total / count);
  for (std::int64_t i = 0; i < total % count; ++i) ++sizes[static_cast<std::size_t>(i)];
  return sizes;
}

/// xoshiro256**, seeded by SplitMix64.
/// Source: Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators", 2021;
///         https://prng.di.unimi.it/ (xoshiro256starstar.c, splitmix64.c, public domain).
class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      std::uint64_t z = (seed += 0x9e3779b97f4a7c15u);
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      word = z ^ (z >> 31);
    }
  }

  std::uint64_t next() {
    const std::uint64_t result = rotated(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotated(state_[3], 45);
    return result;
  }

  /// Uniform in [0, bound), bound > 0: draws from the incomplete last run of residues are thrown
  /// away.
  std::int64_t below(std::int64_t bound) {
    const auto n = static_cast<std::uint64_t>(bound);
    const std::uint64_t excess = (std::numeric_limits<std::uint64_t>::max() % n + 1) % n;
    std::uint64_t drawn = next();
    while (drawn > std::numeric_limits<std::uint64_t>::max() - excess) drawn = next();
    return static_cast<std::int64_t>(drawn % n);
  }

 private:
  static std::uint64_t rotated(std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }
  std::array<std::uint64_t, 4> state_{};
};

/// Draws distinct numbers: the first steps of a Fisher-Yates shuffle of [0, n), undone afterwards,
/// so that many small samples of a large range cost their own size only.
class DistinctSampler {
 public:
  /// Writes `into.size()` distinct numbers of [0, n) in the order drawn; into.size() <= n.
  void sample(Random& random, std::int64_t n, std::span<std::int64_t> into);

 private:
  static constexpr std::int64_t kDenseLimit = std::int64_t{1} << 20;
  std::int64_t& slot(std::int64_t i, bool is_dense);
  Ints dense_;     ///< the identity between samples
  Ints partners_;  ///< of the swaps of the sample at hand
  std::unordered_map<std::int64_t, std::int64_t> sparse_;
};

using GeneratorFn = Result<GeneratedTensor> (*)(const Args&, Random&);

// The starred generators (generators_random.cpp).
Result<GeneratedTensor> paged_block_table(const Args& args, Random& random);
Result<GeneratedTensor> nsa_block_indices(const Args& args, Random& random);
Result<GeneratedTensor> nsa_block_counts(const Args& args, Random& random);
Result<GeneratedTensor> topk_ids(const Args& args, Random& random);
Result<GeneratedTensor> random_ids(const Args& args, Random& random);
Result<GeneratedTensor> sample_indices(const Args& args, Random& random);
Result<GeneratedTensor> causal_topk_indices(const Args& args, Random& random);
Result<GeneratedTensor> sparse_topk_positions(const Args& args, Random& random);

}  // namespace tenon::manifest::detail
