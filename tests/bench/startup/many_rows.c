/* A plugin with 500 kernel types over all ops of the start-up benchmark. */
#include <stdio.h>
#include <string.h>

#include "tenon/plugin.h"

enum { kRows = 500, kNameBytes = 32 };

TENON_PLUGIN_NOTE(VENDOR_ID, "1.0.0");

#define STR(text) \
  { text, sizeof(text) - 1 }

static const tenon_dtype float_dtypes[] = {
    {TENON_DTYPE_FLOAT, 16, 1},
    {TENON_DTYPE_BFLOAT, 16, 1},
    {TENON_DTYPE_FLOAT, 32, 1},
    {TENON_DTYPE_FLOAT, 64, 1},
};
static const tenon_field fields[] = {
    {STR("shape"), TENON_VALUE_INTS, 0, NULL, 0},
    {STR("alpha"), TENON_FIELD_NUMBER, 0, NULL, 0},
    {STR("dtype"), TENON_VALUE_DTYPE, 0, NULL, 0},
};
static const tenon_arg args[] = {
    {STR("self"), float_dtypes, 4, TENON_ROLE_IN, 0},
    {STR("other"), float_dtypes, 4, TENON_ROLE_IN, 0},
    {STR("output"), float_dtypes, 4, TENON_ROLE_OUT, 0},
};
/* Without the hash of the contract: every row is compared field by field. */
static const tenon_contract contract = {sizeof(tenon_contract), 0, fields, 3, args, 3};
static const tenon_str kind = STR("cpu");
static const tenon_str preferred = STR("other:*");

static char op_names[OP_COUNT][kNameBytes];
static char interface_names[OP_COUNT][kNameBytes];
static tenon_kernel_type rows[kRows];

static tenon_status build(void* context,
                          const tenon_host* host,
                          const tenon_build* what,
                          tenon_kernel* out,
                          tenon_reason* reason) {
  (void)context;
  (void)host;
  (void)what;
  (void)out;
  (void)reason;
  return TENON_UNAVAILABLE; /* nothing is launched here */
}

static tenon_status start(const tenon_host* host, void** self, tenon_reason* reason) {
  (void)host;
  (void)self;
  (void)reason;
  return TENON_OK;
}

static tenon_status enumerate(void* self, const tenon_registrar* registrar, tenon_reason* reason) {
  static const tenon_str keys[] = {STR("fast"), STR("wide")};
  int i;
  (void)self;
  for (i = 0; i < OP_COUNT; ++i) {
    snprintf(op_names[i], kNameBytes, "Bench%dFwdOp", i);
    snprintf(interface_names[i], kNameBytes, "bench%d_fwd", i);
  }
  for (i = 0; i < kRows; ++i) {
    tenon_kernel_type* row = &rows[i];
    const int op = i % OP_COUNT;
    row->struct_size = sizeof *row;
    row->op.data = op_names[op];
    row->op.size_bytes = strlen(op_names[op]);
    row->interface.data = interface_names[op];
    row->interface.size_bytes = strlen(interface_names[op]);
    row->key = keys[i / OP_COUNT];
    row->contract = &contract;
    row->devices = &kind;
    row->n_devices = 1;
    row->preferred_over = &preferred;
    row->n_preferred_over = 1;
    row->build = build;
  }
  return registrar->add_kernel_types(registrar->context, rows, kRows, sizeof rows[0], reason);
}

const tenon_plugin TENON_PLUGIN_OBJECT = {
    .struct_size = sizeof(tenon_plugin),
    .abi_major = TENON_ABI_MAJOR,
    .abi_minor = TENON_ABI_MINOR,
    .min_host_minor = TENON_TARGET_MINOR,
    .id = STR(VENDOR_ID),
    .version = STR("1.0.0"),
    .init = start,
    .enumerate = enumerate,
};
