/* Plugins that are wrong in one place of one table: BAD_FAULT picks it. In plain C, so that many
 * build in no time. */
#include <string.h>

#include "faults.h"
#include "tenon/plugin.h"

#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }
#define STRINGIFY_(word) #word
#define STRINGIFY(word) STRINGIFY_(word)

#if BAD_FAULT == BAD_ID_GRAMMAR
#define BAD_ID "Bad_Plugin"
#else
#define BAD_ID "bad-" STRINGIFY(BAD_FAULT)
#endif
TENON_PLUGIN_NOTE("bad-" STRINGIFY(BAD_FAULT), "1.0.0");

static const tenon_dtype kFloat32[] = {{TENON_DTYPE_FLOAT, 32, 1}};
static const tenon_field kFields[] = {{TEXT("shape"), TENON_VALUE_INTS, 0, NULL, 0},
                                      {TEXT("alpha"), TENON_FIELD_NUMBER, 0, NULL, 0},
                                      {TEXT("dtype"), TENON_VALUE_DTYPE, 0, NULL, 0}};
static const tenon_arg kArgs[] = {{TEXT("self"), kFloat32, 1, TENON_ROLE_IN, 0},
                                  {TEXT("other"), kFloat32, 1, TENON_ROLE_IN, 0},
                                  {TEXT("output"), kFloat32, 1, TENON_ROLE_OUT, 0}};
static const tenon_contract kContract = {
    BAD_FAULT == BAD_CONTRACT_SHORT ? 8 : sizeof(tenon_contract), 0, kFields, 3, kArgs, 3};
static const tenon_str kDevices[] = {TEXT("cpu")};
static const tenon_str kOps[] = {TEXT("AddFwdOp")};
static const tenon_str kPreferences[] = {TEXT("nobody"), TEXT("row"), TEXT("cpu:row*")};
#if BAD_FAULT == BAD_NEEDS_NOT_UTF8
static const tenon_str kNotUtf8[] = {TEXT("\xc3\x28")};
#endif
static const tenon_storage kStorage[] = {{{TENON_DTYPE_FLOAT, 32, 1}, {TENON_DTYPE_FLOAT, 32, 1}}};
static const tenon_storage kOddStorage[] = {{{TENON_DTYPE_FLOAT, 32, 1}, {77, 5, 1}}};
static char long_text[8192];

static tenon_status build(void* context,
                          const tenon_host* host,
                          const tenon_build* request,
                          tenon_kernel* out,
                          tenon_reason* reason) {
  (void)context;
  (void)host;
  (void)request;
  (void)out;
  (void)reason;
  return TENON_UNAVAILABLE;
}

static tenon_kernel_type row_of(const char* key) {
  tenon_kernel_type row;
  memset(&row, 0, sizeof row);
  row.struct_size = sizeof row;
  row.op = kOps[0];
  row.interface.data = "add_fwd";
  row.interface.size_bytes = 7;
  row.key.data = key;
  row.key.size_bytes = strlen(key);
  row.contract = &kContract;
  row.devices = kDevices;
  row.n_devices = 1;
  row.storage = kStorage;
  row.n_storage = 1;
  row.build = build;
  return row;
}

static tenon_status add_rows(const tenon_registrar* registrar, tenon_reason* reason) {
  tenon_kernel_type row = row_of("row");
  const tenon_kernel_type* rows = &row;
  uint64_t count = 1;
  uint64_t element_size = sizeof row;
  switch (BAD_FAULT) {
    case BAD_EMPTY_OP:
      row.op.size_bytes = 0;
      break;
    case BAD_EMPTY_INTERFACE:
      row.interface.data = NULL;
      row.interface.size_bytes = 0;
      break;
    case BAD_KEY_CHARACTER:
      row.key.data = "a key";
      row.key.size_bytes = 5;
      break;
    case BAD_KEY_TOO_LONG:
      memset(long_text, 'k', sizeof long_text);
      row.key.data = long_text;
      row.key.size_bytes = sizeof long_text;
      break;
    case BAD_NO_DEVICES:
      row.n_devices = 0;
      break;
    case BAD_DEVICES_NULL:
      row.devices = NULL;
      break;
    case BAD_DEVICES_TOO_MANY:
      row.n_devices = UINT64_MAX;
      break;
    case BAD_ARCHS_NULL:
      row.n_archs = 3;
      break;
    case BAD_PREFERRED_OVER_MISSING:
      row.preferred_over = &kPreferences[0];
      row.n_preferred_over = 1;
      break;
    case BAD_PREFERRED_OVER_ITSELF:
      row.preferred_over = &kPreferences[1];
      row.n_preferred_over = 1;
      break;
    case BAD_STORAGE_NULL:
      row.storage = NULL;
      break;
    case BAD_STORED_AS_UNKNOWN:
      row.storage = kOddStorage;
      break;
    case BAD_KERNEL_FLAG:
      row.flags = TENON_KERNEL_GENERAL | 0x1000;
      break;
    case BAD_KERNEL_RESERVED:
      row.reserved = 7;
      break;
    case BAD_ACCUMULATE:
      row.accumulate = (tenon_dtype){9, 99, 7};
      break;
    case BAD_ALIGNMENT:
      row.alignment_elements = UINT32_MAX;
      break;
    case BAD_PREFERRED_OVER_FORM:
      row.preferred_over = &kPreferences[2];
      row.n_preferred_over = 1;
      break;
    case BAD_ROWS_NULL:
      rows = NULL;
      break;
    case BAD_ROW_LONGER_THAN_ELEMENT:
      row.struct_size = sizeof row + 64;
      break;
    case BAD_TOO_MANY_ROWS:
      count = (uint64_t)1 << 40;
      break;
    default:
      break;
  }
  if (BAD_FAULT == BAD_LYING_OK) {
    /* Answers OK although a row was refused: the host believes its own account. */
    row.n_devices = 0;
    element_size = 8;
    (void)registrar->add_kernel_types(registrar->context, rows, count, element_size, reason);
    return TENON_OK;
  }
  return registrar->add_kernel_types(registrar->context, rows, count, element_size, reason);
}

static tenon_status nothing(void* context, const tenon_device* device, tenon_reason* reason) {
  (void)context;
  (void)device;
  (void)reason;
  return TENON_OK;
}
static tenon_status last_error(void* context,
                               const tenon_device* device,
                               uint32_t clear,
                               tenon_reason* reason) {
  (void)context;
  (void)device;
  (void)clear;
  (void)reason;
  return TENON_OK;
}
static tenon_status count_devices(void* context, uint32_t* count, tenon_reason* reason) {
  (void)context;
  (void)reason;
  *count = 0;
  return TENON_OK;
}
static tenon_status describe(void* context,
                             uint32_t index,
                             tenon_device* out,
                             tenon_reason* reason) {
  (void)context;
  (void)index;
  (void)out;
  (void)reason;
  return TENON_NOT_FOUND;
}
static tenon_status alloc(void* context,
                          const tenon_device* device,
                          uint32_t memory_kind,
                          uint64_t size_bytes,
                          void* stream,
                          void** out,
                          tenon_reason* reason) {
  (void)context;
  (void)device;
  (void)memory_kind;
  (void)size_bytes;
  (void)stream;
  (void)out;
  (void)reason;
  return TENON_OUT_OF_MEMORY;
}
static tenon_status give_back(void* context,
                              const tenon_device* device,
                              uint32_t memory_kind,
                              void* memory,
                              uint64_t size_bytes,
                              void* stream,
                              tenon_reason* reason) {
  (void)context;
  (void)device;
  (void)memory_kind;
  (void)memory;
  (void)size_bytes;
  (void)stream;
  (void)reason;
  return TENON_OK;
}
static tenon_status copy(void* context,
                         const tenon_device* dst_device,
                         void* dst,
                         const tenon_device* src_device,
                         const void* src,
                         uint64_t size_bytes,
                         void* stream,
                         tenon_reason* reason) {
  (void)context;
  (void)dst_device;
  (void)dst;
  (void)src_device;
  (void)src;
  (void)size_bytes;
  (void)stream;
  (void)reason;
  return TENON_DEVICE;
}

static tenon_status add_kind(const tenon_registrar* registrar, tenon_reason* reason) {
  tenon_device_kind kind;
  tenon_status status;
  memset(&kind, 0, sizeof kind);
  kind.struct_size = BAD_FAULT == BAD_KIND_SHORT ? 32 : sizeof kind;
  if (BAD_FAULT != BAD_KIND_NAMELESS) {
    kind.kind.data = "badkind";
    kind.kind.size_bytes = 7;
  }
  kind.count = BAD_FAULT == BAD_KIND_WITHOUT_COUNT ? NULL : count_devices;
  kind.describe = describe;
  kind.alloc = alloc;
  kind.free = give_back;
  kind.copy = copy;
  kind.synchronize = nothing;
  kind.last_error = last_error;
  status = registrar->add_device_kind(registrar->context, &kind, reason);
  if (status == TENON_OK && BAD_FAULT == BAD_KIND_TWICE) {
    status = registrar->add_device_kind(registrar->context, &kind, reason);
  }
  return status;
}

static tenon_status claims(void* context, const tenon_device* device, uint32_t* yes) {
  (void)context;
  (void)device;
  *yes = 0;
  return TENON_OK;
}
static tenon_status build_target(void* context,
                                 const tenon_host* host,
                                 uint64_t op,
                                 const tenon_build* request,
                                 const tenon_tensor* const* specs,
                                 const uint32_t* spec_first,
                                 uint64_t n_inputs,
                                 const tenon_value* params,
                                 uint64_t n_params,
                                 tenon_kernel* out,
                                 tenon_reason* reason) {
  (void)context;
  (void)host;
  (void)op;
  (void)request;
  (void)specs;
  (void)spec_first;
  (void)n_inputs;
  (void)params;
  (void)n_params;
  (void)out;
  (void)reason;
  return TENON_UNAVAILABLE;
}

static tenon_status add_target(const tenon_registrar* registrar, tenon_reason* reason) {
  tenon_target target;
  tenon_status status;
  memset(&target, 0, sizeof target);
  target.struct_size = BAD_FAULT == BAD_TARGET_SHORT ? 24 : sizeof target;
  if (BAD_FAULT != BAD_TARGET_NAMELESS) {
    target.name.data = BAD_FAULT == BAD_TARGET_BUILTIN ? "builtin" : "badtarget";
    target.name.size_bytes = strlen(target.name.data);
  }
  target.kinds = BAD_FAULT == BAD_TARGET_KINDS_NULL ? NULL : kDevices;
  target.n_kinds = 1;
  target.ops = kOps;
  target.n_ops = 1;
  target.claims = BAD_FAULT == BAD_TARGET_WITHOUT_CLAIMS ? NULL : claims;
  target.build = BAD_FAULT == BAD_TARGET_WITHOUT_BUILD ? NULL : build_target;
  status = registrar->add_target(registrar->context, &target, reason);
  if (status == TENON_OK && BAD_FAULT == BAD_TARGET_TWICE) {
    status = registrar->add_target(registrar->context, &target, reason);
  }
  return status;
}

static tenon_status init(const tenon_host* host, void** self, tenon_reason* reason) {
  (void)host;
  (void)reason;
  *self = NULL;
  return TENON_OK;
}

static tenon_status enumerate(void* self, const tenon_registrar* registrar, tenon_reason* reason) {
  (void)self;
  if (BAD_FAULT >= BAD_KIND_NAMELESS && BAD_FAULT <= BAD_KIND_TWICE)
    return add_kind(registrar, reason);
  if (BAD_FAULT >= BAD_TARGET_NAMELESS && BAD_FAULT <= BAD_TARGET_SHORT)
    return add_target(registrar, reason);
  return add_rows(registrar, reason);
}
/* Keeps it in use where the object leaves it out. */
__attribute__((used)) static tenon_status (*const keep)(void*,
                                                        const tenon_registrar*,
                                                        tenon_reason*) = enumerate;

#if BAD_FAULT == BAD_OPTION_KIND
static const tenon_option kOptions[] = {
    {TEXT("speed"), TENON_VALUE_LIST, 0, {TENON_VALUE_LIST, 0, 0, 0, 0, NULL}}};
#elif BAD_FAULT == BAD_OPTION_DEFAULT_KIND
static const tenon_option kOptions[] = {
    {TEXT("speed"), TENON_VALUE_INT, 0, {TENON_VALUE_STR, 0, 0, 0, 0, NULL}}};
#elif BAD_FAULT == BAD_OPTION_WITHOUT_NAME
static const tenon_option kOptions[] = {
    {TEXT(""), TENON_VALUE_INT, 0, {TENON_VALUE_INT, 0, 0, 0, 0, NULL}}};
#elif BAD_FAULT == BAD_OPTION_TEXT_NULL
static const tenon_option kOptions[] = {
    {TEXT("speed"), TENON_VALUE_STR, 0, {TENON_VALUE_STR, 0, 100, 0, 0, NULL}}};
#elif BAD_FAULT == BAD_OPTION_FLAG
static const tenon_option kOptions[] = {
    {TEXT("speed"), TENON_VALUE_INT, 2, {TENON_VALUE_INT, 0, 0, 0, 0, NULL}}};
#endif

const tenon_plugin TENON_PLUGIN_OBJECT = {
    .struct_size = sizeof(tenon_plugin),
    .abi_major = TENON_ABI_MAJOR,
    .abi_minor = TENON_ABI_MINOR + (BAD_FAULT == BAD_ABI_MINOR),
    .min_host_minor = TENON_TARGET_MINOR + (BAD_FAULT == BAD_MIN_HOST_MINOR),
    .id = {BAD_FAULT == BAD_ID_NULL_POINTER ? NULL : BAD_ID, sizeof(BAD_ID) - 1},
    .version = TEXT("1.0.0"),
    .vendor = {BAD_FAULT == BAD_VENDOR_TOO_LONG ? long_text : "Tests",
               BAD_FAULT == BAD_VENDOR_TOO_LONG ? sizeof long_text : 5},
#if BAD_FAULT == BAD_MANIFEST_NO_YAML
    .manifest = TEXT("ops: [unclosed"),
#elif BAD_FAULT == BAD_MANIFEST_OF_THE_CORE
    .manifest = TEXT("AddFwdOp:\n  family: elementwise\n"),
#endif
#if BAD_FAULT == BAD_NEEDS_NULL
    .n_needs_kinds = 3,
#elif BAD_FAULT == BAD_NEEDS_TOO_MANY
    .needs_kinds = kDevices,
    .n_needs_kinds = UINT64_MAX / 16,
#elif BAD_FAULT == BAD_NEEDS_NOT_UTF8
    .needs_kinds = kNotUtf8,
    .n_needs_kinds = 1,
#endif
#if (BAD_FAULT >= BAD_OPTION_KIND && BAD_FAULT <= BAD_OPTION_TEXT_NULL) || \
    BAD_FAULT == BAD_OPTION_FLAG
    .options = kOptions,
    .n_options = 1,
#endif
    .init = init,
    .enumerate = BAD_FAULT == BAD_ENUMERATE_NULL ? NULL : enumerate,
};
