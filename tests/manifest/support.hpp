// What the manifest tests share: texts in memory, one-line diagnostics, the shortest right entry.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/manifest/reader.hpp"

namespace tenon::manifest::test {

inline LoadedSet load(std::string_view contents, std::string_view name = "demo.yaml") {
  const std::vector<NamedText> files{{std::string(name), std::string(contents)}};
  return load_texts(files);
}

/// Every diagnostic on one line, without the source line.
inline std::vector<std::string> lines(const DiagnosticList& diagnostics) {
  std::vector<std::string> out;
  for (const Diagnostic& d : diagnostics) out.push_back(d.to_string());
  return out;
}

/// "rule@line:column" of each, joined by blanks.
inline std::string rules(const DiagnosticList& diagnostics) {
  std::string out;
  for (const Diagnostic& d : diagnostics) {
    out += (out.empty() ? "" : " ") + d.rule + "@" + std::to_string(d.where.line) + ":" +
           std::to_string(d.where.column);
  }
  return out;
}

/// A right entry of family `demo`, into which tests put their own signature.
inline std::string entry(
    std::string_view signature,
    std::string_view rest = "",
    std::string_view name = "DemoFwdOp",
    std::string_view workloads = "[{S: [4], dtype_cases: [{T: float32}], label: a}]") {
  std::string out;
  out += std::string(name) + ":\n  family: demo\n  status: spec-only\n  signature:\n";
  out += signature;
  out += "  workloads: " + std::string(workloads) + "\n  roofline: {flops: \"0\"}\n";
  out += rest;
  return out;
}

inline constexpr std::string_view kUnary =
    "    forall: {S: Shape, T: \"DType[float16 | float32]\"}\n"
    "    inputs: {x: {dtype: T, shape: \"[*S]\"}}\n"
    "    outputs: {y: {dtype: T, shape: \"[*S]\"}}\n";

}  // namespace tenon::manifest::test
