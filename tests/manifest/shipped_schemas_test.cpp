// Tests of the operator schemas of the shipped manifest.
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tenon/core/schema.hpp"
#include "tenon/core/schema_of.hpp"
#include "tenon/manifest/reader.hpp"

namespace {

using tenon::manifest::Entry;

/// The declaration with the defaults that effects and names have.
tenon::OpDecl completed(const Entry& entry) {
  tenon::OpDecl decl = entry.decl;
  if (decl.schema_name.empty()) decl.schema_name = tenon::default_schema_name(decl.name);
  for (std::size_t i = 0; i < decl.outputs.size(); ++i) {
    if (decl.flow != "elementwise" || entry.outputs[i].has_may_alias) continue;
    decl.outputs[i].may_alias.clear();
    for (const auto& input : decl.inputs) decl.outputs[i].may_alias.push_back(input.name);
  }
  return decl;
}

std::vector<std::string> adt_names(const tenon::manifest::ManifestSet& set) {
  std::vector<std::string> names;
  for (const auto& adt : set.adts) names.push_back(adt.name);
  return names;
}

TEST_SUITE("manifest/shipped_schemas") {
  TEST_CASE("every shipped entry has schemas that pass lint, agree, and are its own") {
    const tenon::manifest::LoadedSet loaded = tenon::manifest::load_shipped();
    REQUIRE_FALSE(loaded.set.entries.empty());
    const std::vector<std::string> adts = adt_names(loaded.set);
    tenon::SchemaContext context;
    context.adt_names = adts;
    std::map<std::string, std::string> owner_by_schema;

    for (const Entry& entry : loaded.set.entries) {
      CAPTURE(entry.decl.name);
      const tenon::BranchSchemas result = tenon::effect_branches(completed(entry), context);
      std::vector<tenon::Schema> out_variants;
      for (std::size_t i = 0; i < result.branches.size(); ++i) {
        CAPTURE(result.reasons[i]);
        const tenon::EffectBranch& branch = result.branches[i];
        REQUIRE_FALSE(branch.schema.empty());
        const tenon::SchemaVerdict verdict = tenon::check_schema(branch.schema, true);
        CHECK(verdict.is_valid());
        CHECK(verdict.lint.empty());
        const auto [owner, is_new] =
            owner_by_schema.emplace(verdict.schema->full_name(), entry.decl.name);
        CHECK_MESSAGE(is_new,
                      (verdict.schema->full_name() + " is a schema of " + owner->second + " too"));
        // A set of written inputs, its out form and the in-place form are variants of one function.
        if (branch.written_inputs.empty() || branch.in_place)
          out_variants.push_back(*verdict.schema);
      }
      CHECK(tenon::check_family(out_variants).empty());
    }
  }

  TEST_CASE("the shipped schemas read as the documentation says") {
    const tenon::manifest::LoadedSet loaded = tenon::manifest::load_shipped();
    std::vector<std::string> schemas;
    for (const char* name : {"AddFwdOp", "RMSNormFwdOp", "SumFwdOp"}) {
      const Entry* entry = loaded.set.find(name);
      REQUIRE(entry != nullptr);
      for (const auto& branch : tenon::effect_branches(completed(*entry)).branches)
        schemas.push_back(branch.schema);
    }

    CHECK(schemas ==
          std::vector<std::string>{
              "tenon::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
              "tenon::add.Tensor_out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) "
              "-> Tensor(a!)",
              "tenon::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
              "tenon::rms_norm_fwd(Tensor x, Tensor? weight=None, *, int[] normalized_shape, "
              "float? eps=None) -> Tensor",
              "tenon::rms_norm_fwd.out(Tensor x, Tensor? weight=None, *, int[] normalized_shape, "
              "float? eps=None, "
              "Tensor(a!) out) -> Tensor(a!)",
              "tenon::sum.dim_IntList(Tensor x, *, int[1]? dim=None, bool keepdim=False) -> Tensor",
              "tenon::sum.dim_IntList_out(Tensor x, *, int[1]? dim=None, bool keepdim=False, "
              "Tensor(a!) out) -> "
              "Tensor(a!)",
          });
  }
}

}  // namespace
