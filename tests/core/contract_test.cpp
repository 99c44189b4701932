// Contracts: canonical text, hash, and what a plugin built against another one is told.
#include "tenon/core/contract.hpp"

#include <array>
#include <string>

#include <doctest/doctest.h>

using tenon::ContractMatch;
using tenon::DType;
using tenon::InterfaceDecl;

namespace {

tenon_str str(const char* s) { return {s, std::char_traits<char>::length(s)}; }

/// The host's interface: m, mode (an enum), eps (optional), fused (with a default); x, weight
/// (optional), y.
InterfaceDecl host() {
  InterfaceDecl h;
  h.name = "norm_fwd";
  h.fields.resize(4);
  h.fields[0].name = "m";
  h.fields[0].kind = TENON_VALUE_INT;
  h.fields[1].name = "mode";
  h.fields[1].kind = TENON_FIELD_ENUM;
  h.fields[1].members = {"tanh", "none"};
  h.fields[2].name = "eps";
  h.fields[2].kind = TENON_VALUE_FLOAT;
  h.fields[2].optional = true;
  h.fields[3].name = "fused";
  h.fields[3].kind = TENON_VALUE_BOOL;
  h.fields[3].default_value = tenon::Value(false);
  h.args.resize(3);
  h.args[0].name = "x";
  h.args[0].dtypes = {DType::kFloat32, DType::kFloat16};
  h.args[1].name = "weight";
  h.args[1].dtypes = {DType::kFloat32};
  h.args[1].optional = true;
  h.args[2].name = "y";
  h.args[2].role = TENON_ROLE_OUT;
  h.args[2].dtypes = {DType::kFloat32, DType::kFloat16};
  return h;
}

/// A plugin's contract with its own memory: the same as the host's until a test edits it.
struct Plugin {
  std::array<tenon_str, 2> modes{str("none"), str("tanh")};
  std::array<tenon_dtype, 2> floats{tenon_dtype{2, 16, 1}, tenon_dtype{2, 32, 1}};
  std::vector<tenon_field> fields{{str("m"), TENON_VALUE_INT, 0, nullptr, 0},
                                  {str("mode"), TENON_FIELD_ENUM, 0, modes.data(), 2},
                                  {str("eps"), TENON_VALUE_FLOAT, TENON_FIELD_OPTIONAL, nullptr, 0},
                                  {str("fused"), TENON_VALUE_BOOL, 0, nullptr, 0}};
  std::vector<tenon_arg> args{
      {str("x"), floats.data(), 2, TENON_ROLE_IN, 0},
      {str("weight"), floats.data() + 1, 1, TENON_ROLE_IN, TENON_ARG_OPTIONAL},
      {str("y"), floats.data(), 2, TENON_ROLE_OUT, 0}};
  std::uint64_t hash = 1;

  [[nodiscard]] tenon_contract contract() const {
    return {sizeof(tenon_contract), hash, fields.data(), fields.size(), args.data(), args.size()};
  }
};

/// One call in the host's order: m 8, mode none, eps none, fused false; x f32, no weight, y f32.
struct Call {
  std::array<tenon_value, 4> fields{};
  std::array<tenon_arg_facts, 3> args{};
  std::array<tenon_dtype, 3> dtypes{
      tenon_dtype{2, 32, 1}, tenon_dtype{2, 32, 1}, tenon_dtype{2, 32, 1}};
  Call() {
    fields[0] = {TENON_VALUE_INT, 0, 0, 8, 0, nullptr};
    set_mode("none");
    fields[3] = {TENON_VALUE_BOOL, 0, 0, 0, 0, nullptr};
    args[0].present = args[2].present = 1;
    args[0].alias_of = args[1].alias_of = args[2].alias_of = -1;
  }
  void set_mode(const char* mode) {
    fields[1] = {TENON_VALUE_STR, 0, std::char_traits<char>::length(mode), 0, 0, mode};
  }
};

ContractMatch matched(const Plugin& plugin) {
  auto match = tenon::match_contract(plugin.contract(), host());
  REQUIRE_MESSAGE(match.has_value(), (match ? "" : match.error().message()));
  return *match;
}

std::string rejected(const Plugin& plugin) {
  const auto match = tenon::match_contract(plugin.contract(), host());
  REQUIRE_FALSE(match.has_value());
  CHECK(match.error().code() == tenon::ErrorCode::kPluginRejected);
  return match.error().message();
}

std::string newer(const ContractMatch& match, const Call& call) {
  const auto found = match.newer(host(), call.fields, call.args, call.dtypes);
  return found ? found->attribute + ": " + found->text : "";
}

}  // namespace

TEST_SUITE("core/contract") {
  TEST_CASE("FNV-1a gives the published values") {
    CHECK(tenon::fnv1a64("") == 0xcbf29ce484222325ull);
    CHECK(tenon::fnv1a64("a") == 0xaf63dc4c8601ec8cull);
    CHECK(tenon::fnv1a64("foobar") == 0x85944171f73967e8ull);
  }

  TEST_CASE("the canonical text of a declaration and of a plugin's data are the same") {
    const std::string text = tenon::contract_text(host());

    CHECK(text ==
          "tenon contract 1\n"
          "field m int\n"
          "field mode enum none|tanh\n"
          "field eps float optional\n"
          "field fused bool\n"
          "arg x in float16|float32\n"
          "arg weight in optional float32\n"
          "arg y out float16|float32\n");
    CHECK(tenon::contract_text(Plugin().contract()) == text);
    CHECK(tenon::contract_hash(host()) == tenon::fnv1a64(text));
  }

  TEST_CASE("an equal hash needs no comparison") {
    Plugin plugin;
    plugin.hash = tenon::contract_hash(host());

    const ContractMatch match = matched(plugin);

    CHECK(match.exact());
    CHECK(match.fields().size() == 4);
    Call call;
    call.fields[3].i = 1;
    CHECK(newer(match, call).empty());
  }

  TEST_CASE("an equal hash with other counts is compared field by field") {
    Plugin plugin;
    plugin.hash = tenon::contract_hash(host());
    plugin.fields.pop_back();

    const ContractMatch match = matched(plugin);

    CHECK_FALSE(match.exact());
    CHECK(match.fields().size() == 3);
  }

  TEST_CASE("a listed field that is gone or of another kind rejects the row by its name") {
    Plugin gone;
    gone.fields.push_back({str("lda"), TENON_VALUE_INT, 0, nullptr, 0});
    CHECK(rejected(gone) ==
          "interface 'norm_fwd' has no call field 'lda', which the plugin's contract lists");

    Plugin retyped;
    retyped.fields[0].kind = TENON_VALUE_FLOAT;
    CHECK(rejected(retyped) ==
          "call field 'm' of interface 'norm_fwd' is of kind int here and of kind float in the "
          "plugin's contract");

    Plugin member;
    member.modes[0] = str("sigmoid");
    CHECK(rejected(member) ==
          "call field 'mode' of interface 'norm_fwd' has no member 'sigmoid', which the plugin's "
          "contract lists");

    Plugin twice;
    twice.fields[3] = twice.fields[0];
    CHECK(rejected(twice) ==
          "the plugin's contract for interface 'norm_fwd' lists call field 'm' twice");
  }

  TEST_CASE(
      "a listed argument that is gone, of another role or form, or of a dtype never passed rejects "
      "the row") {
    Plugin gone;
    gone.args[1].name = str("bias");
    CHECK(rejected(gone) ==
          "interface 'norm_fwd' has no argument 'bias', which the plugin's contract lists");

    Plugin role;
    role.args[2].role = TENON_ROLE_INOUT;
    CHECK(rejected(role) ==
          "argument 'y' of interface 'norm_fwd' has the role 'out' here and 'inout' in the "
          "plugin's contract");

    Plugin list;
    list.args[0].flags = TENON_ARG_LIST;
    CHECK(rejected(list) ==
          "argument 'x' of interface 'norm_fwd' is one tensor here and a list of tensors in the "
          "plugin's contract");

    Plugin dtype;
    dtype.floats[0] = {2, 64, 1};
    CHECK(
        rejected(dtype) ==
        "argument 'x' of interface 'norm_fwd' is never float64, which the plugin's contract lists");
  }

  TEST_CASE("what only the host has must be optional or have a default") {
    Plugin field;
    field.fields.erase(field.fields.begin());
    CHECK(rejected(field) ==
          "call field 'm' of interface 'norm_fwd' is required, and the plugin's contract does not "
          "list it");

    Plugin arg;
    arg.args.erase(arg.args.begin());
    CHECK(rejected(arg) ==
          "argument 'x' of interface 'norm_fwd' is required, and the plugin's contract does not "
          "list it");
  }

  TEST_CASE("a contract with null tables is refused, not read") {
    tenon_contract broken = Plugin().contract();
    broken.fields = nullptr;

    const auto match = tenon::match_contract(broken, host());

    REQUIRE_FALSE(match.has_value());
    CHECK(match.error().message() ==
          "the contract for interface 'norm_fwd' is malformed: its fields are null though it "
          "counts some");
  }

  TEST_CASE("a call is too new exactly where it uses what the plugin does not list") {
    Plugin older;  // no eps, no fused, no weight, float16 unknown, mode without tanh
    older.fields.resize(2);
    older.fields[1].n_values = 1;
    older.args.erase(older.args.begin() + 1);
    older.args[0] = {str("x"), older.floats.data() + 1, 1, TENON_ROLE_IN, 0};
    const ContractMatch match = matched(older);

    CHECK(newer(match, Call()).empty());

    Call eps;
    eps.fields[2] = {TENON_VALUE_FLOAT, 0, 0, 0, 1e-6, nullptr};
    CHECK(newer(match, eps) ==
          "eps: the plugin's contract has no field 'eps', and this call does not leave it at None");
    Call fused;
    fused.fields[3].i = 1;
    CHECK(newer(match, fused) ==
          "fused: the plugin's contract has no field 'fused', and this call does not leave it at "
          "false");
    Call mode;
    mode.set_mode("tanh");
    CHECK(newer(match, mode) == "mode: the plugin's contract has no member 'tanh' in field 'mode'");
    Call weight;
    weight.args[1].present = 1;
    CHECK(newer(match, weight) ==
          "weight: the plugin's contract has no argument 'weight', which this call passes");
    Call half;
    half.dtypes[0] = {2, 16, 1};
    CHECK(newer(match, half) == "x: the plugin's contract does not list float16 for argument 'x'");
  }

  TEST_CASE("what has become optional is too new only where it is left out") {
    Plugin plugin;
    plugin.fields[2].flags = 0;
    plugin.args[1].flags = 0;
    const ContractMatch match = matched(plugin);
    Call none;
    Call both;
    both.fields[2] = {TENON_VALUE_FLOAT, 0, 0, 0, 1e-6, nullptr};
    both.args[1].present = 1;

    CHECK(
        newer(match, none) ==
        "eps: the plugin's contract does not list field 'eps' as optional, and this call has none");
    CHECK(newer(match, both).empty());
    both.args[1].present = 0;
    CHECK(newer(match, both) ==
          "weight: the plugin's contract does not list argument 'weight' as optional, and this "
          "call leaves it out");
  }

  TEST_CASE("fields and arguments reach the plugin in its own order") {
    Plugin plugin;
    std::swap(plugin.fields[0], plugin.fields[3]);
    plugin.args.erase(plugin.args.begin() + 1);
    const ContractMatch match = matched(plugin);
    Call call;
    call.args[2].alias_of = 0;
    call.args[0].align_log2 = 4;
    std::array<tenon_value, 4> fields{};
    std::array<tenon_arg_facts, 2> args{};

    match.project(call.fields, call.args, fields, args);

    CHECK(fields[3].i == 8);
    CHECK(fields[0].kind == TENON_VALUE_BOOL);
    CHECK(args[0].align_log2 == 4);
    CHECK(args[1].alias_of == 0);
  }
}
