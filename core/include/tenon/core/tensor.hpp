// Tensors: dimensions, views of memory, owned tensors, specs without memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "tenon/core/device.hpp"
#include "tenon/core/dtype.hpp"
#include "tenon/core/error.hpp"

namespace tenon {

/// Highest rank of a tensor.
inline constexpr std::size_t kMaxRank = TENON_MAX_RANK;

/// Up to kMaxRank integers without heap memory: a shape or strides, in elements.
class Dims {
 public:
  // The first kInline values are always set.
  Dims() { std::fill_n(values_.begin(), kInline, 0); }  // NOLINT(*-member-init): by rank
  Dims(std::initializer_list<std::int64_t> values)
      : Dims(std::span(values.begin(), values.size())) {}
  /// Ranks above kMaxRank are the caller's to refuse first; here they are cut.
  explicit Dims(std::span<const std::int64_t> values) : Dims() {
    rank_ = static_cast<std::uint32_t>(std::min(values.size(), kMaxRank));
    std::copy_n(values.begin(), rank_, values_.begin());
  }
  Dims(const Dims& other) : rank_(other.rank_) { copy_values(other); }
  Dims& operator=(const Dims& other) {
    rank_ = other.rank_;
    copy_values(other);
    return *this;
  }

  [[nodiscard]] std::size_t size() const { return rank_; }
  [[nodiscard]] bool empty() const { return rank_ == 0; }
  [[nodiscard]] const std::int64_t* data() const { return values_.data(); }
  [[nodiscard]] std::int64_t* data() { return values_.data(); }
  std::int64_t& operator[](std::size_t i) { return values_[i]; }
  std::int64_t operator[](std::size_t i) const { return values_[i]; }
  [[nodiscard]] auto begin() const { return values_.begin(); }
  [[nodiscard]] auto end() const { return values_.begin() + rank_; }
  void resize(std::size_t rank) { rank_ = static_cast<std::uint32_t>(rank); }
  void push_back(std::int64_t v) { values_[rank_++] = v; }
  [[nodiscard]] std::span<const std::int64_t> span() const { return {values_.data(), rank_}; }
  operator std::span<const std::int64_t>() const {
    return span();
  }  // NOLINT(google-explicit-constructor)
  friend bool operator==(const Dims& a, const Dims& b) {
    return a.rank_ == b.rank_ && std::equal(a.begin(), a.end(), b.begin());
  }
  /// "[2, 3]"
  [[nodiscard]] std::string to_string() const;

 private:
  static constexpr std::size_t kInline = 4;
  // Of a fixed size where the rank allows: views are copied on every call, and a call of memmove
  // for two values takes longer than the two.
  void copy_values(const Dims& other) {
    std::copy_n(other.values_.begin(), kInline, values_.begin());
    if (rank_ > kInline)
      std::copy_n(other.values_.begin() + kInline, rank_ - kInline, values_.begin() + kInline);
  }

  std::uint32_t rank_ = 0;
  std::array<std::int64_t, kMaxRank> values_;  // the first rank_ are set, or kInline if more
};

/// Number of elements; 1 at rank 0. Nothing when it exceeds int64.
[[nodiscard]] std::optional<std::int64_t> element_count(
    std::span<const std::int64_t> shape) noexcept;
/// Row-major strides without gaps.
[[nodiscard]] Dims dense_strides(std::span<const std::int64_t> shape) noexcept;

/// Shape, strides, dtype and device of a tensor, without memory.
struct TensorSpec {
  DType dtype = DType::kFloat32;
  Dims shape;
  Dims strides;
  Device device;
  /// "bfloat16[2048, 4096]"
  [[nodiscard]] std::string to_string() const;
};

/// A view of memory that somebody else keeps. Strides in elements, byte_offset in bytes.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kFloat32;
  Device device;
  Dims shape;
  Dims strides;
  std::uint64_t byte_offset = 0;

  TensorView() = default;
  /// Dense row-major.
  TensorView(void* memory, DType type, const Dims& dims, Device on = {})
      : data(memory), dtype(type), device(on), shape(dims), strides(dense_strides(dims)) {}
  TensorView(void* memory, DType type, const Dims& dims, const Dims& steps, Device on = {})
      : data(memory), dtype(type), device(on), shape(dims), strides(steps) {}

  [[nodiscard]] std::byte* first() const { return static_cast<std::byte*>(data) + byte_offset; }
  [[nodiscard]] std::int64_t count() const { return element_count(shape).value_or(0); }
  [[nodiscard]] bool is_dense() const noexcept;
  [[nodiscard]] TensorSpec spec() const { return {dtype, shape, strides, device}; }
};

/// Bytes that a view spans, as [low, high) addresses; empty for a view without elements.
struct AddressRange {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
};
[[nodiscard]] AddressRange address_range(const TensorView& view) noexcept;

/// True where two indices of one view may reach the same element (a stride of 0 over a size above
/// 1, or strides that cross). Conservative: true when it cannot tell.
[[nodiscard]] bool overlaps_itself(const TensorView& view) noexcept;
/// True where two views share no byte, decided exactly for views that interleave on equal strides
/// and by address range otherwise; false is conservative.
[[nodiscard]] bool disjoint(const TensorView& a, const TensorView& b) noexcept;
/// The very same view: address, shape, dtype, strides (of axes above 1), device.
[[nodiscard]] bool same_view(const TensorView& a, const TensorView& b) noexcept;

/// Memory with its release. Shared by the tensors that view it. A class whose destructor gives the
/// memory back may derive from it: storages live in shared pointers, which destroy what was made.
class Storage {
 public:
  using Release = std::function<void(void* memory, std::size_t size_bytes)>;
  Storage(void* memory, std::size_t size_bytes, Device device, Release release)
      : memory_(memory), size_bytes_(size_bytes), device_(device), release_(std::move(release)) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage() {
    if (release_) release_(memory_, size_bytes_);
  }
  [[nodiscard]] void* memory() const { return memory_; }
  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] Device device() const { return device_; }

 private:
  void* memory_;
  std::size_t size_bytes_;
  Device device_;
  Release release_;
};

/// A tensor that keeps its memory. Copying shares the memory.
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::shared_ptr<Storage> storage, const TensorView& view)
      : storage_(std::move(storage)), view_(view) {}

  /// Dense host memory (device cpu:0), 64-byte aligned, zeroed.
  static Result<Tensor> host(DType dtype, const Dims& shape);

  [[nodiscard]] bool defined() const { return storage_ != nullptr; }
  [[nodiscard]] const TensorView& view() const { return view_; }
  [[nodiscard]] TensorSpec spec() const { return view_.spec(); }
  [[nodiscard]] const std::shared_ptr<Storage>& storage() const { return storage_; }
  [[nodiscard]] DType dtype() const { return view_.dtype; }
  [[nodiscard]] const Dims& shape() const { return view_.shape; }
  [[nodiscard]] const Dims& strides() const { return view_.strides; }
  [[nodiscard]] Device device() const { return view_.device; }
  template <class T>
  [[nodiscard]] T* data() const {
    return reinterpret_cast<T*>(view_.first());
  }
  operator const TensorView&() const { return view_; }  // NOLINT(google-explicit-constructor)

 private:
  std::shared_ptr<Storage> storage_;
  TensorView view_;
};

}  // namespace tenon
