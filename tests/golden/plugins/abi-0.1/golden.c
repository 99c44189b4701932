/* The source of the golden plugin of ABI 0.1: an add that lets every table of the ABI cross once.
 * It is kept as it was when the binary beside it was built; see ../README.md. */
#include "tenon/contracts/elementwise.h"
#include "tenon/plugin.h"

#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }

TENON_PLUGIN_NOTE_WITH("golden", "1.0.0", "g1", "");

static const tenon_host* the_host;
static int64_t option_bias;

static void say(tenon_reason* reason, const char* text) {
  size_t i = 0;
  for (; text[i] != '\0' && i + 1 < sizeof(reason->text); ++i) reason->text[i] = text[i];
  reason->text[i] = '\0';
}

/* ---- The kernel --------------------------------------------------------------------------- */

struct add {
  double alpha;
  int64_t bias;
  int32_t tuned;
};

static double number(const tenon_value* value) {
  return value->kind == TENON_VALUE_FLOAT ? value->f : (double)value->i;
}

static int64_t count_of(const int64_t* shape, uint64_t rank) {
  int64_t count = 1;
  for (uint64_t i = 0; i < rank; ++i) count *= shape[i];
  return count;
}

/* Element `index` in row-major order of the tensor's shape. */
static float* element(const tenon_tensor* tensor, int64_t index) {
  int64_t offset = 0;
  for (int32_t axis = tensor->rank; axis-- > 0;) {
    offset += index % tensor->shape[axis] * tensor->strides[axis];
    index /= tensor->shape[axis];
  }
  return (float*)(void*)((char*)tensor->data + tensor->byte_offset) + offset;
}

static tenon_status add_workspace(void* state, const tenon_call* call, uint64_t* size_bytes) {
  (void)state;
  if (call == NULL) return TENON_OK;
  const tenon_value* shape = &call->fields[TENON_ADD_FWD_FIELD_SHAPE];
  *size_bytes = (uint64_t)count_of(shape->data, shape->count) * sizeof(float);
  return TENON_OK;
}

static tenon_status add_launch(void* state, const tenon_launch* launch, tenon_reason* reason) {
  const struct add* add = state;
  const tenon_tensor* a = launch->tensors[launch->arg_first[0]];
  const tenon_tensor* b = launch->tensors[launch->arg_first[1]];
  const tenon_tensor* to = launch->tensors[launch->arg_first[2]];
  const int64_t count = count_of(to->shape, (uint64_t)to->rank);
  float* scaled = launch->workspace;
  if (launch->call != NULL && launch->workspace_bytes < (uint64_t)count * sizeof(float)) {
    say(reason, "the workspace is smaller than asked for");
    return TENON_INTERNAL;
  }
  for (int64_t i = 0; i < count; ++i) {
    const float term = (float)(*element(b, i) * add->alpha);
    if (scaled != NULL) scaled[i] = term;
    *element(to, i) = *element(a, i) + (scaled != NULL ? scaled[i] : term) + (float)add->bias;
  }
  return TENON_OK;
}

static tenon_status add_tune(void* state,
                             const tenon_launch* launch,
                             uint64_t budget_ns,
                             tenon_reason* reason) {
  (void)budget_ns;
  ((struct add*)state)->tuned = 1;
  return add_launch(state, launch, reason);
}

static tenon_status add_config(void* state,
                               char* text,
                               uint64_t capacity_bytes,
                               uint64_t* size_bytes) {
  *size_bytes = 1;
  if (capacity_bytes >= 1) text[0] = ((struct add*)state)->tuned != 0 ? 't' : 'd';
  return TENON_OK;
}

static void add_destroy(void* state) {
  the_host->dealloc(the_host, state, sizeof(struct add), sizeof(double));
}

static tenon_status make_add(const tenon_host* host,
                             double alpha,
                             tenon_str tuned,
                             tenon_kernel* out) {
  struct add* add = host->alloc(host, sizeof(*add), sizeof(double));
  if (add == NULL) return TENON_OUT_OF_MEMORY;
  add->alpha = alpha;
  add->bias = option_bias;
  add->tuned = tuned.size_bytes == 1 && tuned.data[0] == 't';
  out->state = add;
  out->workspace = add_workspace;
  out->launch = add_launch;
  out->tune = add_tune;
  out->config = add_config;
  out->destroy = add_destroy;
  return TENON_OK;
}

static tenon_status add_refuse(void* context,
                               const tenon_device* device,
                               const tenon_call* call,
                               tenon_reason* reason) {
  const tenon_value* shape = &call->fields[TENON_ADD_FWD_FIELD_SHAPE];
  (void)context;
  (void)device;
  if (count_of(shape->data, shape->count) <= 4096) return TENON_OK;
  reason->code = TENON_REASON_SIZE;
  reason->arg_index = (int32_t)TENON_ADD_FWD_ARG_SELF;
  reason->expected.kind = TENON_VALUE_INT;
  reason->expected.i = 4096;
  reason->actual.kind = TENON_VALUE_INT;
  reason->actual.i = count_of(shape->data, shape->count);
  say(reason, "serves at most 4096 elements");
  return TENON_REFUSED;
}

static tenon_status add_identity(void* context,
                                 const tenon_device* device,
                                 const tenon_call* call,
                                 void* bytes,
                                 uint64_t capacity_bytes,
                                 uint64_t* size_bytes) {
  const union {
    double alpha;
    unsigned char bytes[sizeof(double)];
  } key = {number(&call->fields[TENON_ADD_FWD_FIELD_ALPHA])};
  (void)context;
  (void)device;
  *size_bytes = sizeof(key);
  if (capacity_bytes < sizeof(key)) return TENON_OK;
  for (size_t i = 0; i < sizeof(key); ++i) ((unsigned char*)bytes)[i] = key.bytes[i];
  return TENON_OK;
}

static tenon_status add_build(void* context,
                              const tenon_host* host,
                              const tenon_build* build,
                              tenon_kernel* out,
                              tenon_reason* reason) {
  (void)context;
  (void)reason;
  return make_add(
      host, number(&build->call->fields[TENON_ADD_FWD_FIELD_ALPHA]), build->tuned_config, out);
}

/* ---- The builder target -------------------------------------------------------------------- */

static tenon_status target_claims(void* context, const tenon_device* device, uint32_t* yes) {
  (void)context;
  (void)device;
  *yes = 0;
  return TENON_OK;
}

static tenon_status target_build(void* context,
                                 const tenon_host* host,
                                 uint64_t op,
                                 const tenon_build* build,
                                 const tenon_tensor* const* specs,
                                 const uint32_t* spec_first,
                                 uint64_t n_inputs,
                                 const tenon_value* params,
                                 uint64_t n_params,
                                 tenon_kernel* out,
                                 tenon_reason* reason) {
  (void)context;
  if (op != 0 || n_inputs != 2 || n_params != 1 ||
      specs[spec_first[0]]->rank != specs[spec_first[1]]->rank) {
    say(reason, "the golden target adds two tensors of one rank");
    return TENON_UNAVAILABLE;
  }
  return make_add(host, number(&params[0]), build->tuned_config, out);
}

/* ---- The device kind: one device in host memory --------------------------------------------- */

static tenon_status device_count(void* context, uint32_t* count, tenon_reason* reason) {
  (void)context;
  (void)reason;
  *count = 1;
  return TENON_OK;
}

static tenon_status device_describe(void* context,
                                    uint32_t index,
                                    tenon_device* out,
                                    tenon_reason* reason) {
  static const tenon_str arch = TEXT("g1");
  static const tenon_str kind = TEXT("golden");
  static const tenon_str name = TEXT("a golden device");
  (void)context;
  (void)reason;
  out->kind = kind;
  out->arch = arch;
  out->runs_archs = &arch;
  out->n_runs_archs = 1;
  out->index = (int32_t)index;
  out->dlpack_type = 12;
  out->unit_count = 1;
  out->warp_size = 1;
  out->flags = TENON_DEVICE_FLAG_SYNCHRONOUS | TENON_DEVICE_FLAG_HOST_MEMORY;
  out->name = name;
  return TENON_OK;
}

static tenon_status device_alloc(void* context,
                                 const tenon_device* device,
                                 uint32_t memory_kind,
                                 uint64_t size_bytes,
                                 void* stream,
                                 void** out,
                                 tenon_reason* reason) {
  (void)context;
  (void)device;
  (void)memory_kind;
  (void)stream;
  (void)reason;
  *out = the_host->alloc(the_host, size_bytes, 256);
  return *out != NULL ? TENON_OK : TENON_OUT_OF_MEMORY;
}

static tenon_status device_free(void* context,
                                const tenon_device* device,
                                uint32_t memory_kind,
                                void* memory,
                                uint64_t size_bytes,
                                void* stream,
                                tenon_reason* reason) {
  (void)context;
  (void)device;
  (void)memory_kind;
  (void)stream;
  (void)reason;
  the_host->dealloc(the_host, memory, size_bytes, 256);
  return TENON_OK;
}

static tenon_status device_copy(void* context,
                                const tenon_device* dst_device,
                                void* dst,
                                const tenon_device* src_device,
                                const void* src,
                                uint64_t size_bytes,
                                void* stream,
                                tenon_reason* reason) {
  (void)context;
  (void)dst_device;
  (void)src_device;
  (void)stream;
  (void)reason;
  for (uint64_t i = 0; i < size_bytes; ++i) ((char*)dst)[i] = ((const char*)src)[i];
  return TENON_OK;
}

static tenon_status device_synchronize(void* context,
                                       const tenon_device* device,
                                       tenon_reason* reason) {
  (void)context;
  (void)device;
  (void)reason;
  return TENON_OK;
}

static tenon_status device_last_error(void* context,
                                      const tenon_device* device,
                                      uint32_t clear,
                                      tenon_reason* reason) {
  (void)context;
  (void)device;
  (void)clear;
  (void)reason;
  return TENON_OK;
}

/* ---- The plugin ----------------------------------------------------------------------------- */

static const tenon_str kDevices[] = {TEXT("cpu"), TEXT("golden")};
static const tenon_str kOps[] = {TEXT("AddFwdOp")};
static const tenon_str kPreferredOver[] = {TEXT("cpu:*")};
static const tenon_storage kStorage[] = {{{TENON_DTYPE_FLOAT, 32, 1}, {TENON_DTYPE_FLOAT, 32, 1}}};
static const tenon_option kOptions[] = {
    {TEXT("bias"), TENON_VALUE_INT, 0, {TENON_VALUE_INT, 0, 0, 0, 0, NULL}},
};

static tenon_status init(const tenon_host* host, void** self, tenon_reason* reason) {
  const tenon_str bias = TEXT("bias");
  const tenon_str key = TEXT("golden/item");
  const tenon_str nothing = TEXT("golden.no.such.extension");
  tenon_value value = {TENON_VALUE_NONE, 0, 0, 0, 0, NULL};
  char item[8];
  uint64_t size_bytes = 0;
  tenon_status status;
  the_host = host;
  *self = &option_bias;
  if (!TENON_HAS(host, extension)) return TENON_INCOMPATIBLE;
  if (host->option(host, bias, &value) != TENON_OK || value.kind != TENON_VALUE_INT) {
    say(reason, "the host does not give the option that was declared");
    return TENON_INTERNAL;
  }
  option_bias = value.i;
  status = host->cache_get(host, key, item, sizeof(item), &size_bytes);
  if (status == TENON_NOT_FOUND) status = host->cache_put(host, key, "golden", 6);
  if (status != TENON_OK && status != TENON_IO) {
    say(reason, "the host's store does not answer");
    return TENON_INTERNAL;
  }
  if (host->extension(host, nothing, 1) != NULL) {
    say(reason, "the host has an extension that nobody wrote");
    return TENON_INTERNAL;
  }
  host->log(host, TENON_LOG_INFO, key);
  return TENON_OK;
}

static tenon_status enumerate(void* self, const tenon_registrar* registrar, tenon_reason* reason) {
  const tenon_kernel_type row = {
      .struct_size = sizeof(row),
      .op = TEXT("AddFwdOp"),
      .interface = TEXT("add_fwd"),
      .key = TEXT("add"),
      .contract = &tenon_contract_add_fwd,
      .devices = kDevices,
      .n_devices = 2,
      .preferred_over = kPreferredOver,
      .n_preferred_over = 1,
      .storage = kStorage,
      .n_storage = 1,
      .layouts = TENON_LAYOUTS_ALL,
      .flags = TENON_KERNEL_DETERMINISTIC | TENON_KERNEL_HANDLES_PADDING,
      .accumulate = {TENON_DTYPE_FLOAT, 64, 1},
      .refuse = add_refuse,
      .identity = add_identity,
      .build = add_build,
  };
  const tenon_target target = {
      .struct_size = sizeof(target),
      .name = TEXT("golden-target"),
      .kinds = kDevices,
      .ops = kOps,
      .n_kinds = 2,
      .n_ops = 1,
      .claims = target_claims,
      .build = target_build,
  };
  const tenon_device_kind kind = {
      .struct_size = sizeof(kind),
      .kind = TEXT("golden"),
      .dlpack_type = 12,
      .flags = TENON_DEVICE_FLAG_SYNCHRONOUS | TENON_DEVICE_FLAG_HOST_MEMORY,
      .count = device_count,
      .describe = device_describe,
      .alloc = device_alloc,
      .free = device_free,
      .copy = device_copy,
      .synchronize = device_synchronize,
      .last_error = device_last_error,
  };
  tenon_status status = registrar->add_device_kind(registrar->context, &kind, reason);
  if (self != &option_bias) return TENON_INTERNAL;
  if (status == TENON_OK)
    status = registrar->add_kernel_types(registrar->context, &row, 1, sizeof(row), reason);
  if (status == TENON_OK) status = registrar->add_target(registrar->context, &target, reason);
  return status;
}

static void shutdown(void* self) { *(int64_t*)self = 0; }

const tenon_plugin TENON_PLUGIN_OBJECT = {
    .struct_size = sizeof(tenon_plugin),
    .abi_major = TENON_ABI_MAJOR,
    .abi_minor = TENON_ABI_MINOR,
    .min_host_minor = TENON_TARGET_MINOR,
    .id = TEXT("golden"),
    .version = TEXT("1.0.0"),
    .vendor = TEXT("Tenon"),
    .needs_kinds = kDevices,
    .options = kOptions,
    .n_needs_kinds = 1,
    .n_options = 1,
    .init = init,
    .enumerate = enumerate,
    .shutdown = shutdown,
};
