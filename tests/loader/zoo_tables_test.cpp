// The zoo of bad plugins, second part: one wrong field of one table each (zoo/bad.c).
#include <string>

#include <doctest/doctest.h>

#include "zoo/beside_good.hpp"
#include "zoo/faults.h"

namespace tenon {
namespace {

struct Case {
  int fault;
  tenon_status code;
  const char* part;  // of the reason
};

constexpr Case kTables[] = {
    {BAD_ENUMERATE_NULL, TENON_INVALID_ARGUMENT, "tenon_plugin.enumerate is missing"},
    {BAD_ID_GRAMMAR, TENON_INVALID_ARGUMENT, "'Bad_Plugin' is not of the form"},
    {BAD_ID_NULL_POINTER, TENON_INVALID_ARGUMENT, "tenon_plugin.id is a null pointer"},
    {BAD_VENDOR_TOO_LONG, TENON_INVALID_ARGUMENT, "tenon_plugin.vendor is a text of 8192 bytes"},
    {BAD_MANIFEST_NO_YAML, TENON_INVALID_ARGUMENT, "manifest"},
    {BAD_MANIFEST_OF_THE_CORE, TENON_INVALID_ARGUMENT, "AddFwdOp"},
    {BAD_NEEDS_NULL, TENON_INVALID_ARGUMENT, "tenon_plugin.needs_kinds: 3 rows at a null pointer"},
    {BAD_NEEDS_TOO_MANY, TENON_INVALID_ARGUMENT, "at most 1024"},
    {BAD_NEEDS_NOT_UTF8, TENON_INVALID_ARGUMENT, "tenon_plugin.needs_kinds[0] is not UTF-8"},
    {BAD_OPTION_KIND, TENON_INVALID_ARGUMENT, "tenon_plugin.options[0] needs"},
    {BAD_OPTION_DEFAULT_KIND, TENON_INVALID_ARGUMENT, "a default of that kind"},
    {BAD_OPTION_WITHOUT_NAME, TENON_INVALID_ARGUMENT, "tenon_plugin.options[0] needs a name"},
    {BAD_OPTION_TEXT_NULL, TENON_INVALID_ARGUMENT, "options[0].default_value"},
    {BAD_MIN_HOST_MINOR, TENON_INCOMPATIBLE, "disagree: min_host_minor"},
    {BAD_ABI_MINOR, TENON_INCOMPATIBLE, "disagree: abi_minor"},
    {BAD_EMPTY_OP, TENON_INVALID_ARGUMENT, "a kernel type's op is empty"},
    {BAD_EMPTY_INTERFACE, TENON_INVALID_ARGUMENT, "a kernel type's interface is empty"},
    {BAD_KEY_CHARACTER, TENON_INVALID_ARGUMENT, "'a key' has the character ' '"},
    {BAD_KEY_TOO_LONG, TENON_INVALID_ARGUMENT, "8192"},
    {BAD_NO_DEVICES, TENON_INVALID_ARGUMENT, "it serves no device kind"},
    {BAD_DEVICES_NULL, TENON_INVALID_ARGUMENT, "devices"},
    {BAD_DEVICES_TOO_MANY, TENON_INVALID_ARGUMENT, "devices"},
    {BAD_ARCHS_NULL, TENON_INVALID_ARGUMENT, "archs"},
    {BAD_PREFERRED_OVER_MISSING, TENON_NOT_FOUND, "preferred_over 'nobody'"},
    {BAD_PREFERRED_OVER_ITSELF, TENON_INVALID_ARGUMENT, "circle"},
    {BAD_STORAGE_NULL, TENON_INVALID_ARGUMENT, "storage"},
    {BAD_STORED_AS_UNKNOWN, TENON_INVALID_ARGUMENT, "storage[0] names a dtype"},
    {BAD_CONTRACT_SHORT, TENON_INVALID_ARGUMENT, "contract"},
    {BAD_ROWS_NULL, TENON_INVALID_ARGUMENT, "add_kernel_types was given null rows"},
    {BAD_ROW_LONGER_THAN_ELEMENT, TENON_INCOMPATIBLE, "struct_size exceeds the element size"},
    {BAD_TOO_MANY_ROWS, TENON_INVALID_ARGUMENT, "1099511627776 kernel types"},
    {BAD_KIND_NAMELESS, TENON_INVALID_ARGUMENT, "a device kind's name is empty"},
    {BAD_KIND_WITHOUT_COUNT, TENON_INVALID_ARGUMENT, "lacks the required function 'count'"},
    {BAD_KIND_SHORT, TENON_INCOMPATIBLE, "tenon_device_kind.struct_size is 32"},
    {BAD_KIND_TWICE, TENON_ALREADY_EXISTS, "device kind 'badkind' is declared twice"},
    {BAD_TARGET_NAMELESS, TENON_INVALID_ARGUMENT, "a target's name is empty"},
    {BAD_TARGET_WITHOUT_CLAIMS, TENON_INVALID_ARGUMENT, "lacks the required function 'claims'"},
    {BAD_TARGET_WITHOUT_BUILD, TENON_INVALID_ARGUMENT, "lacks the required function 'build'"},
    {BAD_TARGET_BUILTIN, TENON_ALREADY_EXISTS, "target 'builtin' is the host's own"},
    {BAD_TARGET_TWICE, TENON_ALREADY_EXISTS, "target 'badtarget' is declared twice"},
    {BAD_TARGET_KINDS_NULL, TENON_INVALID_ARGUMENT, "kinds"},
    {BAD_TARGET_SHORT, TENON_INCOMPATIBLE, "tenon_target.struct_size is 24"},
    {BAD_LYING_OK, TENON_INCOMPATIBLE, "element size of tenon_kernel_type.struct_size is 8"},
    {BAD_KERNEL_FLAG,
     TENON_INVALID_ARGUMENT,
     "its flags is 0x1001, of which ABI 0.1 does not know"},
    {BAD_KERNEL_RESERVED, TENON_INVALID_ARGUMENT, "its reserved is 0x7"},
    {BAD_OPTION_FLAG, TENON_INVALID_ARGUMENT, "tenon_plugin.options[0].flags is 0x2; expected 0"},
    {BAD_ACCUMULATE,
     TENON_INVALID_ARGUMENT,
     "its accumulate is {code 9, bits 99, lanes 7}, which is no dtype of ABI 0.1"},
    {BAD_ALIGNMENT,
     TENON_INVALID_ARGUMENT,
     "its alignment_elements is 4294967295; expected at most 65536"},
    {BAD_PREFERRED_OVER_FORM, TENON_INVALID_ARGUMENT, "preferred_over[0] is 'cpu:row*'; expected"},
};

std::string bad_path(int fault) {
  return std::string(TENON_ZOO) + "/bad-" + std::to_string(fault) + ".tenon.so";
}

}  // namespace

TEST_SUITE("loader/zoo") {
  TEST_CASE(
      "a plugin that is wrong in one field of one table is refused, and the good one computes") {
    static_assert(std::size(kTables) == BAD_COUNT - 1);  // number 0 is sound
    const test::TempDir folder;
    for (const Case& each : kTables) {
      CAPTURE(each.fault);
      CAPTURE(std::string(each.part));
      test::check_beside_good(
          bad_path(each.fault),
          {PluginState::kRejected, PluginStage::kValidate, each.code, each.part},
          folder);
    }
  }

  TEST_CASE("the same plugin without the fault is active") {
    const test::TempDir folder;
    const Runtime runtime = test::runtime_of({bad_path(BAD_SOUND)}, folder);
    REQUIRE(runtime.plugins().size() == 2);
    CHECK_MESSAGE(runtime.plugins()[0].state == PluginState::kActive, runtime.plugins()[0].reason);
    CHECK(runtime.plugins()[0].kernel_types == 1);
  }
}

}  // namespace tenon
