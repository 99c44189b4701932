// What the checks on real devices share: tensors with guards around them, calls forced to a kernel,
// comparison with the CPU's reference, and the tally that the run ends with.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "bound.hpp"
#include "tenon/tenon.hpp"

namespace tenon::gpu_check {

/// How a tensor lies in its memory.
enum class Layout : std::uint8_t {
  kDense,       ///< at an aligned address
  kOffset,      ///< dense, one element further
  kPadded,      ///< rows with a gap behind them
  kStepped,     ///< every other element of the last axis
  kTransposed,  ///< the last two axes the other way round
  kReversed,    ///< the last axis backwards
  kExpanded,    ///< the first axis of stride 0; for inputs
};
[[nodiscard]] std::string_view name_of(Layout layout);

/// A tensor in host memory with guards on both sides. Bytes outside its elements are poison.
[[nodiscard]] Tensor make_host(DType dtype, const Dims& shape, Layout layout);

enum class Values : std::uint8_t { kNormal, kIntegers, kSpecial };
/// Fills the elements. kNormal: about normal, integers of the whole range; kIntegers: small ones,
/// whose sums are exact; kSpecial: normal with NaN, infinities, zeros of both signs in between.
void fill(const Tensor& tensor, Values values, std::mt19937_64& random);

/// One call.
struct Call {
  std::string op;
  std::string interface;
  std::vector<NamedValue> params;
  std::vector<std::pair<std::string, Tensor>> inputs;  ///< in host memory
  DType dtype = DType::kFloat32;
  Dims out_shape;
  Layout out_layout = Layout::kDense;
  std::int64_t term_count = 1;          ///< of each sum
  bool exact = false;                   ///< results must be equal
  std::optional<std::size_t> in_place;  ///< the input that is also the output
};

/// What the CPU's reference makes of a call, and how far a kernel may be from it.
struct Expectation {
  Tensor reference;
  std::optional<Tensor> terms;  ///< sums of the terms' absolute values
  cli::Bound bound;
};

/// Counts and worst cases by kernel and dtype.
class Tally {
 public:
  void pass(const std::string& group, double ulps);
  void skip(const std::string& group, const std::string& why);
  void fail(const std::string& group, const std::string& what);
  /// Prints the table. True if nothing failed and something passed.
  bool print() const;
  [[nodiscard]] std::size_t failures() const { return failures_; }

 private:
  struct Row {
    std::size_t passed = 0;
    std::size_t failed = 0;
    std::size_t skipped = 0;
    double worst_ulps = 0;
  };
  std::map<std::string, Row> rows_;
  std::size_t failures_ = 0;
};

/// A Runtime with the plugins under test.
class Bench {
 public:
  Bench(Runtime runtime, Device device);

  [[nodiscard]] Runtime& runtime() { return runtime_; }
  [[nodiscard]] Device device() const { return device_; }
  [[nodiscard]] DeviceTable& devices() const { return runtime_.engine().devices(); }
  [[nodiscard]] const DeviceEntry& entry() const { return *entry_; }
  [[nodiscard]] const tenon_device_kind& kind() const { return *kind_; }
  template <class T>
  [[nodiscard]] const T* extension(std::string_view name) const {
    return kind_->extension == nullptr ? nullptr
                                       : static_cast<const T*>(kind_->extension(
                                             kind_->context, {name.data(), name.size()}, 1));
  }
  [[nodiscard]] Tally& tally() { return tally_; }
  /// Keys of this plugin's kernel types of an interface that serve the dtype.
  [[nodiscard]] std::vector<std::string> keys(std::string_view op, DType dtype) const;
  Result<Op> make(const Call& call, const std::string& key);
  [[nodiscard]] Expectation expect(const Call& call, const std::string& key);
  /// Counts what a kernel wrote as right or wrong.
  void judge(const Expectation& expected,
             const TensorView& got,
             const std::string& group,
             const std::string& what);
  /// Runs the call under every key of the plugin and compares; a refusal is a skip.
  void check(const Call& call, std::string_view what);

 private:
  void check_key(const Call& call, const std::string& key, const std::string& what);
  [[nodiscard]] bool is_sequential(std::string_view op, const std::string& key) const;

  Runtime runtime_;
  Device device_;
  const DeviceEntry* entry_;
  const tenon_device_kind* kind_;
  Tally tally_;
};

/// A copy on the device with the same strides and surroundings.
[[nodiscard]] Tensor to_device(Bench& bench, const Tensor& host);
/// All bytes of a device tensor's storage, under the same view, in host memory.
[[nodiscard]] Tensor to_host(Bench& bench, const Tensor& tensor);
/// Whether bytes of a tensor's storage that belong to no element are poison still.
[[nodiscard]] bool surroundings_are_whole(const Tensor& tensor);
/// Ends the program with the error's text: for steps that must not fail.
[[noreturn]] void give_up(const Error& error);
template <class T>
T must(Result<T> result) {
  if (!result) give_up(result.error());
  return std::move(*result);
}
inline void must(Result<void> result) {
  if (!result) give_up(result.error());
}

/// The parts of the run.
void check_values(Bench& bench);
/// A few small calls of every kernel type, for tools that slow a device down.
void check_small(Bench& bench);
void check_long_rows(Bench& bench);
/// D99: rows of 1 to 130 integers, around what 32 and 64 lanes hold.
void check_widths(Bench& bench);
/// Casts between every pair of dtypes.
void check_casts(Bench& bench);
void check_beyond_31_bits(Bench& bench);
void check_hits(Bench& bench);
void check_streams(Bench& bench);
void check_capture(Bench& bench);
/// Scopes of captures, the application's allocator, a forked child.
void check_memory(Bench& bench, const std::vector<std::string>& plugins);
/// With a second card of the kind: copies between the two, calls on it, a stream of the wrong one.
void check_two_cards(Bench& bench);
void check_errors(Bench& bench,
                  const std::string& program,
                  const std::vector<std::string>& plugins);
/// In a process of its own: makes a kernel read an illegal address, and says what was reported, by
/// a synchronisation or by a matrix product that comes after it.
int provoke_illegal_address(Bench& bench, bool met_by_product);

}  // namespace tenon::gpu_check
