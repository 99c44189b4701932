// What is said of a tensor that describes no memory.
#include "runtime/given_views.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace tenon {
namespace {

Error malformed(const OpDecl& decl, const std::string& name, std::string why, const char* hint) {
  const auto input = decl.input_index(name);
  return Error(ErrorCode::kSignatureMismatch, fmt::format("{} {}", name, why))
      .with_hint(hint)
      .with_where((input ? decl.inputs[*input].where : decl.where).to_string())
      .with("argument", name);
}

Error fault_of(const OpDecl& decl, const std::string& name, const TensorView* view) {
  if (view == nullptr) {
    return malformed(decl,
                     name,
                     "is a null pointer where a tensor is expected",
                     "leave the argument out where it is absent");
  }
  const Dims& shape = view->shape;
  const Dims& strides = view->strides;
  if (shape.size() > kMaxRank || strides.size() > kMaxRank) {
    return malformed(decl,
                     name,
                     fmt::format("has rank {}; at most {} axes are possible",
                                 std::max(shape.size(), strides.size()),
                                 kMaxRank),
                     "give fewer axes");
  }
  if (shape.size() != strides.size()) {
    return malformed(decl,
                     name,
                     fmt::format("has {} sizes (shape {}) but {} strides ({})",
                                 shape.size(),
                                 shape.to_string(),
                                 strides.size(),
                                 strides.to_string()),
                     "give one stride, in elements, for each axis");
  }
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; })) {
    return malformed(decl,
                     name,
                     fmt::format("has shape {}: a size is negative", shape.to_string()),
                     "sizes are 0 or more");
  }
  if (!well_formed(*view, true)) {
    return malformed(
        decl,
        name,
        fmt::format("has shape {} with strides {} of {}, which spans more than 64 bits "
                    "can count",
                    shape.to_string(),
                    strides.to_string(),
                    name_of(view->dtype)),
        "strides are counted in elements");
  }
  return malformed(
      decl,
      name,
      fmt::format("has no memory: its data is null, but shape {} has elements", shape.to_string()),
      "point data at the first element's memory");
}

}  // namespace

Result<void> check_given(const OpDecl& decl, const CallArgs& args) {
  const std::size_t n = std::min(args.inputs.size(), decl.inputs.size());
  for (std::size_t i = 0; i < n; ++i) {
    const TensorArg& arg = args.inputs[i];
    if (!arg.present()) continue;
    for (std::uint32_t k = 0; k < arg.count; ++k) {
      const TensorView* view = arg.items[k];
      if (view != nullptr && well_formed(*view, args.meta)) continue;
      return fail(fault_of(decl, decl.inputs[i].name, view));
    }
  }
  if (args.out == nullptr || well_formed(*args.out, args.meta)) return {};
  return fail(fault_of(decl, "out", args.out));
}

}  // namespace tenon
