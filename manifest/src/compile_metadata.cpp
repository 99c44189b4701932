// Metadata tensors: generator and predicate calls resolved, their arguments' kinds, ranks and
// dtypes checked.
#include <algorithm>

#include <fmt/format.h>

#include "compiler.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/manifest/generators.hpp"
#include "tenon/manifest/predicates.hpp"

namespace tenon::manifest {

using signature::Expr;
using signature::kNoExpr;
using signature::MetadataCall;
using signature::Op;
using signature::Pool;

namespace {

Kind kind_of(const FormalArg& formal) {
  switch (formal.kind) {
    case FormalKind::kInt:
      return Kind::integer();
    case FormalKind::kSeq:
      return Kind::sequence(Kind::integer());
    case FormalKind::kWord:
      return Kind::string({formal.words.begin(), formal.words.end()});
    case FormalKind::kLayout:
      return Kind::algebraic(-1);
  }
  return Kind::unknown();
}

std::string unknown_hint(std::string_view name, bool predicate) {
  std::vector<std::string_view> names;
  if (predicate) {
    for (const PredicateInfo& info : all_predicates()) names.push_back(info.name);
  } else {
    for (const GeneratorInfo& info : all_generators()) names.push_back(info.name);
  }
  return did_you_mean(name, names, 1);
}

std::string names_of(std::span<const FormalArg> formals) {
  std::string names;
  for (const FormalArg& formal : formals)
    names += (names.empty() ? "" : ", ") + std::string(formal.name);
  return names;
}

}  // namespace

MetadataCall Compiler::metadata_call(const Text& text,
                                     std::uint32_t tensor,
                                     bool predicate,
                                     const std::string& field) {
  MetadataCall call;
  call.text = text.text;
  call.where = text.where;
  ExprScope scope;
  scope.field = field;
  scope.values = true;
  scope.generator_arguments = true;
  Pool parsed;
  ExprError error;
  const Expr root = parse(text.text, Grammar::kCall, parsed, error);
  if (root == kNoExpr) {
    Diagnostic& d = report(text.at(error.column), field, error.rule, error.text);
    d.found = error.found;
    d.expected = error.expected;
    d.hint = error.hint;
    return call;
  }
  call.name = parsed.text(root);
  const std::string_view what = predicate ? "predicate" : "generator";
  const GeneratorInfo* generator = predicate ? nullptr : find_generator(call.name);
  const PredicateInfo* info = predicate ? find_predicate(call.name) : nullptr;
  call.known = generator != nullptr || info != nullptr;
  if (!call.known) {
    Diagnostic& d = diagnostics_.advisory(
        text.at(parsed.at(root).column),
        data_.decl.name,
        field,
        fmt::format("{}.unknown", what),
        fmt::format(
            "there is no {} '{}': rows that need it are not instantiated", what, call.name));
    d.found = call.name;
    d.hint = unknown_hint(call.name, predicate);
    return call;
  }
  const std::span<const FormalArg> formals = predicate ? info->formals : generator->formals;
  if (parsed.at(root).count != formals.size()) {
    Diagnostic& d = report(text.at(parsed.at(root).column),
                           field,
                           fmt::format("{}.arity", what),
                           fmt::format("{} '{}' takes {} argument{}, not {}",
                                       what,
                                       call.name,
                                       formals.size(),
                                       formals.size() == 1 ? "" : "s",
                                       parsed.at(root).count));
    d.expected = names_of(formals);
    return call;
  }
  for (std::size_t i = 0; i < formals.size(); ++i) {
    const Expr child = parsed.child(root, i);
    if (parsed.at(child).op == Op::kKeyword) {
      report(text.at(parsed.at(child).column),
             field,
             fmt::format("{}.keyword", what),
             fmt::format("{} '{}' takes no keywords", what, call.name))
          .hint = "give the arguments in order";
      return call;
    }
    call.contents.push_back(kNoExpr);
    const auto symbol = parsed.at(child).op == Op::kName ? symbol_by_name_.find(parsed.text(child))
                                                         : symbol_by_name_.end();
    if (predicate && symbol != symbol_by_name_.end() &&
        signature::is_tensor(data_.symbols[symbol->second].kind)) {
      call.args.push_back(kNoExpr);
      call.contents.back() = symbol->second;
      if (symbol->second == tensor ||
          signature::tensor_decl(data_, symbol->second).values_text.empty()) {
        Diagnostic& d = report(text.at(parsed.at(child).column),
                               field,
                               "predicate.tensor",
                               fmt::format("'{}' is no other generated tensor", symbol->first));
        d.expected = "another tensor with 'values'";
      }
      continue;
    }
    call.args.push_back(resolve(parsed, child, text, scope));
    if (call.args.back() == kNoExpr) continue;
    checker(text, scope)
        .expect(call.args.back(),
                kind_of(formals[i]),
                fmt::format("argument '{}' of {}", formals[i].name, call.name));
  }
  return call;
}

void Compiler::declare_metadata() {
  const auto declare = [&](const std::vector<TensorEntry>& sources,
                           std::vector<signature::TensorData>& tensors,
                           std::uint32_t first,
                           const char* section) {
    for (std::uint32_t i = 0; i < sources.size() && i < tensors.size(); ++i) {
      const TensorDecl& decl = signature::tensor_decl(data_, first + i);
      const std::string field = fmt::format("signature.{}.{}", section, decl.name);
      if (!sources[i].values.empty())
        tensors[i].values = metadata_call(sources[i].values, first + i, false, field + ".values");
      for (std::size_t k = 0; k < sources[i].requirements.size(); ++k) {
        tensors[i].requirements.push_back(metadata_call(
            sources[i].requirements[k], first + i, true, fmt::format("{}.requires[{}]", field, k)));
      }
    }
  };
  declare(
      entry_.construction_tensors, data_.construction_tensors, data_.first_construction, "params");
  declare(entry_.inputs, data_.inputs, data_.first_input, "inputs");
}

namespace {

// Whether the shape has one rank, whatever the call.
bool is_fixed(const signature::TensorTerm& term) {
  return std::none_of(term.elements.begin(), term.elements.end(), [](const signature::Element& e) {
    return e.splice;
  });
}

}  // namespace

void Compiler::check_requirement(const signature::Branch& branch,
                                 const signature::TensorTerm& term,
                                 const MetadataCall& call,
                                 const std::string& place) {
  const signature::TensorData& data = signature::tensor_data(data_, term.symbol);
  const bool fixed = is_fixed(term);
  const auto rank = static_cast<std::int32_t>(term.elements.size());
  const PredicateInfo* info = find_predicate(call.name);
  if (info == nullptr) return;
  if (info->rank >= 0 && (!fixed || info->rank != rank)) {
    Diagnostic& d =
        report(call.where,
               place,
               "predicate.rank",
               fmt::format("predicate '{}' is for tensors of rank {}", info->name, info->rank));
    d.found = fmt::format("'{}'", data.shape.text);
    d.expected = fmt::format("a shape of rank {}", info->rank);
  }
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    if (call.args[i] != kNoExpr || call.contents[i] == kNoExpr ||
        branch.facts.presence[call.contents[i]] == 1)
      continue;
    Diagnostic& d = report(call.where,
                           place,
                           "predicate.absent",
                           fmt::format("'{}' may be absent where '{}' is passed ({})",
                                       data_.symbols[call.contents[i]].name,
                                       data_.symbols[term.symbol].name,
                                       describe(branch.choices)));
    d.expected = "a tensor that is passed wherever this one is";
  }
}

void Compiler::check_term_metadata(const signature::Branch& branch,
                                   const signature::TensorTerm& term,
                                   const char* section) {
  const signature::TensorData& data = signature::tensor_data(data_, term.symbol);
  if (!term.passed || !data.values || !data.values->known) return;
  const std::string field =
      fmt::format("signature.{}.{}", section, data_.symbols[term.symbol].name);
  const signature::Node& dtype = branch.pool.at(term.dtype);
  DTypeSet dtypes;
  if (dtype.op == Op::kString) {
    if (const auto d = dtype_from_name(branch.pool.text(term.dtype))) dtypes.insert(*d);
  } else {
    dtypes = dtype.op == Op::kSymbol ? data_.symbols[static_cast<std::size_t>(dtype.value)].dtypes
                                     : signature::tensor_decl(data_, term.symbol).dtypes;
  }
  const DTypeSet integers{DType::kInt32, DType::kInt64};
  if ((dtypes.bits() & ~integers.bits()) != 0) {
    Diagnostic& d = report(data.dtype.where,
                           field + ".dtype",
                           "generator.dtype",
                           "the dtype of a generated tensor is not int32 or int64");
    d.found = fmt::format("'{}'", data.dtype.text);
    d.expected = "int32 or int64, or an index of these";
  }
  const bool fixed = is_fixed(term);
  const auto rank = static_cast<std::int32_t>(term.elements.size());
  const GeneratorInfo* generator = find_generator(data.values->name);
  if (fixed && generator != nullptr && generator->rank >= 0 && generator->rank != rank) {
    Diagnostic& d = report(
        data.values->where,
        field + ".values",
        "generator.rank",
        fmt::format("generator '{}' makes a tensor of rank {}, the declared shape has rank {}",
                    generator->name,
                    generator->rank,
                    rank));
    d.found = fmt::format("'{}'", data.shape.text);
    d.expected = fmt::format("a shape of rank {}", generator->rank);
  }
  for (std::size_t k = 0; k < data.requirements.size(); ++k) {
    check_requirement(branch, term, data.requirements[k], fmt::format("{}.requires[{}]", field, k));
  }
}

/// What only a point shows: the dtype, the rank, and that a tensor whose contents are read is
/// there.
void Compiler::check_branch_metadata(const signature::Branch& branch) {
  for (const signature::TensorTerm& term : branch.construction_tensors)
    check_term_metadata(branch, term, "params");
  for (const signature::TensorTerm& term : branch.inputs)
    check_term_metadata(branch, term, "inputs");
}

}  // namespace tenon::manifest
