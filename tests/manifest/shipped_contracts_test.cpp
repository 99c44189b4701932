// The contracts of the shipped manifest: generated headers, compiled plans and the host's matcher
// agree.
#include <doctest/doctest.h>

#include "tenon/contracts/elementwise.h"
#include "tenon/contracts/norm.h"
#include "tenon/contracts/reduction.h"
#include "tenon/core/contract.hpp"
#include "tenon/core/plan.hpp"
#include "tenon/manifest/compile.hpp"
#include "tenon/manifest/reader.hpp"

extern "C" const tenon_contract* tenon_test_rms_norm_contract(void);

namespace {

tenon::InterfaceDecl interface_of(std::string_view op) {
  auto loaded = tenon::manifest::load_shipped();
  const auto* entry = loaded.set.find(op);
  REQUIRE(entry != nullptr);
  const auto plan = tenon::manifest::compile(*entry, loaded.set.adts, loaded.diagnostics);
  REQUIRE_MESSAGE(plan != nullptr, loaded.diagnostics.to_text());
  return plan->decl().interfaces.at(0);
}

void check_exact(const tenon_contract& contract, std::string_view op) {
  const tenon::InterfaceDecl host = interface_of(op);
  CHECK(tenon::contract_text(contract) == tenon::contract_text(host));
  CHECK(contract.hash == host.contract_hash);
  const auto match = tenon::match_contract(contract, host);
  REQUIRE(match.has_value());
  CHECK(match->exact());
}

}  // namespace

TEST_SUITE("manifest/shipped_contracts") {
  TEST_CASE("a plugin built with the generated headers is accepted by its hash") {
    check_exact(tenon::contracts::rms_norm_fwd::Call::contract(), "RMSNormFwdOp");
    check_exact(tenon::contracts::add_fwd::Call::contract(), "AddFwdOp");
    check_exact(tenon::contracts::gelu_fwd::Call::contract(), "GeluFwdOp");
    check_exact(tenon::contracts::sum_fwd::Call::contract(), "SumFwdOp");
    check_exact(*tenon_test_rms_norm_contract(), "RMSNormFwdOp");
  }

  TEST_CASE("a call is read into the struct that the header gives") {
    tenon_value fields[5] = {};
    fields[0] = {TENON_VALUE_INT, 0, 0, 8, 0, nullptr};
    fields[1] = {TENON_VALUE_INT, 0, 0, 16, 0, nullptr};
    fields[3] = {TENON_VALUE_DTYPE, 0, 0, tenon::kBFloat16.id(), 0, nullptr};
    fields[4] = {TENON_VALUE_BOOL, 0, 0, 1, 0, nullptr};
    const tenon_call raw{sizeof(tenon_call), fields, 5, nullptr, 0};

    const auto call = tenon::contracts::rms_norm_fwd::Call::from(raw);

    CHECK(call.m == 8);
    CHECK(call.n == 16);
    CHECK_FALSE(call.eps.has_value());
    CHECK(call.dtype == tenon::kBFloat16);
    CHECK(call.affine);
    CHECK(tenon::contracts::rms_norm_fwd::kArgWeight == 1);
  }
}
