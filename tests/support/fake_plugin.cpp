// One source, many plugins: -D picks what is right and what is wrong with each. README.md lists the
// variants.
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <unistd.h>

#include "support/fake_contracts.hpp"
#include "support/fake_functions.h"
#include "tenon/plugin.h"

#ifndef FAKE_ID
#define FAKE_ID "good"
#endif
#ifndef FAKE_VERSION
#define FAKE_VERSION "1.0.0"
#endif
#ifndef FAKE_NOTE_ID
#define FAKE_NOTE_ID FAKE_ID
#endif
#ifndef FAKE_NOTE_VERSION
#define FAKE_NOTE_VERSION FAKE_VERSION
#endif
#ifndef FAKE_STRUCT_SIZE
#define FAKE_STRUCT_SIZE sizeof(tenon_plugin)
#endif
#ifndef FAKE_REQUIRED_FEATURES
#define FAKE_REQUIRED_FEATURES 0
#endif
#ifndef FAKE_OBJECT_MAJOR
#define FAKE_OBJECT_MAJOR TENON_ABI_MAJOR
#endif
#ifndef FAKE_KIND
#define FAKE_KIND "fake"
#endif
#ifndef FAKE_ARCH
#define FAKE_ARCH nullptr
#endif
#ifndef FAKE_FAST_PREFERS
#define FAKE_FAST_PREFERS nullptr
#endif
#ifndef FAKE_ROWS_PREFERS
#define FAKE_ROWS_PREFERS nullptr
#endif
#ifndef FAKE_NEEDS
#define FAKE_NEEDS FAKE_KIND
#endif
#ifndef FAKE_MANIFEST
#define FAKE_MANIFEST ""
#endif
#ifndef FAKE_CONTRACT
#define FAKE_CONTRACT kFakeAddContract
#endif

namespace {

using tenon::test::fake_str;

#ifdef FAKE_UNDEFINED
extern "C" int tenon_test_symbol_that_nobody_defines();
int (*volatile keep_undefined)() = &tenon_test_symbol_that_nobody_defines;
#endif

/// What a variant does at init or while it is mapped. Used as FAKE_INIT and FAKE_CONSTRUCTOR.
enum class Deed {
  kNothing,
  kError,
  kErrorWithoutText,
  kThrow,
  kAbort,
  kExit,
  kHang,
  kTrap,
  kLateAbort
};
/// What is wrong with a variant's rows. Used as FAKE_FAULT.
enum class Fault {
  kNone,
  kNullBuild,
  kNullContract,
  kDuplicateKey,
  kUnknownOp,
  kUnknownInterface,
  kBadUtf8,
  kCountOverflow,
  kElementSizeZero,
  kShortRow,
  kHugeRow,
  kUnmappedRows,
  kUnmappedName,
  kUnmappedFunction,
  kDataAsFunction,
  kUnknownDtype,
  kTwoGeneral,
  kCycle,
  kSecondOwner,
  kKindWithoutAlloc,
  kEnumerateError,
  kEnumerateThrows,
  kNoRows,
};
#ifndef FAKE_INIT
#define FAKE_INIT kNothing
#endif
#ifndef FAKE_CONSTRUCTOR
#define FAKE_CONSTRUCTOR kNothing
#endif
#ifndef FAKE_FAULT
#define FAKE_FAULT kNone
#endif
constexpr Deed kInitDeed = Deed::FAKE_INIT;
constexpr Deed kConstructorDeed = Deed::FAKE_CONSTRUCTOR;
constexpr Fault kFault = Fault::FAKE_FAULT;
constexpr bool kOwnsKind = kFault == Fault::kSecondOwner || kFault == Fault::kKindWithoutAlloc;

void write_text(tenon_reason* reason, const char* text) {
  std::size_t i = 0;
  for (; text[i] != '\0' && i + 1 < sizeof(reason->text); ++i) reason->text[i] = text[i];
  reason->text[i] = '\0';
}

tenon_status commit(Deed deed, tenon_reason* reason) {
  switch (deed) {
    case Deed::kNothing:
      return TENON_OK;
    case Deed::kError:
      write_text(reason, "the fake's licence has run out");
      return TENON_UNAVAILABLE;
    case Deed::kErrorWithoutText:
      return TENON_UNAVAILABLE;
    case Deed::kThrow:
      throw std::runtime_error("thrown by a fake");
    case Deed::kAbort:
      std::abort();
    case Deed::kExit:
      std::exit(0);
    case Deed::kHang:
      for (;;) pause();
    case Deed::kTrap:
      std::raise(SIGILL);
      return TENON_INTERNAL;
    case Deed::kLateAbort:
      std::thread([] {
        usleep(20000);
        std::abort();
      }).detach();
      return TENON_OK;
  }
  return TENON_OK;
}

struct AtLoad {
  AtLoad() { commit(kConstructorDeed, nullptr); }
};
[[maybe_unused]] const AtLoad at_load;

/// A page that is not mapped, and cannot be (vm.mmap_min_addr): no allocator takes it between now
/// and the moment when somebody looks.
void* unmapped() {
  return reinterpret_cast<void*>(std::uintptr_t{0x2000});  // NOLINT(performance-no-int-to-ptr)
}

constexpr tenon_str kKind = fake_str(FAKE_KIND);
constexpr const char* kArchText = FAKE_ARCH;
constexpr const char* kFastPrefersText = FAKE_FAST_PREFERS;
constexpr const char* kRowsPrefersText = FAKE_ROWS_PREFERS;
constexpr const char* kNeedsText = FAKE_NEEDS;
constexpr tenon_str optional_str(const char* text) {
  return text == nullptr ? tenon_str{"", 0} : fake_str(text);
}
constexpr tenon_str kArch = optional_str(kArchText);
constexpr tenon_str kFastPrefers = optional_str(kFastPrefersText);
constexpr tenon_str kRowsPrefers = optional_str(kRowsPrefersText);
constexpr tenon_str kNeeds = optional_str(kNeedsText);
constexpr tenon_storage kStorage[] = {{{TENON_DTYPE_FLOAT, 32, 1}, {TENON_DTYPE_FLOAT, 32, 1}}};
constexpr tenon_storage kUnknownStorage[] = {{{99, 3, 1}, {99, 3, 1}}};

char fast_name[] = FAKE_ID ":fast";
char rows_name[] = FAKE_ID ":rows";
char reference_name[] = FAKE_ID ":reference";

tenon_kernel_type row(char* name, const char* key, const tenon_str* prefers, std::uint64_t flags) {
  tenon_kernel_type r{};
  r.struct_size = sizeof(r);
  r.op = fake_str("AddFwdOp");
  r.interface = fake_str("add_fwd");
  r.key = fake_str(key);
  r.contract = &tenon::test::FAKE_CONTRACT;
  r.devices = &kKind;
  r.n_devices = 1;
  r.archs = &kArch;
  r.n_archs = kArchText == nullptr ? 0 : 1;
  r.preferred_over = prefers;
  r.n_preferred_over = prefers == nullptr || prefers->size_bytes == 0 ? 0 : 1;
  r.storage = kStorage;
  r.n_storage = 1;
  r.flags = flags | TENON_KERNEL_DETERMINISTIC | TENON_KERNEL_HANDLES_PADDING;
#ifdef FAKE_LAYOUTS
  r.layouts = FAKE_LAYOUTS;
#endif
  r.context = name;
  r.refuse = &fake_refuse;
  r.identity = &fake_identity;
  r.build = &fake_build;
  return r;
}

/// Breaks the first row as the variant says.
void spoil(tenon_kernel_type& r) {
  switch (kFault) {
    case Fault::kNullBuild:
      r.build = nullptr;
      break;
    case Fault::kNullContract:
      r.contract = nullptr;
      break;
    case Fault::kDuplicateKey:
      r.key = fake_str("rows");
      break;
    case Fault::kUnknownOp:
      r.op = fake_str("AddFwdOpp");
      break;
    case Fault::kUnknownInterface:
      r.interface = fake_str("add_fwdd");
      break;
    case Fault::kBadUtf8:
      r.key = tenon_str{"\xc3\x28", 2};
      break;
    case Fault::kShortRow:
      r.struct_size = 16;
      break;
    case Fault::kHugeRow:
      r.struct_size = std::uint64_t{1} << 40;
      break;
    case Fault::kUnmappedName:
      r.key = tenon_str{static_cast<const char*>(unmapped()), 4};
      break;
    case Fault::kUnmappedFunction:
      r.build = reinterpret_cast<decltype(r.build)>(unmapped());
      break;
    case Fault::kDataAsFunction:
      r.build = reinterpret_cast<decltype(r.build)>(fast_name);
      break;
    case Fault::kUnknownDtype:
      r.storage = kUnknownStorage;
      break;
    case Fault::kTwoGeneral:
      r.flags |= TENON_KERNEL_GENERAL;
      break;
    default:
      break;
  }
}

tenon_status no_count(void*, std::uint32_t* count, tenon_reason*) {
  *count = 0;
  return TENON_OK;
}
tenon_status no_describe(void*, std::uint32_t, tenon_device*, tenon_reason*) {
  return TENON_NOT_FOUND;
}
tenon_status no_alloc(
    void*, const tenon_device*, std::uint32_t, std::uint64_t, void*, void**, tenon_reason*) {
  return TENON_OUT_OF_MEMORY;
}
tenon_status no_free(
    void*, const tenon_device*, std::uint32_t, void*, std::uint64_t, void*, tenon_reason*) {
  return TENON_OK;
}
tenon_status no_copy(void*,
                     const tenon_device*,
                     void*,
                     const tenon_device*,
                     const void*,
                     std::uint64_t,
                     void*,
                     tenon_reason*) {
  return TENON_DEVICE;
}
tenon_status no_synchronize(void*, const tenon_device*, tenon_reason*) { return TENON_OK; }
tenon_status no_error(void*, const tenon_device*, std::uint32_t, tenon_reason*) { return TENON_OK; }

/// A device kind without devices, for the tests of ownership.
tenon_status add_kind(const tenon_registrar* registrar, tenon_reason* reason) {
  tenon_device_kind kind{};
  kind.struct_size = sizeof(kind);
  kind.kind = kKind;
  kind.dlpack_type = 12;
  kind.count = &no_count;
  kind.describe = &no_describe;
  kind.alloc = kFault == Fault::kKindWithoutAlloc ? nullptr : &no_alloc;
  kind.free = &no_free;
  kind.copy = &no_copy;
  kind.synchronize = &no_synchronize;
  kind.last_error = &no_error;
  return registrar->add_device_kind(registrar->context, &kind, reason);
}

[[maybe_unused]] tenon_status init(const tenon_host*, void** self, tenon_reason* reason) {
  *self = rows_name;
  const tenon_status scripted = fake_note_init(FAKE_ID);
  if (scripted != TENON_OK) return scripted;
  return commit(kInitDeed, reason);
}

[[maybe_unused]] tenon_status enumerate(void*,
                                        const tenon_registrar* registrar,
                                        tenon_reason* reason) {
  const tenon_status scripted = fake_note_enumerate(FAKE_ID);
  if (scripted != TENON_OK) return scripted;
  if (kFault == Fault::kEnumerateError) {
    write_text(reason, "the fake has lost its table");
    return TENON_IO;
  }
  if (kFault == Fault::kEnumerateThrows) throw std::runtime_error("thrown by a fake");
  if (kOwnsKind) {
    const tenon_status status = add_kind(registrar, reason);
    if (status != TENON_OK) return status;
  }
  if (kFault == Fault::kNoRows) return TENON_OK;
  static constexpr tenon_str fast_key = {"fast", 4};
  tenon_kernel_type rows[] = {
      row(fast_name, "fast", &kFastPrefers, 0),
      row(rows_name,
          "rows",
          kFault == Fault::kCycle ? &fast_key : &kRowsPrefers,
          kFault == Fault::kCycle ? 0 : TENON_KERNEL_GENERAL),
      row(reference_name, "reference", nullptr, TENON_KERNEL_REFERENCE),
  };
  static constexpr tenon_str rows_key = {"rows", 4};
  if (kFault == Fault::kCycle) {
    rows[0].preferred_over = &rows_key;
    rows[0].n_preferred_over = 1;
  }
  spoil(rows[0]);
#ifdef FAKE_REFERENCE
  std::uint64_t count = 3;
#else
  std::uint64_t count = 2;
#endif
  const tenon_kernel_type* first = rows;
  if (kFault == Fault::kCountOverflow) count = UINT64_MAX / 8;
  if (kFault == Fault::kUnmappedRows) first = static_cast<const tenon_kernel_type*>(unmapped());
  const std::uint64_t element_size = kFault == Fault::kElementSizeZero ? 0 : sizeof(rows[0]);
  return registrar->add_kernel_types(registrar->context, first, count, element_size, reason);
}

[[maybe_unused]] void shutdown(void*) { fake_note_shutdown(FAKE_ID); }

}  // namespace

#ifndef FAKE_NO_NOTE
TENON_PLUGIN_NOTE(FAKE_NOTE_ID, FAKE_NOTE_VERSION);
#endif

#ifdef FAKE_NULL_INIT
#define FAKE_INIT_FUNCTION nullptr
#elif defined(FAKE_INIT_OUTSIDE)
using AnyFunction = void (*)();
using InitFunction = tenon_status (*)(const tenon_host*, void**, tenon_reason*);
#define FAKE_INIT_FUNCTION \
  reinterpret_cast<InitFunction>(reinterpret_cast<AnyFunction>(&::getpid))  // libc's, not ours
#else
#define FAKE_INIT_FUNCTION &init
#endif

#ifdef FAKE_NO_OBJECT
extern "C" __attribute__((visibility("default"))) int something_else() { return 1; }
int (*const keep_enumerate)(void*, const tenon_registrar*, tenon_reason*) = &enumerate;
#else
const tenon_plugin TENON_PLUGIN_OBJECT = {FAKE_STRUCT_SIZE,
                                          FAKE_OBJECT_MAJOR,
                                          TENON_ABI_MINOR,
                                          TENON_TARGET_MINOR,
                                          FAKE_REQUIRED_FEATURES,
                                          fake_str(FAKE_ID),
                                          fake_str(FAKE_VERSION),
                                          fake_str("Fake " FAKE_ID),
                                          fake_str(FAKE_MANIFEST),
                                          &kNeeds,
                                          nullptr,
                                          kNeedsText == nullptr || kOwnsKind ? 0u : 1u,
                                          0,
                                          FAKE_INIT_FUNCTION,
                                          &enumerate,
                                          &shutdown};
#endif
