// What the plan tests share: compiled entries, instances, calls on views without meaning.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support.hpp"
#include "tenon/core/plan.hpp"
#include "tenon/manifest/compile.hpp"
#include "tenon/manifest/reader.hpp"

namespace tenon::manifest::test {

/// An entry whose row says nothing: what rows must give is tested elsewhere.
inline std::string demo(std::string_view signature, std::string_view rest = "") {
  return entry(signature, rest, "DemoFwdOp", "[{label: a}]");
}

/// A text compiled: the plan, or null and what was reported.
struct Compiled {
  std::shared_ptr<const SignaturePlan> plan;
  DiagnosticList diagnostics;
  [[nodiscard]] std::string text() const { return diagnostics.to_text(); }
  [[nodiscard]] bool mentions(std::string_view part) const {
    return text().find(part) != std::string::npos;
  }
};

inline Compiled compile_text(std::string_view contents, std::string_view types = "") {
  std::vector<NamedText> files{{"demo.yaml", std::string(contents)}};
  if (!types.empty()) files.push_back({"types.yaml", std::string(types)});
  LoadedSet loaded = load_texts(files);
  Compiled out;
  out.diagnostics = loaded.diagnostics;
  if (!loaded.set.entries.empty())
    out.plan = compile(loaded.set.entries.front(), loaded.set.adts, out.diagnostics);
  out.diagnostics.finish();
  return out;
}

/// The compiled entry of this signature; the test ends where it has a fault.
inline std::shared_ptr<const SignaturePlan> plan_of(std::string_view signature,
                                                    std::string_view rest = "") {
  Compiled compiled = compile_text(demo(signature, rest));
  INFO(compiled.text());
  REQUIRE(compiled.plan != nullptr);
  return compiled.plan;
}

inline std::shared_ptr<const SignaturePlan> shipped(std::string_view name) {
  static const LoadedSet loaded =
      load_folder(std::string(TENON_SOURCE_DIR) + "/manifest/ops").value();
  const Entry* found = loaded.set.find(name);
  REQUIRE(found != nullptr);
  DiagnosticList diagnostics;
  auto plan = compile(*found, loaded.set.adts, diagnostics);
  INFO(diagnostics.to_text());
  REQUIRE(plan != nullptr);
  return plan;
}

/// A call by name over views that the test owns.
class Call {
 public:
  Call(std::shared_ptr<const SignaturePlan> plan,
       std::vector<NamedValue> params = {},
       std::vector<std::pair<std::string, Tensor>> tensors = {})
      : plan_(std::move(plan)), frame_(plan_->make_frame()), args_(plan_->decl().inputs.size()) {
    auto made = plan_->construct(params, tensors);
    if (!made) {
      construction_error_ = made.error();
      return;
    }
    construction_ = *made;
  }

  [[nodiscard]] const std::optional<Error>& construction_error() const {
    return construction_error_;
  }
  [[nodiscard]] const SignaturePlan& plan() const { return *plan_; }
  [[nodiscard]] const Construction& construction() const { return *construction_; }
  [[nodiscard]] CallFrame& frame() { return *frame_; }

  Call& set(std::string_view input, TensorView view) {
    const auto index = plan_->decl().input_index(input);
    REQUIRE(index);
    views_.push_back(std::make_unique<TensorView>(view));
    pointers_.push_back(std::make_unique<std::vector<const TensorView*>>(1, views_.back().get()));
    args_[*index] = {pointers_.back()->data(), 1};
    return *this;
  }
  /// Memory of its own, far from every other tensor's; never read.
  Call& set(std::string_view input, DType dtype, const Dims& shape, Device device = {}) {
    return set(input, TensorView(fresh(), dtype, shape, device));
  }
  Call& set_list(std::string_view input, DType dtype, std::initializer_list<Dims> shapes) {
    const auto index = plan_->decl().input_index(input);
    REQUIRE(index);
    pointers_.push_back(std::make_unique<std::vector<const TensorView*>>());
    for (const Dims& shape : shapes) {
      views_.push_back(std::make_unique<TensorView>(fresh(), dtype, shape));
      pointers_.back()->push_back(views_.back().get());
    }
    args_[*index] = {pointers_.back()->data(), static_cast<std::uint32_t>(shapes.size())};
    return *this;
  }
  Call& clear(std::string_view input) {
    args_[plan_->decl().input_index(input).value()] = {};
    return *this;
  }
  Call& out(TensorView view) {
    views_.push_back(std::make_unique<TensorView>(view));
    out_ = views_.back().get();
    return *this;
  }
  Call& out(DType dtype, const Dims& shape, Device device = {}) {
    return out(TensorView(fresh(), dtype, shape, device));
  }
  Call& no_out() {
    out_ = nullptr;
    return *this;
  }

  [[nodiscard]] CallArgs arguments() const {
    CallArgs args;
    args.inputs = args_;
    args.out = out_;
    return args;
  }
  bool check() {
    REQUIRE(construction_ != nullptr);
    const bool passes = plan_->check(*construction_, arguments(), *frame_);
    // The program that checks and the walk that explains must agree on every call of every test.
    const Error reason = plan_->failure(*construction_, arguments(), *frame_);
    INFO(reason.to_string());
    CHECK(passes == (reason.code() == ErrorCode::kInternal));
    return passes;
  }
  /// Why the call fails; the test ends where it passes.
  Error why() {
    REQUIRE_FALSE(check());
    return plan_->failure(*construction_, arguments(), *frame_);
  }
  [[nodiscard]] std::string output(std::size_t i = 0) const {
    const OutputSpec& spec = frame_->outputs[i];
    return spec.present ? std::string(name_of(spec.dtype)) + spec.shape.to_string() : "absent";
  }
  [[nodiscard]] Value index(std::string_view name) const {
    for (const auto& [key, value] : plan_->indices(*construction_, *frame_)) {
      if (key == name) return value;
    }
    return "no such index";
  }

 private:
  void* fresh() { return reinterpret_cast<void*>(next_ += std::uintptr_t{1} << 40); }

  std::shared_ptr<const SignaturePlan> plan_;
  std::unique_ptr<CallFrame> frame_;
  std::shared_ptr<const Construction> construction_;
  std::optional<Error> construction_error_;
  std::vector<TensorArg> args_;
  std::vector<std::unique_ptr<TensorView>> views_;
  std::vector<std::unique_ptr<std::vector<const TensorView*>>> pointers_;
  const TensorView* out_ = nullptr;
  std::uintptr_t next_ = 0;
};

}  // namespace tenon::manifest::test
