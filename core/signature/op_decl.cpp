// Look-ups in a declaration.
#include "tenon/core/op_decl.hpp"

namespace tenon {
namespace {

std::optional<std::uint32_t> find_tensor(const std::vector<TensorDecl>& tensors,
                                         std::string_view name) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name == name) return static_cast<std::uint32_t>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string SourceLocation::to_string() const {
  if (line == 0) return file;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

std::optional<std::uint32_t> OpDecl::input_index(std::string_view input) const {
  return find_tensor(inputs, input);
}
std::optional<std::uint32_t> OpDecl::output_index(std::string_view output) const {
  return find_tensor(outputs, output);
}
std::optional<std::uint32_t> OpDecl::construction_index(std::string_view tensor) const {
  return find_tensor(construction_tensors, tensor);
}
std::optional<std::uint32_t> OpDecl::buffered_output() const {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].buffer_out) return static_cast<std::uint32_t>(i);
  }
  return std::nullopt;
}

}  // namespace tenon
