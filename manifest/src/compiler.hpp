// The compiler's state: one entry on its way from text to plan data.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/signature/evaluate.hpp"
#include "tenon/core/signature/plan_data.hpp"
#include "tenon/core/signature/specialise.hpp"
#include "tenon/manifest/compile.hpp"
#include "tenon/manifest/expr.hpp"
#include "tenon/manifest/kinds.hpp"

namespace tenon::manifest {

/// What an expression may read, and how diagnostics call its place.
struct ExprScope {
  std::string field;                 ///< "signature.inputs.x.shape"
  std::vector<std::string> formals;  ///< a family's, a call's fields, a constructor's fields
  std::vector<Kind> formal_kinds;
  bool formals_only = false;         ///< nothing but formals and, in families, other families
  bool values = false;               ///< parameters that are only Values may be read
  bool bytes = false;                ///< bytes(t) may be called
  bool dtype_names = false;          ///< registered dtypes may stand as bare names
  bool generator_arguments = false;  ///< Seq[Int] indices may be read
};

class Compiler {
 public:
  Compiler(const Entry& entry, const Adts& adts, DiagnosticList& diagnostics)
      : entry_(entry), adt_decls_(adts), diagnostics_(diagnostics) {}

  std::optional<signature::PlanData> run();

 private:
  using TextExpr = signature::TextExpr;
  using Expr = signature::Expr;

  // compile.cpp: from declarations to resolved expressions
  void declare_adts();
  void declare_symbols();
  void declare_params();
  void declare_families();
  void declare_tensors();
  void declare_lets();
  void declare_refinements();
  void declare_metadata();  // compile_metadata.cpp
  void declare_combos();
  void declare_roofline();  // compile_roofline.cpp
  void check_list_counts();
  void check_device_param();
  void declare_discriminants();
  void check_kinds();
  void check_tensor_kinds(const signature::TensorData& tensor,
                          const TensorDecl& decl,
                          const TensorEntry& source,
                          const std::string& field);
  /// The shape of a list is written for its element i.
  static ExprScope list_scope(const TensorDecl& decl, ExprScope scope);
  void check_patterns(const FamilyDecl& decl,
                      std::size_t place,
                      const Kind& kind,
                      const std::string& field);
  void check_family_cycles();
  void let_kinds();
  void fill_may_alias();
  void fill_dtypes();
  [[nodiscard]] signature::ParamType param_type(const TypeText& text);
  [[nodiscard]] Kind formal_kind(const TypeText& text) const;

  // resolve.cpp
  TextExpr expression(const Text& text, Grammar grammar, const ExprScope& scope);
  Expr resolve(const signature::Pool& from, Expr e, const Text& text, const ExprScope& scope);
  signature::MetadataCall metadata_call(const Text& text,
                                        std::uint32_t tensor,
                                        bool predicate,
                                        const std::string& field);
  Expr resolve_name(const signature::Pool& from, Expr e, const Text& text, const ExprScope& scope);
  Expr resolve_attribute(const signature::Pool& from,
                         Expr e,
                         const Text& text,
                         const ExprScope& scope);
  Expr resolve_call(const signature::Pool& from, Expr e, const Text& text, const ExprScope& scope);
  Expr resolve_presence(
      const signature::Pool& from, Expr e, const Text& text, const ExprScope& scope, bool bytes);
  Expr resolve_primitive(const signature::Pool& from,
                         Expr e,
                         std::uint32_t primitive,
                         const Text& text,
                         const ExprScope& scope);
  Expr resolve_family(const signature::Pool& from,
                      Expr e,
                      const Text& text,
                      const ExprScope& scope);
  [[nodiscard]] std::vector<std::string> known_names(const ExprScope& scope) const;

  // compile_points.cpp
  void check_points();
  struct Groups {
    std::vector<std::vector<std::size_t>> axes;  ///< discriminants of each group
  };
  [[nodiscard]] Groups group_discriminants() const;
  void check_point(const signature::Choices& choices);
  void check_branch_kinds(const signature::Branch& branch);
  void check_branch_combos(const signature::Branch& branch);
  void check_branch_roofline(const signature::Branch& branch);
  void check_branch_metadata(const signature::Branch& branch);  // compile_metadata.cpp
  void check_term_metadata(const signature::Branch& branch,
                           const signature::TensorTerm& term,
                           const char* section);
  void check_requirement(const signature::Branch& branch,
                         const signature::TensorTerm& term,
                         const signature::MetadataCall& call,
                         const std::string& place);
  /// "at trans_a=true, bias absent"
  [[nodiscard]] std::string describe(const signature::Choices& choices) const;
  [[nodiscard]] bool accepted(const signature::Choices& choices) const;

  // compile_interfaces.cpp
  void declare_interfaces();
  void declare_field(const InterfaceEntry& source,
                     const CallFieldEntry& field,
                     InterfaceDecl& decl,
                     signature::InterfaceData& data,
                     std::vector<Kind>& kinds);
  void declare_temporary(const ArgEntry& entry,
                         const std::string& field,
                         InterfaceArgDecl& arg,
                         signature::ArgData& arg_data);
  void declare_arg(const InterfaceEntry& source,
                   const ArgEntry& arg,
                   InterfaceDecl& decl,
                   signature::InterfaceData& data,
                   const std::vector<Kind>& kinds);
  /// Exactly one interface per step is active, at most one in an optional step, whatever the
  /// payloads are.
  void check_interfaces(const signature::Branch& branch);
  bool check_step(signature::Env& env,
                  const std::vector<Expr>& conditions,
                  std::uint32_t step,
                  const std::string& where);
  [[nodiscard]] std::vector<Value> payload_values(std::uint32_t s) const;
  bool field_kind(const Kind& kind, Expr e, CallFieldDecl& field);
  [[nodiscard]] std::uint32_t value_kind(Expr e) const;
  void make_branches();

  // Reporting
  Diagnostic& report(const SourceLocation& where,
                     const std::string& field,
                     std::string rule,
                     std::string text);
  KindChecker checker(const Text& text, const ExprScope& scope);

  const Entry& entry_;
  const Adts& adt_decls_;
  DiagnosticList& diagnostics_;
  signature::PlanData data_;
  std::map<std::string, std::uint32_t, std::less<>> symbol_by_name_;
  std::map<std::string, std::uint32_t, std::less<>> family_by_name_;
  std::map<std::string, std::int32_t, std::less<>> adt_by_name_;
  std::vector<Kind> symbol_kinds_;
  std::vector<std::vector<Kind>> family_formals_;
  std::vector<bool> family_applied_;
  bool failed_ = false;
  std::vector<std::vector<std::uint32_t>> written_sets_;  ///< that occur at accepted points
  std::size_t accepted_points_ = 0;
  std::set<std::string> said_at_points_;  ///< faults of points that were reported at an earlier one
  Diagnostic repeated_;                   ///< takes the words of a fault that was reported before
};

}  // namespace tenon::manifest
