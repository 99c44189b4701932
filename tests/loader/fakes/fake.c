/* A plugin in plain C whose faults are chosen by -D: the loader's tests build it several times. */
#ifdef FAKE_DEEDS
#define _GNU_SOURCE /* dladdr */
#endif
#include <string.h>

#include "tenon/plugin.h"

#ifdef FAKE_DEEDS
#include "deed.h"
#define DEED(where) deed(where)
#else
#define DEED(where) (void)0
#endif

#ifndef FAKE_ID
#define FAKE_ID "fake"
#endif
#ifndef FAKE_VERSION
#define FAKE_VERSION "1.0.0"
#endif
#ifndef FAKE_INIT
#define FAKE_INIT 0 /* 0 works, 1 fails with a text, 2 fails without one */
#endif
#ifndef FAKE_STRUCT_SIZE
#define FAKE_STRUCT_SIZE sizeof(tenon_plugin)
#endif

#define STR(text) \
  { text, sizeof(text) - 1 }

#ifdef FAKE_NOTE_VERSION
TENON_PLUGIN_NOTE_WITH(FAKE_ID, FAKE_NOTE_VERSION, "", "");
#elif !defined(FAKE_NO_NOTE)
#ifndef FAKE_DEPENDS
#define FAKE_DEPENDS "/etc/fake-driver-version"
#endif
TENON_PLUGIN_NOTE_WITH(FAKE_ID, FAKE_VERSION, "a2\na3", FAKE_DEPENDS);
#endif

#ifdef FAKE_MISSING_SYMBOL
extern void tenon_fake_nobody_defines_this(void);
#endif

static void say(const tenon_host* host, const char* text) {
  tenon_str line;
  line.data = text;
  line.size_bytes = strlen(text);
  host->log(host, TENON_LOG_INFO, line);
}

static const tenon_host* the_host;

static tenon_status fake_init(const tenon_host* host, void** self, tenon_reason* reason) {
  (void)self;
  (void)reason;
  the_host = host;
  DEED("init");
#ifdef FAKE_MISSING_SYMBOL
  tenon_fake_nobody_defines_this();
#endif
  say(host, "init of " FAKE_ID);
#ifdef FAKE_OPTIONS
  {
    tenon_value threads;
    tenon_str name = STR("threads");
    memset(&threads, 0, sizeof threads);
    if (host->option(host, name, &threads) != TENON_OK) return TENON_INTERNAL;
    say(host, threads.i == 4 ? "threads is 4" : threads.i == 1 ? "threads is 1" : "threads is odd");
  }
#endif
#ifdef FAKE_CACHE
  {
    tenon_str key = STR("kernel/1");
    char bytes[16];
    uint64_t size = 0;
    tenon_status status = host->cache_get(host, key, bytes, sizeof bytes, &size);
    say(host,
        status == TENON_OK && size == 5 && memcmp(bytes, "hello", 5) == 0 ? "cache hit"
        : status == TENON_NOT_FOUND                                       ? "cache miss"
                                                                          : "cache odd");
    status = host->cache_put(host, key, "hello", 5);
    say(host, status == TENON_OK ? "cache put" : "cache put refused");
  }
#endif
#if FAKE_INIT == 1
  strcpy(reason->text, "the license server is asleep");
  return TENON_UNAVAILABLE;
#elif FAKE_INIT == 2
  return TENON_UNAVAILABLE;
#else
  return TENON_OK;
#endif
}

#ifdef FAKE_KIND
static tenon_status count(void* context, uint32_t* out, tenon_reason* reason) {
  (void)context;
  (void)reason;
  DEED("count");
  *out = 3;
  return TENON_OK;
}
static tenon_status describe(void* context,
                             uint32_t index,
                             tenon_device* out,
                             tenon_reason* reason) {
  static const tenon_str arch = STR("a2");
  static const tenon_str kind = STR(FAKE_KIND);
  (void)context;
  (void)reason;
  DEED("describe");
  out->kind = kind;
  out->arch = arch;
  out->runs_archs = &arch;
  out->n_runs_archs = 1;
  out->index = (int32_t)index;
  out->warp_size = 1;
  out->flags = TENON_DEVICE_FLAG_SYNCHRONOUS | TENON_DEVICE_FLAG_HOST_MEMORY;
  return TENON_OK;
}
static tenon_status alloc(void* context,
                          const tenon_device* device,
                          uint32_t kind,
                          uint64_t size_bytes,
                          void* stream,
                          void** out,
                          tenon_reason* reason) {
  (void)context;
  (void)device;
  (void)kind;
  (void)stream;
  (void)reason;
  *out = the_host->alloc(the_host, size_bytes, 256);
  return *out != NULL ? TENON_OK : TENON_OUT_OF_MEMORY;
}
static tenon_status give_back(void* context,
                              const tenon_device* device,
                              uint32_t kind,
                              void* memory,
                              uint64_t size_bytes,
                              void* stream,
                              tenon_reason* reason) {
  (void)context;
  (void)device;
  (void)kind;
  (void)stream;
  (void)reason;
  the_host->dealloc(the_host, memory, size_bytes, 256);
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
  (void)src_device;
  (void)stream;
  (void)reason;
  memcpy(dst, src, size_bytes);
  return TENON_OK;
}
static tenon_status synchronize(void* context, const tenon_device* device, tenon_reason* reason) {
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
#endif

static tenon_status fake_enumerate(void* self,
                                   const tenon_registrar* registrar,
                                   tenon_reason* reason) {
  (void)self;
  (void)registrar;
  (void)reason;
  DEED("enumerate");
  say(the_host, "enumerate of " FAKE_ID);
#ifdef FAKE_KIND
  {
    tenon_device_kind kind;
    tenon_str name = STR(FAKE_KIND);
    tenon_status status;
    memset(&kind, 0, sizeof kind);
    kind.struct_size = sizeof kind;
    kind.kind = name;
    kind.count = count;
    kind.describe = describe;
    kind.alloc = alloc;
    kind.free = give_back;
    kind.copy = copy;
    kind.synchronize = synchronize;
    kind.last_error = last_error;
    status = registrar->add_device_kind(registrar->context, &kind, reason);
    if (status != TENON_OK) return status;
  }
#endif
#ifdef FAKE_ENUMERATE_FAILS
  strcpy(reason->text, "the second table is missing");
  return TENON_INTERNAL;
#else
  return TENON_OK;
#endif
}

static void fake_shutdown(void* self) {
  (void)self;
  say(the_host, "shutdown of " FAKE_ID);
}

#ifdef FAKE_OPTIONS
static const tenon_option options[] = {
    {STR("threads"), TENON_VALUE_INT, 0, {TENON_VALUE_INT, 0, 0, 1, 0, NULL}},
    {STR("mode"), TENON_VALUE_STR, 0, {TENON_VALUE_STR, 0, 4, 0, 0, "fast"}},
};
#endif

#ifndef FAKE_NO_ENTRY
const tenon_plugin TENON_PLUGIN_OBJECT = {
    .struct_size = FAKE_STRUCT_SIZE,
#ifdef FAKE_TABLE_MINOR
    .abi_major = TENON_ABI_MAJOR,
    .abi_minor = FAKE_TABLE_MINOR,
#else
    .abi_major = TENON_ABI_MAJOR,
    .abi_minor = TENON_ABI_MINOR,
#endif
    .min_host_minor = TENON_TARGET_MINOR,
#ifdef FAKE_FEATURE
    .required_features = FAKE_FEATURE,
#endif
    .id = STR(FAKE_ID),
    .version = STR(FAKE_VERSION),
#ifdef FAKE_VENDOR
    .vendor = STR(FAKE_VENDOR),
#else
    .vendor = STR("Tests"),
#endif
#ifdef FAKE_OPTIONS
    .options = options,
    .n_options = sizeof options / sizeof *options,
#endif
    .init = fake_init,
#ifndef FAKE_NO_ENUMERATE
    .enumerate = fake_enumerate,
#endif
    .shutdown = fake_shutdown,
};
#endif
#if defined(FAKE_NO_ENTRY) || defined(FAKE_NO_ENUMERATE)
/* Keeps the functions in use in the builds that leave them out of the table. */
const void* const tenon_fake_unused[] = {
    (const void*)&fake_init, (const void*)&fake_enumerate, (const void*)&fake_shutdown};
#endif
