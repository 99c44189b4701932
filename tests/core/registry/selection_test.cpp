// Selection: availability, refusals, precedence and rounds.
#include "registry/selection.hpp"

#include <array>
#include <cstring>

#include <doctest/doctest.h>

#include "core/support/fake_rows.hpp"
#include "registry/precedence.hpp"

using namespace tenon;
using tenon::test::FakePlugin;
using tenon::test::FakeRow;
using tenon::test::refuse_with;

namespace {

// An interface with one number and two arguments; kernel types of several plugins put straight into
// its table.
class Bench {
 public:
  Bench() {
    interface_.name = "scale_fwd";
    interface_.fields.push_back({"n", TENON_VALUE_INT, false, {}, false, "n", {}});
    interface_.args.push_back({"x",
                               ArgSource::kInput,
                               0,
                               TENON_ROLE_IN,
                               {DType::kFloat32, DType::kFloat16},
                               false,
                               false,
                               "[n]",
                               ""});
    interface_.args.push_back({"output",
                               ArgSource::kOutput,
                               0,
                               TENON_ROLE_OUT,
                               {DType::kFloat32, DType::kFloat16},
                               false,
                               false,
                               "[n]",
                               ""});
    interface_.contract_text = contract_text(interface_);
    interface_.contract_hash = contract_hash(interface_);
    facts_ = {tenon_arg_facts{1, TENON_LAYOUT_DENSE, 8, -1, 0, 0},
              tenon_arg_facts{1, TENON_LAYOUT_DENSE, 8, -1, 0, 0}};
    dtypes_ = {to_abi(DType::kFloat32), to_abi(DType::kFloat32)};
    field_ = tenon_value{TENON_VALUE_INT, 0, 0, 4096, 0.0, nullptr};
    DeviceFacts::Fields f;
    f.kind = "fake";
    f.arch = "f2";
    f.runs_archs = {"f2", "f1"};
    device_ = DeviceFacts(f);
  }

  FakeRow& add(const std::string& plugin, const std::string& key) {
    FakePlugin*& p = plugins_[plugin];
    if (p == nullptr) p = &FakePlugin::make(plugin);
    return p->add("ScaleFwdOp", interface_, key);
  }

  // Builds the table anew, in the order of plugin ids or its reverse.
  SelectionResult run(bool backwards = false) {
    table_ = {};
    std::vector<FakePlugin*> order;
    for (auto& [id, p] : plugins_) order.push_back(p);
    if (backwards) std::reverse(order.begin(), order.end());
    for (FakePlugin* p : order) {
      for (const tenon_kernel_type& row : p->abi_rows()) table_.types.push_back(type_of(*p, row));
    }
    std::sort(table_.types.begin(), table_.types.end(), [](const auto& a, const auto& b) {
      return a->qualified < b->qualified;
    });
    order_kernel_types(table_);
    const std::array<std::uint8_t, 2> wide{0, 0};
    report_.clear();
    const std::vector<tenon_value> fields{field_};
    SelectionQuery q{interface_,
                     table_,
                     fields,
                     facts_,
                     dtypes_,
                     wide,
                     DeviceKind::of("fake"),
                     device_,
                     copies_,
                     deterministic_,
                     prefer_,
                     forced_,
                     "test",
                     disabled_};
    return select(q, &report_);
  }

  [[nodiscard]] const CandidateReport& report(const std::string& qualified,
                                              std::uint32_t round = 0) const {
    for (const auto& c : report_) {
      if (c.plugin + ":" + c.key == qualified && (round == 0 || c.round == round)) return c;
    }
    FAIL("no report on ", qualified);
    return report_.front();
  }

  InterfaceDecl interface_;
  std::array<tenon_arg_facts, 2> facts_;
  std::array<tenon_dtype, 2> dtypes_;
  tenon_value field_;
  DeviceFacts device_;
  bool copies_ = true;
  bool deterministic_ = false;
  std::vector<std::string> prefer_;
  std::string forced_;
  std::vector<std::pair<std::string, std::string>> disabled_;
  InterfaceTable table_;
  std::vector<CandidateReport> report_;

 private:
  std::shared_ptr<const KernelType> type_of(FakePlugin& p, const tenon_kernel_type& row) {
    auto t = std::make_shared<KernelType>();
    t->plugin = &p.info();
    t->op = "tenon::ScaleFwdOp";
    t->interface = "scale_fwd";
    t->key.assign(row.key.data, row.key.size_bytes);
    t->qualified = p.info().id + ":" + t->key;
    t->row = row;
    for (std::uint64_t i = 0; i < row.n_devices; ++i)
      t->devices.push_back(DeviceKind::of({row.devices[i].data, row.devices[i].size_bytes}));
    for (std::uint64_t i = 0; i < row.n_archs; ++i)
      t->archs.emplace_back(row.archs[i].data, row.archs[i].size_bytes);
    for (std::uint64_t i = 0; i < row.n_preferred_over; ++i) {
      std::string name(row.preferred_over[i].data, row.preferred_over[i].size_bytes);
      t->preferred_over.push_back(name.find(':') == std::string::npos ? p.info().id + ":" + name
                                                                      : name);
    }
    for (std::uint64_t i = 0; i < row.n_storage; ++i)
      t->dtypes.insert(*dtype_from_abi(row.storage[i].dtype));
    t->contract = match_contract(*row.contract, interface_).value();
    return t;
  }
  std::map<std::string, FakePlugin*> plugins_;
};

std::string winner_of(const SelectionResult& r) {
  return r.winner == nullptr ? "" : r.winner->qualified;
}

}  // namespace

TEST_SUITE("core/registry/selection") {
  TEST_CASE("the only kernel type that serves wins, and the others say why they do not") {
    Bench b;
    b.add("acme", "any");
    b.add("acme", "other_kind").devices = {"cpu"};
    b.add("acme", "other_arch").archs = {"f3"};
    b.add("acme", "other_dtype").dtypes = {DType::kFloat16};
    b.add("acme", "small").refuse =
        [](const tenon_device&, const tenon_call& call, tenon_reason& r) {
          if (call.fields[0].i <= 1024) return TENON_OK;
          r.expected = tenon_value{TENON_VALUE_INT, 0, 0, 1024, 0, nullptr};
          r.actual = call.fields[0];
          return refuse_with(r, TENON_REASON_SIZE, 0, "n", "serves n <= 1024, got 4096");
        };

    const SelectionResult result = b.run();

    CHECK(result.outcome == SelectionOutcome::kChosen);
    CHECK(winner_of(result) == "acme:any");
    CHECK(result.round == 1);
    CHECK(b.report("acme:any").verdict == Verdict::kChosen);
    CHECK(b.report("acme:other_kind").reason.code == TENON_REASON_DEVICE_KIND);
    CHECK(b.report("acme:other_arch").reason.text == "serves arch f3, got f2");
    CHECK(b.report("acme:other_dtype").reason.arg == "x");
    const CandidateReport& small = b.report("acme:small");
    CHECK(small.verdict == Verdict::kRefused);
    CHECK(small.reason.arg == "x");
    CHECK(small.reason.expected == "1024");
    CHECK(small.reason.actual == "4096");
    CHECK(small.reason.text == "serves n <= 1024, got 4096");
  }

  TEST_CASE("D16: of two kernel types for different archs the one that the device runs is taken") {
    Bench b;
    b.add("acme", "new_only").archs = {"f3"};
    b.add("acme", "old_and_new").archs = {"f1", "f3"};

    const SelectionResult result = b.run();

    CHECK(winner_of(result) == "acme:old_and_new");
    CHECK(b.report("acme:new_only").reason.code == TENON_REASON_ARCH);
  }

  TEST_CASE("D23: arch tags compare as whole strings against every tag that the device runs") {
    Bench b;
    b.add("acme", "k").archs = {"gfx942"};
    const auto served = [&](std::vector<std::string> runs) {
      DeviceFacts::Fields f;
      f.kind = "fake";
      f.arch = runs.front();
      f.runs_archs = std::move(runs);
      b.device_ = DeviceFacts(f);
      return b.run().outcome == SelectionOutcome::kChosen;
    };

    CHECK(served({"gfx942"}));
    CHECK(served({"gfx942:sramecc+:xnack-", "gfx942"}));
    CHECK_FALSE(served({"gfx9420"}));
    CHECK_FALSE(served({"gfx942:unknown"}));
  }

  TEST_CASE(
      "D24: an arch that no kernel lists is refused in selection, with the device's and the "
      "kernel's archs") {
    Bench b;
    FakeRow& row = b.add("acme", "k");
    row.archs = {"80", "90"};
    DeviceFacts::Fields f;
    f.kind = "fake";
    f.arch = "70";
    f.runs_archs = {"70"};
    b.device_ = DeviceFacts(f);

    const SelectionResult result = b.run();

    CHECK(result.outcome == SelectionOutcome::kNone);
    CHECK(b.report("acme:k").reason.text == "serves arch 80, 90, got 70");
    CHECK(row.builds == 0);
  }

  TEST_CASE(
      "D18: two unordered ones are ambiguous in both orders, an edge decides, a cycle across "
      "plugins drops its edges") {
    for (const bool backwards : {false, true}) {
      CAPTURE(backwards);
      Bench b;
      b.add("a", "k");
      b.add("b", "k");
      const SelectionResult tie = b.run(backwards);
      CHECK(tie.outcome == SelectionOutcome::kAmbiguous);
      CHECK(tie.tied == std::vector<std::string>{"a:k", "b:k"});
      CHECK(b.report("a:k").with == std::vector<std::string>{"b:k"});

      Bench decided;
      decided.add("a", "k").preferred_over = {"b:k"};
      decided.add("b", "k");
      CHECK(winner_of(decided.run(backwards)) == "a:k");
      CHECK(decided.report("b:k").by == "a:k");

      Bench cycle;
      cycle.add("a", "k").preferred_over = {"b:k"};
      cycle.add("b", "k").preferred_over = {"a:k"};
      CHECK(cycle.run(backwards).outcome == SelectionOutcome::kAmbiguous);
      CHECK(cycle.table_.dropped_edges == std::vector<std::string>{"a:k > b:k", "b:k > a:k"});
    }
  }

  TEST_CASE("a refusal without a code has another reason, in its text as in its code") {
    Bench b;
    b.add("acme", "any");
    b.add("acme", "terse").refuse = [](const tenon_device&, const tenon_call&, tenon_reason&) {
      return TENON_REFUSED;
    };

    const SelectionResult result = b.run();

    CHECK(winner_of(result) == "acme:any");
    CHECK(b.report("acme:terse").reason.code == TENON_REASON_OTHER);
    CHECK(b.report("acme:terse").reason.text == "refused without a text (OTHER)");
  }

  TEST_CASE("a refusal with a code of the host's reads as another reason, by which no copy helps") {
    for (const std::uint32_t code : {TENON_REASON_DTYPE, TENON_REASON_LAYOUT, 15U}) {
      CAPTURE(code);
      static std::uint32_t said = 0;
      said = code;
      Bench b;
      b.add("acme", "any");
      b.add("acme", "liar").refuse = [](const tenon_device&, const tenon_call&, tenon_reason& r) {
        return refuse_with(r, said, 0, "", "no");
      };

      CHECK(winner_of(b.run()) == "acme:any");
      CHECK(b.report("acme:liar").reason.code == TENON_REASON_OTHER);
    }
  }

  TEST_CASE("precedence is transitive, also through keys that are refused or absent") {
    Bench b;
    b.add("a", "first").preferred_over = {"gone:middle"};
    FakeRow& middle = b.add("b", "refused");
    middle.preferred_over = {"c:last"};
    middle.refuse = [](const tenon_device&, const tenon_call&, tenon_reason& r) {
      return refuse_with(r, TENON_REASON_OTHER, -1, "", "no");
    };
    b.add("c", "last");
    b.add("d", "top").preferred_over = {"b:refused", "a:first"};

    const SelectionResult result = b.run();

    CHECK(winner_of(result) == "d:top");
    CHECK(b.report("c:last").by == "d:top");
  }

  TEST_CASE("plugin:* stands for every key of that plugin") {
    Bench b;
    b.add("a", "k").preferred_over = {"b:*"};
    b.add("b", "k1");
    b.add("b", "k2");
    CHECK(winner_of(b.run()) == "a:k");
  }

  TEST_CASE(
      "a general one ranks below every other, whatever it declares, and two generals of two "
      "plugins tie") {
    Bench b;
    FakeRow& general = b.add("a", "general");
    general.flags = TENON_KERNEL_GENERAL;
    general.preferred_over = {"b:special"};
    b.add("b", "special");
    CHECK(winner_of(b.run()) == "b:special");
    CHECK(b.report("a:general").reason.text == "it is general, and a special one serves");

    Bench two;
    two.add("a", "g").flags = TENON_KERNEL_GENERAL;
    two.add("b", "g").flags = TENON_KERNEL_GENERAL;
    CHECK(two.run().outcome == SelectionOutcome::kAmbiguous);
    two.prefer_ = {"nobody", "b"};
    CHECK(winner_of(two.run()) == "b:g");
  }

  TEST_CASE(
      "a strided input goes to a dense kernel through a copy, to the reference without copies") {
    Bench b;
    b.facts_[0].layout = TENON_LAYOUT_STRIDED;
    b.add("acme", "dense");
    FakeRow& reference = b.add("acme", "reference");
    reference.flags = TENON_KERNEL_REFERENCE;
    reference.layouts = TENON_LAYOUTS_ALL;

    const SelectionResult copied = b.run();
    CHECK(winner_of(copied) == "acme:dense");
    CHECK(copied.round == 2);
    CHECK(copied.copied_args == 1u);
    CHECK(b.report("acme:dense", 1).reason.text == "serves layout of x dense, got strided");
    CHECK(b.report("acme:dense", 2).copies == std::vector<std::string>{"x"});
    CHECK(b.report("acme:reference").verdict == Verdict::kOutranked);

    b.copies_ = false;
    const SelectionResult without = b.run();
    CHECK(winner_of(without) == "acme:reference");
    CHECK(without.round == 3);
    CHECK(without.copied_args == 0u);
  }

  TEST_CASE("a kernel that takes the layout wins in round 1, so nothing is copied") {
    Bench b;
    b.facts_[0].layout = TENON_LAYOUT_STRIDED;
    b.add("acme", "dense").preferred_over = {"strided"};
    b.add("acme", "strided").layouts = TENON_LAYOUT_BIT(TENON_LAYOUT_STRIDED);
    const SelectionResult result = b.run();
    CHECK(winner_of(result) == "acme:strided");
    CHECK(result.round == 1);
  }

  TEST_CASE("an argument refused for its alignment is copied in round 2, and only that one") {
    Bench b;
    b.facts_[0].align_log2 = 1;
    b.add("acme", "vector").refuse =
        [](const tenon_device&, const tenon_call& call, tenon_reason& r) {
          return call.args[0].align_log2 >= 4
                     ? TENON_OK
                     : refuse_with(
                           r, TENON_REASON_ALIGNMENT, 0, "alignment", "needs 16-byte alignment");
        };
    const SelectionResult result = b.run();
    CHECK(winner_of(result) == "acme:vector");
    CHECK(result.round == 2);
    CHECK(result.copied_args == 1u);
    CHECK(b.report("acme:vector", 1).reason.code == TENON_REASON_ALIGNMENT);
  }

  TEST_CASE("a refusal for another reason is not asked again on copies") {
    Bench b;
    b.facts_[0].layout = TENON_LAYOUT_STRIDED;
    FakeRow& row = b.add("acme", "k");
    row.layouts = TENON_LAYOUTS_ALL;
    row.refuse = [](const tenon_device&, const tenon_call&, tenon_reason& r) {
      return refuse_with(r, TENON_REASON_SIZE, -1, "n", "too large");
    };
    CHECK(b.run().outcome == SelectionOutcome::kNone);
    CHECK(row.refuses == 1);
  }

  TEST_CASE("determinism that is required makes undeclared kernel types unavailable") {
    Bench b;
    b.add("acme", "fast").preferred_over = {"exact"};
    b.add("acme", "exact").flags = TENON_KERNEL_DETERMINISTIC;
    CHECK(winner_of(b.run()) == "acme:fast");
    b.deterministic_ = true;
    CHECK(winner_of(b.run()) == "acme:exact");
    CHECK(b.report("acme:fast").reason.code == TENON_REASON_DETERMINISM);
  }

  TEST_CASE("a forced key is the only one considered, also a reference, and its refusal stands") {
    Bench b;
    b.add("acme", "best");
    b.add("acme", "reference").flags = TENON_KERNEL_REFERENCE;
    b.add("acme", "never").refuse = [](const tenon_device&, const tenon_call&, tenon_reason& r) {
      return refuse_with(r, TENON_REASON_VALUE, -1, "n", "never serves");
    };
    b.forced_ = "acme:reference";
    CHECK(winner_of(b.run()) == "acme:reference");
    CHECK(b.report("acme:best").reason.text == "overridden by test");
    b.forced_ = "acme:never";
    CHECK(b.run().outcome == SelectionOutcome::kNone);
    CHECK(b.report("acme:never").reason.text == "never serves");
  }

  TEST_CASE("a disabled key is left out and says which setting did it") {
    Bench b;
    b.add("acme", "best").preferred_over = {"rest"};
    b.add("acme", "rest");
    b.disabled_ = {{"acme:best", "tenon.yaml:7"}};
    CHECK(winner_of(b.run()) == "acme:rest");
    CHECK(b.report("acme:best").verdict == Verdict::kDisabled);
    CHECK(b.report("acme:best").reason.text == "disabled by tenon.yaml:7");
  }

  TEST_CASE("no key for the device kind at all is told apart from keys that refuse") {
    Bench b;
    b.add("acme", "k").devices = {"cpu"};
    CHECK(b.run().outcome == SelectionOutcome::kNoneForDevice);
  }

  TEST_CASE("a refuse function that fails is no refusal: its status is in the text") {
    Bench b;
    b.add("acme", "broken").refuse = [](const tenon_device&, const tenon_call&, tenon_reason&) {
      return TENON_INTERNAL;
    };
    CHECK(b.run().outcome == SelectionOutcome::kNone);
    CHECK(b.report("acme:broken").reason.text == "refuse failed: INTERNAL");
    REQUIRE_FALSE(b.run().failed.empty());
    CHECK(b.run().failed.front().first->qualified == "acme:broken");
    CHECK(b.run().failed.front().second == "INTERNAL");
  }

  TEST_CASE("facts tell layout, alignment and width apart") {
    alignas(256) static std::array<float, 64> memory{};
    const auto layout = [&](Dims shape, Dims strides) {
      return facts_of(TensorView(memory.data() + 32, DType::kFloat32, shape, strides)).layout;
    };
    CHECK(layout({4, 4}, {4, 1}) == TENON_LAYOUT_DENSE);
    CHECK(layout({4, 1, 4}, {4, 99, 1}) == TENON_LAYOUT_DENSE);
    CHECK(layout({4, 4}, {8, 1}) == TENON_LAYOUT_INNER);
    CHECK(layout({4, 4}, {1, 4}) == TENON_LAYOUT_STRIDED);
    CHECK(layout({4, 4}, {0, 1}) == TENON_LAYOUT_EXPANDED);
    CHECK(layout({4, 4}, {4, -1}) == TENON_LAYOUT_REVERSED);
    CHECK(layout({4, 4}, {0, -1}) == TENON_LAYOUT_REVERSED);
    CHECK(layout({0, 4}, {0, -1}) == TENON_LAYOUT_DENSE);
    CHECK(layout({}, {}) == TENON_LAYOUT_DENSE);
    CHECK(facts_of(TensorView(memory.data(), DType::kFloat32, Dims{4})).align_log2 == 8);
    CHECK(facts_of(TensorView(memory.data() + 1, DType::kFloat32, Dims{4})).align_log2 == 2);
    CHECK(facts_of(TensorView(memory.data(), DType::kInt8, Dims{std::int64_t{1} << 31})).wide == 0);
    CHECK(
        facts_of(TensorView(memory.data(), DType::kInt8, Dims{(std::int64_t{1} << 31) + 1})).wide ==
        1);
  }
}
