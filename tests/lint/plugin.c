/* A sound plugin in C; -D adds the one fault that a rule of tenon-plugin-lint is to find. */
#include "tenon/plugin.h"

#ifndef LINT_ARCHS
#define LINT_ARCHS ""
#endif
#ifndef LINT_NO_NOTE
TENON_PLUGIN_NOTE_WITH("linted", "1.0.0", LINT_ARCHS, "");
#endif

#ifdef LINT_EXPORT
__attribute__((visibility("default"))) int linted_helper(void) { return 1; }
#endif

#ifdef LINT_LIBRARY
int shipped_number(void);
#endif

#ifdef LINT_UNDEFINED
int nobody_has_this(void);
#endif
#ifdef LINT_HOST_SYMBOL
int tenon_core_call(void);
#endif

#ifdef LINT_TEXT_RELOCATION
/* The address of a datum in the code itself, which only a relocation of the code can put there. */
__asm__(
    ".text\n.globl linted_place\n.hidden linted_place\nlinted_place: movabs $linted_datum, %rax\n "
    "ret\n");
__attribute__((used)) int linted_datum = 7;
void linted_place(void);
#endif

#ifdef LINT_STATIC_TLS
__thread __attribute__((tls_model("initial-exec"))) int linted_counter = 1;
#endif

#ifdef LINT_WIDE
__attribute__((target("avx2"), noinline)) static void widen(float* values) {
  for (int i = 0; i < 8; ++i) values[i] = values[i] * 2.0F + 1.0F;
  __asm__ volatile("vzeroupper");
}
static float wide_values[8];
#endif
#ifdef LINT_CONSTRUCTOR
static volatile int linted_was_here;
__attribute__((constructor)) static void linted_constructor(void) {
  linted_was_here = 1;
#ifdef LINT_WIDE_CONSTRUCTOR
  widen(wide_values);
#endif
}
#endif

#ifdef LINT_FAT_BINARY
/* Machine code for 8.0 and intermediate code for 9.0, as the fat binary's headers say it. */
struct entry {
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t payload_bytes;
  uint32_t unused[3], arch;
  uint32_t rest[8];
  uint8_t payload[8];
};
static const struct {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t body_bytes;
  struct entry entries[2];
} fat_binary __attribute__((section(".nv_fatbin"), used)) = {
    0xba55ed50u,
    1,
    16,
    2 * sizeof(struct entry),
    {{2, 1, 64, 8, {0}, 80, {0}, {0}}, {1, 1, 64, 8, {0}, 90, {0}, {0}}}};
#endif
#ifdef LINT_OFFLOAD_BUNDLE
static const struct {
  char magic[24];
  uint64_t count;
  uint64_t host_offset, host_bytes, host_id_bytes;
  char host_id[24];
  uint64_t offset, bytes, id_bytes;
  char id[48];
} bundle __attribute__((section(".hip_fatbin"), used)) = {
    {'_', '_', 'C', 'L', 'A', 'N', 'G', '_', 'O', 'F', 'F', 'L',
     'O', 'A', 'D', '_', 'B', 'U', 'N', 'D', 'L', 'E', '_', '_'},
    2,
    0,
    0,
    24,
    {'h', 'o', 's', 't', '-', 'x', '8', '6', '_', '6', '4', '-',
     'u', 'n', 'k', 'n', 'o', 'w', 'n', '-', '-', '-', '-', '-'},
    0,
    0,
    33,
    "hipv4-amdgcn-amd-amdhsa--gfx90a:a"};
#endif

#ifdef LINT_CONSTRUCTOR_ABORT
/* Its last instruction is a call that does not return, and the last one of .text: behind it lies
   padding that is no code. */
void abort(void);
__attribute__((constructor)) static void linted_constructor(void) { abort(); }
#endif

static tenon_status init(const tenon_host* host, void** self, tenon_reason* reason) {
  (void)host;
  (void)reason;
  *self = NULL;
#ifdef LINT_LIBRARY
  if (shipped_number() == 0) return TENON_INTERNAL;
#endif
#ifdef LINT_UNDEFINED
  if (nobody_has_this() == 0) return TENON_INTERNAL;
#endif
#ifdef LINT_HOST_SYMBOL
  if (tenon_core_call() == 0) return TENON_INTERNAL;
#endif
#ifdef LINT_TEXT_RELOCATION
  linted_place();
#endif
#ifdef LINT_STATIC_TLS
  ++linted_counter;
#endif
#ifdef LINT_WIDE_INIT
  widen(wide_values);
#endif
  return TENON_OK;
}

static tenon_status enumerate(void* self, const tenon_registrar* registrar, tenon_reason* reason) {
  (void)self;
  (void)registrar;
  (void)reason;
  return TENON_OK;
}

const tenon_plugin TENON_PLUGIN_OBJECT = {
    .struct_size = sizeof(tenon_plugin),
    .abi_major = TENON_ABI_MAJOR,
    .abi_minor = TENON_ABI_MINOR,
    .min_host_minor = TENON_TARGET_MINOR,
    .id = {"linted", 6},
    .version = {"1.0.0", 5},
    .init = init,
    .enumerate = enumerate,
};
