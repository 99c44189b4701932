// Writes plan data as C++ source.
#include "tenon/core/signature/archive.hpp"
#include "tenon/manifest/compiled.hpp"

namespace tenon::manifest {
namespace {

/// A string literal of three-digit octal escapes, so that no byte runs into the next.
std::string literal(std::string_view bytes) {
  constexpr std::size_t kPerLine = 24;
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % kPerLine == 0) text += i == 0 ? "    \"" : "\"\n    \"";
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text += '\\';
    for (const unsigned shift : {6u, 3u, 0u})
      text += static_cast<char>('0' + ((byte >> shift) & 7u));
  }
  return text + "\"";
}

}  // namespace

std::string compiled_source(std::span<const signature::PlanData> plans) {
  std::string text =
      "// Generated from the shipped manifest; do not edit.\n#include "
      "\"tenon/manifest/compiled.hpp\"\n\n"
      "namespace tenon::manifest {\nnamespace {\n\n";
  std::string rows;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const std::string bytes = signature::write_plan(plans[i]);
    const std::string name = "kPlan" + std::to_string(i);
    text += "constexpr char " + name + "[] =\n" + literal(bytes) + ";\n";
    rows += "    {\"" + plans[i].decl.name + "\", {" + name + ", " + std::to_string(bytes.size()) +
            "}},\n";
  }
  text += "\nconstexpr CompiledEntry kEntries[] = {\n" + rows +
          "};\n\n}  // namespace\n\n"
          "std::span<const CompiledEntry> compiled_manifest() noexcept { return kEntries; }\n\n}  "
          "// namespace tenon::manifest\n";
  return text;
}

}  // namespace tenon::manifest
