/* A plugin in plain C: RMSNorm of dense float32 rows on the CPU, with nothing but plugin.h and one
 * contract. */
#include <math.h>
#include <stdlib.h>

#include <tenon/contracts/norm.h>
#include <tenon/plugin.h>

#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }

TENON_PLUGIN_NOTE("acme-c", "0.1.0");

/* What a built kernel keeps. Here the build depends on eps alone; m and n are read at the launch.
 */
struct rows {
  double eps;
};

static tenon_status rows_launch(void* state, const tenon_launch* launch, tenon_reason* reason) {
  const struct rows* rows = state;
  const tenon_tensor* x = launch->tensors[launch->arg_first[TENON_RMS_NORM_FWD_ARG_X]];
  const tenon_tensor* weight = launch->tensors[launch->arg_first[TENON_RMS_NORM_FWD_ARG_WEIGHT]];
  const tenon_tensor* output = launch->tensors[launch->arg_first[TENON_RMS_NORM_FWD_ARG_OUTPUT]];
  const int64_t m = x->shape[0];
  const int64_t n = x->shape[1];
  const float* from = (const float*)(const void*)((const char*)x->data + x->byte_offset);
  const float* scale =
      weight == NULL ? NULL
                     : (const float*)(const void*)((const char*)weight->data + weight->byte_offset);
  float* to = (float*)(void*)((char*)output->data + output->byte_offset);
  (void)reason;
  for (int64_t row = 0; row < m; ++row, from += n, to += n) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) sum += (double)from[i] * from[i];
    const double factor = 1.0 / sqrt(sum / (double)n + rows->eps);
    for (int64_t i = 0; i < n; ++i) {
      to[i] = (float)(from[i] * factor * (scale == NULL ? 1.0 : scale[i]));
    }
  }
  return TENON_OK;
}

static void rows_destroy(void* state) { free(state); }

/* Says what is not served. Layouts and dtypes need no word here: the row declares them. */
static tenon_status rows_refuse(void* context,
                                const tenon_device* device,
                                const tenon_call* call,
                                tenon_reason* reason) {
  const tenon_value* n = &call->fields[TENON_RMS_NORM_FWD_FIELD_N];
  static const char kText[] = "serves rows of at most 65536 elements";
  (void)context;
  (void)device;
  if (n->i <= 65536) return TENON_OK;
  reason->code = TENON_REASON_SIZE;
  reason->arg_index = (int32_t)TENON_RMS_NORM_FWD_ARG_X;
  reason->attribute[0] = 'n';
  reason->expected.kind = TENON_VALUE_INT;
  reason->expected.i = 65536;
  reason->actual = *n;
  for (size_t i = 0; i < sizeof(kText); ++i) reason->text[i] = kText[i];
  return TENON_REFUSED;
}

static double eps_of(const tenon_call* call) {
  const tenon_value* eps = &call->fields[TENON_RMS_NORM_FWD_FIELD_EPS];
  return eps->kind == TENON_VALUE_FLOAT ? eps->f : 1.1920928955078125e-07; /* float32's epsilon */
}

/* Calls whose bytes are equal share one kernel. */
static tenon_status rows_identity(void* context,
                                  const tenon_device* device,
                                  const tenon_call* call,
                                  void* bytes,
                                  uint64_t capacity_bytes,
                                  uint64_t* size_bytes) {
  const union {
    double eps;
    unsigned char bytes[sizeof(double)];
  } key = {eps_of(call)};
  (void)context;
  (void)device;
  *size_bytes = sizeof(key);
  if (capacity_bytes < sizeof(key)) return TENON_OK;
  for (size_t i = 0; i < sizeof(key); ++i) ((unsigned char*)bytes)[i] = key.bytes[i];
  return TENON_OK;
}

static tenon_status rows_build(void* context,
                               const tenon_host* host,
                               const tenon_build* build,
                               tenon_kernel* out,
                               tenon_reason* reason) {
  struct rows* rows = malloc(sizeof(*rows));
  (void)context;
  (void)host;
  (void)reason;
  if (rows == NULL) return TENON_OUT_OF_MEMORY;
  rows->eps = eps_of(build->call);
  out->state = rows;
  out->launch = rows_launch;
  out->destroy = rows_destroy;
  return TENON_OK;
}

static const tenon_str kDevices[] = {TEXT("cpu")};
static const tenon_str kPreferredOver[] = {TEXT("cpu:*")};
static const tenon_storage kStorage[] = {
    {{TENON_DTYPE_FLOAT, 32, 1}, {TENON_DTYPE_FLOAT, 32, 1}},
};

static tenon_status init(const tenon_host* host, void** self, tenon_reason* reason) {
  (void)host;
  (void)reason;
  *self = NULL;
  return TENON_OK;
}

static tenon_status enumerate(void* self, const tenon_registrar* registrar, tenon_reason* reason) {
  const tenon_kernel_type row = {
      .struct_size = sizeof(row),
      .op = TEXT("RMSNormFwdOp"),
      .interface = TEXT("rms_norm_fwd"),
      .key = TEXT("rows"),
      .contract = &tenon_contract_rms_norm_fwd,
      .devices = kDevices,
      .n_devices = 1,
      .preferred_over = kPreferredOver,
      .n_preferred_over = 1,
      .storage = kStorage,
      .n_storage = 1,
      .flags =
          TENON_KERNEL_DETERMINISTIC | TENON_KERNEL_HANDLES_PADDING | TENON_KERNEL_SEQUENTIAL_SUMS,
      .accumulate = {TENON_DTYPE_FLOAT, 64, 1},
      .refuse = rows_refuse,
      .identity = rows_identity,
      .build = rows_build,
  };
  (void)self;
  return registrar->add_kernel_types(registrar->context, &row, 1, sizeof(row), reason);
}

const tenon_plugin TENON_PLUGIN_OBJECT = {
    .struct_size = sizeof(tenon_plugin),
    .abi_major = TENON_ABI_MAJOR,
    .abi_minor = TENON_ABI_MINOR,
    .min_host_minor = TENON_TARGET_MINOR,
    .id = TEXT("acme-c"),
    .version = TEXT("0.1.0"),
    .vendor = TEXT("Acme"),
    .needs_kinds = kDevices,
    .n_needs_kinds = 1,
    .init = init,
    .enumerate = enumerate,
};
