/* A plugin of some minor of ABI 1, which adds dense float32 tensors on the CPU. -D picks the
 * minors, and whether its structs are longer or shorter than this header's. */
#include <stdlib.h>
#include <string.h>

/* The object is defined below under a type of another size, so its declaration gets another name.
 */
#define TENON_PLUGIN_OBJECT tenon_plugin_as_declared
#include "tenon/contracts/elementwise.h"
#include "tenon/plugin.h"

#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }

TENON_PLUGIN_NOTE(VERSIONED_ID, "1.0.0");

static tenon_status add_launch(void* state, const tenon_launch* launch, tenon_reason* reason) {
  const tenon_tensor* const* tensors = launch->tensors;
  const tenon_tensor* to = tensors[2];
  int64_t count = 1;
  (void)state;
  (void)reason;
  for (int32_t i = 0; i < to->rank; ++i) count *= to->shape[i];
  for (int64_t i = 0; i < count; ++i) {
    ((float*)to->data)[i] =
        ((const float*)tensors[0]->data)[i] + ((const float*)tensors[1]->data)[i];
  }
  return TENON_OK;
}

static void add_destroy(void* state) { free(state); }

static tenon_status add_build(void* context,
                              const tenon_host* host,
                              const tenon_build* build,
                              tenon_kernel* out,
                              tenon_reason* reason) {
  (void)context;
  (void)host;
  (void)build;
  (void)reason;
  out->state = malloc(1);
  out->launch = add_launch;
  out->destroy = add_destroy;
  return TENON_OK;
}

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
  static const tenon_str arch = TEXT("v1");
  static const tenon_str kind = TEXT("cpu");
  static const tenon_str name = TEXT("a host");
  (void)context;
  (void)reason;
  out->kind = kind;
  out->arch = arch;
  out->runs_archs = &arch;
  out->n_runs_archs = 1;
  out->index = (int32_t)index;
  out->dlpack_type = 1;
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
  *out = aligned_alloc(256, (size_bytes + 255) / 256 * 256);
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
  (void)size_bytes;
  free(memory);
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

static tenon_status init(const tenon_host* host, void** self, tenon_reason* reason) {
  *self = NULL;
  if (host->abi_major == 1 && host->abi_minor == 2) return TENON_OK;
  strcpy(reason->text, "the host does not say that it is 1.2");
  return TENON_INCOMPATIBLE;
}

/* A row as a newer minor could have it: more fields at its end, whose zero would mean the old
 * behaviour. */
struct longer_row {
  tenon_kernel_type known;
  uint64_t newer[8];
};

static tenon_status enumerate(void* self, const tenon_registrar* registrar, tenon_reason* reason) {
  static const tenon_str devices[] = {TEXT("cpu")};
  static const tenon_storage storage[] = {{{TENON_DTYPE_FLOAT, 32, 1}, {TENON_DTYPE_FLOAT, 32, 1}}};
  struct longer_row rows[2];
  const tenon_device_kind kind = {
      .struct_size = sizeof(kind),
      .kind = TEXT("cpu"),
      .dlpack_type = 1,
      .flags = TENON_DEVICE_FLAG_SYNCHRONOUS | TENON_DEVICE_FLAG_HOST_MEMORY,
      .count = device_count,
      .describe = device_describe,
      .alloc = device_alloc,
      .free = device_free,
      .copy = device_copy,
      .synchronize = device_synchronize,
      .last_error = device_last_error,
  };
  const tenon_status status = registrar->add_device_kind(registrar->context, &kind, reason);
  (void)self;
  if (status != TENON_OK) return status;
  memset(rows, 0xa5, sizeof rows);
  for (int i = 0; i < 2; ++i) {
    tenon_kernel_type* row = &rows[i].known;
    memset(row, 0, sizeof *row);
    row->struct_size = sizeof rows[i];
    row->op.data = "AddFwdOp";
    row->op.size_bytes = 8;
    row->interface.data = "add_fwd";
    row->interface.size_bytes = 7;
    row->key.data = i == 0 ? "fast" : "slow";
    row->key.size_bytes = 4;
    row->contract = &tenon_contract_add_fwd;
    row->devices = devices;
    row->n_devices = 1;
    row->storage = storage;
    row->n_storage = 1;
    row->flags = TENON_KERNEL_HANDLES_PADDING | (i == 0 ? 0 : TENON_KERNEL_GENERAL);
    row->build = add_build;
  }
  return registrar->add_kernel_types(registrar->context, &rows[0].known, 2, sizeof rows[0], reason);
}

/* The object with a tail that a newer minor added, or without the last field, which an older one
 * did not have. */
struct exported {
  uint64_t struct_size;
  uint32_t abi_major, abi_minor, min_host_minor, required_features;
  tenon_str id, version, vendor, manifest;
  const tenon_str* needs_kinds;
  const tenon_option* options;
  uint64_t n_needs_kinds, n_options;
  tenon_status (*init)(const tenon_host* host, void** self, tenon_reason* reason);
  tenon_status (*enumerate)(void* self, const tenon_registrar* registrar, tenon_reason* reason);
#ifndef VERSIONED_SHORTER
  void (*shutdown)(void* self);
#endif
#ifdef VERSIONED_LONGER
  uint64_t newer[64];
#endif
};

extern const struct exported tenon_plugin_v0 __attribute__((visibility("protected")));
const struct exported tenon_plugin_v0 = {
    .struct_size = sizeof(struct exported),
    .abi_major = TENON_ABI_MAJOR,
    .abi_minor = TENON_ABI_MINOR,
    .min_host_minor = TENON_TARGET_MINOR,
    .id = TEXT(VERSIONED_ID),
    .version = TEXT("1.0.0"),
    .vendor = TEXT("Tests"),
    .init = init,
    .enumerate = enumerate,
#ifdef VERSIONED_LONGER
    .newer = {0xa5a5a5a5a5a5a5a5u, 0xa5a5a5a5a5a5a5a5u, 0xa5a5a5a5a5a5a5a5u},
#endif
};
