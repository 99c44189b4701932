/* A plugin that was built against contracts/v1: it knows two dtypes, two modes and two inputs of
 * its op. */
#include "tenon/plugin.h"

#include "tenon/contracts/blend.h"

#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }

TENON_PLUGIN_NOTE("blend", "1.0.0");

static int only_kernel; /* the state of every kernel: its address */

static tenon_status launch(void* state, const tenon_launch* call, tenon_reason* reason) {
  const tenon_tensor* x = call->tensors[call->arg_first[TENON_BLEND_FWD_ARG_X]];
  const tenon_tensor* y = call->tensors[call->arg_first[TENON_BLEND_FWD_ARG_Y]];
  const tenon_tensor* to = call->tensors[call->arg_first[TENON_BLEND_FWD_ARG_OUTPUT]];
  const tenon_value* mode = &call->call->fields[TENON_BLEND_FWD_FIELD_MODE];
  const double factor = mode->count == 6 ? 0.5 : 1.0;
  int64_t count = 1;
  (void)state;
  (void)reason;
  if (call->n_args != 3 || call->call->n_fields != 3)
    return TENON_INTERNAL; /* its own contract's, always */
  for (int32_t i = 0; i < to->rank; ++i) count *= to->shape[i];
  for (int64_t i = 0; i < count; ++i) {
    if (to->dtype.bits == 32) {
      ((float*)to->data)[i] =
          (float)(factor * (((const float*)x->data)[i] + ((const float*)y->data)[i]));
    } else {
      ((double*)to->data)[i] = factor * (((const double*)x->data)[i] + ((const double*)y->data)[i]);
    }
  }
  return TENON_OK;
}
static void destroy(void* state) { (void)state; }

static tenon_status build(void* context,
                          const tenon_host* host,
                          const tenon_build* request,
                          tenon_kernel* out,
                          tenon_reason* reason) {
  (void)context;
  (void)host;
  (void)request;
  (void)reason;
  out->state = &only_kernel;
  out->launch = launch;
  out->destroy = destroy;
  return TENON_OK;
}

static tenon_status init(const tenon_host* host, void** self, tenon_reason* reason) {
  (void)host;
  (void)reason;
  *self = NULL;
  return TENON_OK;
}

static tenon_status enumerate(void* self, const tenon_registrar* registrar, tenon_reason* reason) {
  static const tenon_str devices[] = {TEXT("cpu")};
  const tenon_kernel_type row = {
      .struct_size = sizeof(row),
      .op = TEXT("BlendFwdOp"),
      .interface = TEXT("blend_fwd"),
      .key = TEXT("old"),
      .contract = &tenon_contract_blend_fwd,
      .devices = devices,
      .n_devices = 1,
      .flags = TENON_KERNEL_HANDLES_PADDING,
      .build = build,
  };
  (void)self;
  return registrar->add_kernel_types(registrar->context, &row, 1, sizeof(row), reason);
}

const tenon_plugin TENON_PLUGIN_OBJECT = {
    .struct_size = sizeof(tenon_plugin),
    .abi_major = TENON_ABI_MAJOR,
    .abi_minor = TENON_ABI_MINOR,
    .min_host_minor = TENON_TARGET_MINOR,
    .id = TEXT("blend"),
    .version = TEXT("1.0.0"),
    .vendor = TEXT("Tests"),
    .init = init,
    .enumerate = enumerate,
};
