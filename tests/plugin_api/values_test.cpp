// The readers that generated contracts use: right kinds, wrong kinds, missing fields.
#include "tenon/plugin/values.hpp"

#include <limits>
#include <string>

#include <doctest/doctest.h>

namespace {

tenon_value int_value(std::int64_t i) { return {TENON_VALUE_INT, 0, 0, i, 0, nullptr}; }
tenon_value float_value(double f) { return {TENON_VALUE_FLOAT, 0, 0, 0, f, nullptr}; }
tenon_value text_value(std::string_view text) {
  return {TENON_VALUE_STR, 0, text.size(), 0, 0, text.data()};
}

enum class Approximate { kNone, kTanh };
constexpr std::string_view kApproximate[] = {"none", "tanh"};

std::string failure_of(const tenon_call& call, void (*body)(const tenon_call&)) {
  try {
    body(call);
  } catch (const tenon::Failure& failure) {
    return failure.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_SUITE("plugin_api/values") {
  TEST_CASE("each kind of field is read as its C++ type") {
    const std::int64_t ints[] = {2, 3};
    const double floats[] = {0.5};
    const tenon_value nested[] = {text_value("Pad"), int_value(4)};
    const tenon_value fields[] = {
        {TENON_VALUE_BOOL, 0, 0, 1, 0, nullptr},
        int_value(-7),
        float_value(2.5),
        {TENON_VALUE_DTYPE, 0, 0, static_cast<std::int64_t>(tenon::kBFloat16.id()), 0, nullptr},
        text_value("abc"),
        {TENON_VALUE_INTS, 0, 2, 0, 0, ints},
        {TENON_VALUE_FLOATS, 0, 1, 0, 0, floats},
        {TENON_VALUE_LIST, 0, 2, 0, 0, nested},
        tenon_value{},
    };
    const tenon_call call{sizeof(tenon_call), fields, 9, nullptr, 0};

    CHECK(tenon::read<bool>(call, 0, "b"));
    CHECK(tenon::read<std::int64_t>(call, 1, "i") == -7);
    CHECK(tenon::read<double>(call, 2, "f") == 2.5);
    CHECK(tenon::read<double>(call, 1, "an int where a float is meant") == -7.0);
    CHECK(tenon::read<tenon::Number>(call, 1, "n").is_int());
    CHECK_FALSE(tenon::read<tenon::Number>(call, 2, "n").is_int());
    CHECK(tenon::read<tenon::ElementType>(call, 3, "t") == tenon::kBFloat16);
    CHECK(tenon::read<std::string_view>(call, 4, "s") == "abc");
    CHECK(tenon::read<tenon::Span<const std::int64_t>>(call, 5, "is") ==
          tenon::Span<const std::int64_t>(ints));
    CHECK(tenon::read<tenon::Span<const double>>(call, 6, "fs").size() == 1);
    const auto adt = tenon::read<tenon::AnyValue>(call, 7, "adt");
    CHECK(adt.size() == 2);
    CHECK(adt[0].as<std::string_view>() == "Pad");
    CHECK(adt[1].as<std::int64_t>() == 4);
    CHECK(adt[2].is_none());
    CHECK_FALSE(tenon::read<std::optional<bool>>(call, 8, "o").has_value());
    CHECK(tenon::read<std::optional<std::int64_t>>(call, 1, "o") == -7);
  }

  TEST_CASE("a field of another kind is refused with its name and both kinds") {
    const tenon_value fields[] = {int_value(4)};
    const tenon_call call{sizeof(tenon_call), fields, 1, nullptr, 0};

    const std::string text =
        failure_of(call, [](const tenon_call& c) { (void)tenon::read<bool>(c, 0, "affine"); });

    CHECK(text == "field 'affine' is int, the plugin's contract says bool");
  }

  TEST_CASE("a field beyond the call's end is refused with its name") {
    const tenon_call call{sizeof(tenon_call), nullptr, 0, nullptr, 0};

    const std::string text =
        failure_of(call, [](const tenon_call& c) { (void)tenon::read<std::int64_t>(c, 2, "n"); });

    CHECK(text == "the call has no field 2 ('n')");
  }

  TEST_CASE("an enum field becomes its enumerator, and a text that is no member is refused") {
    const tenon_value fields[] = {text_value("tanh"), text_value("erf"), tenon_value{}};
    const tenon_call call{sizeof(tenon_call), fields, 3, nullptr, 0};

    CHECK(tenon::read_enum<Approximate>(call, 0, "approximate", kApproximate) ==
          Approximate::kTanh);
    CHECK_FALSE(
        tenon::read_optional_enum<Approximate>(call, 2, "approximate", kApproximate).has_value());
    const std::string text = failure_of(call, [](const tenon_call& c) {
      (void)tenon::read_enum<Approximate>(c, 1, "approximate", kApproximate);
    });
    CHECK(text == "field 'approximate' is 'erf', which the plugin's contract does not list");
  }

  TEST_CASE("an element type survives the way through its number") {
    for (const tenon::ElementType type :
         {tenon::kBool, tenon::kInt64, tenon::kFloat8E4M3FN, tenon::kComplex128}) {
      CHECK(tenon::ElementType::from_id(type.id()) == type);
      CHECK(type.name() != "unknown");
    }
    CHECK(tenon::ElementType(3, 7).name() == "unknown");
    CHECK(tenon::kBFloat16.is_floating());
    CHECK_FALSE(tenon::kInt32.is_floating());
  }

  TEST_CASE("text that does not fit is cut before a UTF-8 character, never inside one") {
    char out[6];

    tenon::copy_text(
        out,
        sizeof(out),
        "abcd\xc3\xa9");  // the e with an accent needs bytes 4 and 5, and the end one more

    CHECK(std::string(out) == "abcd");
  }

  TEST_CASE("a failure keeps its status and text, and cannot claim success or a refusal") {
    CHECK(tenon::Failure(TENON_DEVICE, "x").status() == TENON_DEVICE);
    CHECK(tenon::Failure(TENON_OK, "x").status() == TENON_INTERNAL);
    CHECK(tenon::Failure(TENON_REFUSED, "x").status() == TENON_INTERNAL);
    CHECK(std::string(tenon::Failure(TENON_IO, std::string(1000, 'a')).what()).size() == 255);
  }
}
