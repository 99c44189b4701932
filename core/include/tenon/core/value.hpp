// Values: what a parameter, a default, a call-spec field or a workload row holds.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/core/dtype.hpp"

namespace tenon {

class Value;

/// A list or tuple. Tuples keep their kind because manifest types tell them apart.
struct ValueList {
  std::vector<Value> items;
  bool is_tuple = false;
  friend bool operator==(const ValueList&, const ValueList&);
};

/// A value of an algebraic type: its constructor's name and every field, in declaration order.
struct AdtValue {
  std::string constructor;
  std::vector<std::pair<std::string, Value>> fields;
  friend bool operator==(const AdtValue&, const AdtValue&);
};

/// Text that stands for an object only other languages know.
struct OpaqueValue {
  std::string text;
  friend bool operator==(const OpaqueValue&, const OpaqueValue&) = default;
};

/// Owned, comparable, printable as the manifest writes it.
class Value {
 public:
  using Data = std::variant<std::monostate,
                            bool,
                            std::int64_t,
                            double,
                            DType,
                            std::string,
                            ValueList,
                            AdtValue,
                            OpaqueValue>;

  Value() = default;
  Value(bool v) : data_(v) {}                            // NOLINT(google-explicit-constructor)
  Value(int v) : data_(static_cast<std::int64_t>(v)) {}  // NOLINT(google-explicit-constructor)
  Value(std::int64_t v) : data_(v) {}                    // NOLINT(google-explicit-constructor)
  Value(double v) : data_(v) {}                          // NOLINT(google-explicit-constructor)
  Value(DType v) : data_(v) {}                           // NOLINT(google-explicit-constructor)
  Value(const char* v) : data_(std::string(v)) {}        // NOLINT(google-explicit-constructor)
  Value(std::string v) : data_(std::move(v)) {}          // NOLINT(google-explicit-constructor)
  Value(std::string_view v) : data_(std::string(v)) {}   // NOLINT(google-explicit-constructor)
  Value(ValueList v) : data_(std::move(v)) {}            // NOLINT(google-explicit-constructor)
  Value(AdtValue v) : data_(std::move(v)) {}             // NOLINT(google-explicit-constructor)
  Value(OpaqueValue v) : data_(std::move(v)) {}          // NOLINT(google-explicit-constructor)
  Value(std::initializer_list<std::int64_t> ints);       ///< a list of ints: {4096}
  static Value list(std::vector<Value> items, bool is_tuple = false) {
    return ValueList{std::move(items), is_tuple};
  }

  [[nodiscard]] const Data& data() const { return data_; }
  template <class T>
  [[nodiscard]] const T* get_if() const {
    return std::get_if<T>(&data_);
  }
  [[nodiscard]] bool is_none() const { return std::holds_alternative<std::monostate>(data_); }

  /// "[2, 3]", "1.0e-06", "'tanh'", "None", "true".
  [[nodiscard]] std::string to_string() const;
  friend bool operator==(const Value& a, const Value& b) { return a.data_ == b.data_; }

 private:
  Data data_;
};

/// Name and value, in the order given.
using NamedValue = std::pair<std::string, Value>;

}  // namespace tenon
