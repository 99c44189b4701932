/* The C ABI between Tenon and a plugin: every type that crosses, and nothing else.
 *
 * A plugin is one shared object, NAME.tenon.so, that exports one constant object of type
 * tenon_plugin under the name TENON_PLUGIN_SYMBOL, and carries an identity note. It links against
 * nothing of Tenon.
 *
 * What holds for every declaration below, so that no comment repeats it:
 *
 * Strings      (pointer, size) in UTF-8, not terminated; borrowed for the call. A size of 0 may
 *              come with a null pointer. Char arrays are terminated; longer text is cut.
 * Tables       what a table that a plugin hands over points to is static: valid for the process
 *              and never changed. What the host hands over is borrowed for the call.
 * Ownership    who allocates, frees; nothing is freed by the other side.
 * Exceptions   none crosses, in either direction, nor does longjmp.
 * Out          the host zeroes what a callee fills, and sets its struct_size. A callee that
 *              fails need write nothing but `reason`.
 * Optional     a function that is not marked Required may be null; its comment says what null
 *              means. A missing required one rejects the plugin.
 * struct_size  first field of every struct that can grow: the size that its writer knew. A
 *              reader uses a field only if it lies wholly inside (TENON_HAS). Zero in a field
 *              means what was meant before the field existed. Frozen structs have none and
 *              never grow.
 * Threads      [any-thread], several at a time, also on one object; [load-thread] is one at a
 *              time. The host holds no lock. A function that changes the thread's current
 *              device restores it.
 * Errors       any function may give OUT_OF_MEMORY, DEVICE, INTERNAL; others are listed.
 * Since        ABI 0.1, unless a declaration says otherwise.
 */
#ifndef TENON_PLUGIN_H
#define TENON_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using): this header is C11 first. */

/* ---- Version ------------------------------------------------------------------------------ */

/// The ABI that this header describes. Another major never loads. While the major is 0 the minors
/// must be equal; from 1 on a plugin loads where its min_host_minor is at most the host's minor.
/// TENON_ABI_TEST_MAJOR and TENON_ABI_TEST_MINOR exist for tests of that rule alone.
#ifdef TENON_ABI_TEST_MAJOR
#define TENON_ABI_MAJOR TENON_ABI_TEST_MAJOR
#else
#define TENON_ABI_MAJOR 0u
#endif
#ifdef TENON_ABI_TEST_MINOR
#define TENON_ABI_MINOR TENON_ABI_TEST_MINOR
#else
#define TENON_ABI_MINOR 1u
#endif

/// The oldest host minor that the plugin is meant for; define it before the include to hide what
/// is newer. min_host_minor is this number, so no vendor types it by hand.
#ifndef TENON_TARGET_MINOR
#define TENON_TARGET_MINOR TENON_ABI_MINOR
#endif
#if TENON_TARGET_MINOR > TENON_ABI_MINOR
#error "TENON_TARGET_MINOR is newer than this header"
#endif
#if TENON_ABI_MAJOR == 0 && TENON_TARGET_MINOR != TENON_ABI_MINOR
#error \
    "while the ABI's major is 0, a plugin serves its own minor only: leave TENON_TARGET_MINOR unset"
#endif

/// Name of the one exported object. A new major gets a new name.
#define TENON_PLUGIN_SYMBOL "tenon_plugin_v0"

/// The object's name in code: `const tenon_plugin TENON_PLUGIN_OBJECT = {...};`. A static build
/// (TENON_PLUGIN_STATIC, set by tenon_add_plugin(... STATIC)) calls it tenon_plugin_v0_<id>, with
/// _ for -, exports nothing and carries no note.
#ifndef TENON_PLUGIN_OBJECT
#define TENON_PLUGIN_OBJECT tenon_plugin_v0
#endif

/// Visibility of the exported object: seen by the loader, and never replaced by a host's own
/// symbol of that name.
#if defined(__GNUC__) && !defined(TENON_PLUGIN_STATIC)
#define TENON_EXPORT __attribute__((visibility("protected")))
#else
#define TENON_EXPORT
#endif

/// True if `field` lies wholly inside the part of *object that its writer filled; false for null.
/// `object` is evaluated several times.
#define TENON_HAS(object, field)                                                                \
  ((object) != NULL &&                                                                          \
   (object)->struct_size >= (uint64_t)((const char*)&(object)->field - (const char*)(object)) + \
                                sizeof((object)->field))

/* ---- Status and refusal reasons (append-only) --------------------------------------------- */

/// What a function returns: three classes that never mix.
/// OK       done.
/// REFUSED  from tenon_kernel_type.refuse alone: expected, with a reason, and another kernel type
///          may serve. From any other function it is a broken contract.
/// below 0  an error, which ends the call. An unknown value reads as INTERNAL.
typedef int32_t tenon_status;
#define TENON_OK ((tenon_status)0)
#define TENON_REFUSED ((tenon_status)1)
#define TENON_INVALID_ARGUMENT ((tenon_status)-1) /* the caller's fault */
#define TENON_NOT_FOUND ((tenon_status)-2)        /* no such option, cache item, extension */
#define TENON_ALREADY_EXISTS ((tenon_status)-3)   /* that name is taken */
#define TENON_UNAVAILABLE ((tenon_status)-4)      /* no driver, no device, no licence, for now */
#define TENON_INCOMPATIBLE ((tenon_status)-5)     /* versions that do not go together */
#define TENON_OUT_OF_MEMORY ((tenon_status)-6)    /* of the host or of a device */
#define TENON_IO ((tenon_status)-7)               /* a file could not be read or written */
#define TENON_DEVICE ((tenon_status)-8)           /* a driver or a device reports an error */
#define TENON_SHUT_DOWN ((tenon_status)-9)        /* after the explicit shutdown */
#define TENON_INTERNAL ((tenon_status)-10)        /* a bug of the callee */

/// Why a kernel type does not serve a call: tenon_reason.code beside TENON_REFUSED. 1 to 15 are
/// the host's, 16 to 0xffff a plugin's, from TENON_REASON_VENDOR on a vendor's own numbers.
#define TENON_REASON_NONE 0u
#define TENON_REASON_DEVICE_KIND 1u    /* not in `devices` */
#define TENON_REASON_ARCH 2u           /* no tag in common with the device */
#define TENON_REASON_DTYPE 3u          /* not in `storage` */
#define TENON_REASON_LAYOUT 4u         /* not in `layouts` */
#define TENON_REASON_DETERMINISM 5u    /* required, not declared */
#define TENON_REASON_CONTRACT_NEWER 6u /* uses what the plugin's contract does not list */
#define TENON_REASON_PRESENCE 16u      /* an optional argument is there, or is not */
#define TENON_REASON_RANK 17u
#define TENON_REASON_SIZE 18u      /* a size or a count */
#define TENON_REASON_ALIGNMENT 19u /* of an address */
#define TENON_REASON_WIDE 20u      /* offsets beyond 31 bits */
#define TENON_REASON_ALIAS 21u     /* an argument is the same view as another */
#define TENON_REASON_VALUE 22u     /* of one field */
#define TENON_REASON_COMBINATION 23u
#define TENON_REASON_DEVICE_LIMIT 24u /* shared memory, units, a feature of the device */
#define TENON_REASON_LIBRARY 25u      /* a library of the vendor is absent, too old, or says no */
#define TENON_REASON_OTHER 26u
#define TENON_REASON_VENDOR 0x10000u

/* ---- Strings, dtypes, tensors, values (frozen: these never grow) --------------------------- */

/// UTF-8 text. Frozen.
typedef struct tenon_str {
  const char* data;
  uint64_t size_bytes;
} tenon_str;

/// An element type, in DLPack's numbering; lanes is always 1. Frozen.
/// Source   https://github.com/dmlc/dlpack, DLDataType
typedef struct tenon_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} tenon_dtype;

/// tenon_dtype.code: DLPack's DLDataTypeCode.
#define TENON_DTYPE_INT 0u
#define TENON_DTYPE_UINT 1u
#define TENON_DTYPE_FLOAT 2u
#define TENON_DTYPE_BFLOAT 4u
#define TENON_DTYPE_COMPLEX 5u
#define TENON_DTYPE_BOOL 6u
#define TENON_DTYPE_FLOAT8_E4M3 8u
#define TENON_DTYPE_FLOAT8_E4M3FN 10u
#define TENON_DTYPE_FLOAT8_E4M3FNUZ 11u
#define TENON_DTYPE_FLOAT8_E5M2 12u
#define TENON_DTYPE_FLOAT8_E5M2FNUZ 13u
#define TENON_DTYPE_FLOAT8_E8M0FNU 14u
#define TENON_DTYPE_FLOAT4_E2M1FN 17u /* reserved: four-bit values cross as uint8 carriers */

/// Highest rank of a tensor.
#define TENON_MAX_RANK 16

/// A view of memory: the 48 bytes of DLPack's DLTensor. Frozen.
/// Shape    element (i0, ..., in) lies at data + byte_offset + sum(i_k * strides[k]) * element
///          size. Shape and strides count elements; strides is never null, and may hold 0 and
///          negative numbers. The stride of an axis of size 1, and all of an empty tensor, mean
///          nothing.
/// Memory   of the device of the call, tenon_launch.device; device_type and device_id are
///          informative. data may be null only where there are no elements. Aligned to the
///          element at least.
/// Owner    shape, strides and data are borrowed until the stream has passed the launch.
/// Source   https://github.com/dmlc/dlpack, DLTensor
typedef struct tenon_tensor {
  void* data;
  int32_t device_type;
  int32_t device_id;
  int32_t rank;
  tenon_dtype dtype;
  const int64_t* shape;
  const int64_t* strides;
  uint64_t byte_offset;
} tenon_tensor;

/// tenon_value.kind, and which of its fields then count.
#define TENON_VALUE_NONE 0u
#define TENON_VALUE_BOOL 1u   /* i: 0 or 1 */
#define TENON_VALUE_INT 2u    /* i */
#define TENON_VALUE_FLOAT 3u  /* f */
#define TENON_VALUE_DTYPE 4u  /* i: code | bits << 8 | lanes << 16 */
#define TENON_VALUE_STR 5u    /* data: count bytes of UTF-8 */
#define TENON_VALUE_INTS 6u   /* data: const int64_t[count] */
#define TENON_VALUE_FLOATS 7u /* data: const double[count] */
#define TENON_VALUE_LIST 8u   /* data: const tenon_value[count], any values, nested too */

/// A parameter, an option or a field of a call. Fields that do not count are 0. A list of ints is
/// INTS, of floats FLOATS, of anything else LIST; an empty one may be any of the three. The value
/// of an algebraic type is a LIST: its constructor's name, then its fields in order. Frozen.
typedef struct tenon_value {
  uint32_t kind;
  uint32_t flags; /* 0 */
  uint64_t count;
  int64_t i;
  double f;
  const void* data;
} tenon_value;

/* ---- What selection may read --------------------------------------------------------------- */

/// Layout of one argument as the flow passes it; axes of size 1 do not count. The first that
/// holds, from the top: reversed, expanded, then dense, inner, strided.
#define TENON_LAYOUT_DENSE 0u    /* row-major without gaps */
#define TENON_LAYOUT_INNER 1u    /* innermost stride is 1 */
#define TENON_LAYOUT_STRIDED 2u  /* any positive strides */
#define TENON_LAYOUT_EXPANDED 3u /* a stride of 0 over a size above 1 */
#define TENON_LAYOUT_REVERSED 4u /* a negative stride */
/// The bit of a layout in tenon_kernel_type.layouts; dense is always taken.
#define TENON_LAYOUT_BIT(layout) (1u << (layout))
#define TENON_LAYOUTS_ALL 0x1fu

/// What selection knows of one argument beside the call's fields. Of a list argument: present is
/// the count of its elements, layout the latest in the order of the numbers, align_log2 the
/// least, wide and alias_of those of any element. Frozen.
typedef struct tenon_arg_facts {
  uint32_t present;    /* 0: absent */
  uint32_t layout;     /* TENON_LAYOUT_* */
  uint32_t align_log2; /* log2 of the alignment of the first element's address, at most 8 */
  int32_t alias_of;    /* index of the earlier argument that is the very same view, or -1 */
  uint32_t wide;       /* 1 if some element's offset exceeds 2^31 - 1 elements */
  uint32_t reserved;
} tenon_arg_facts;

/// The immutable facts of one call, in the order of the contract that the plugin was built
/// against.
/// Owner    borrowed for the call; a kernel that needs a field later copies it.
typedef struct tenon_call {
  uint64_t struct_size;
  const tenon_value* fields;
  uint64_t n_fields;
  const tenon_arg_facts* args;
  uint64_t n_args;
} tenon_call;

/// tenon_device.flags and tenon_device_kind.flags.
#define TENON_DEVICE_FLAG_SYNCHRONOUS 1u /* launches have finished when they return */
#define TENON_DEVICE_FLAG_LOST 2u        /* the device cannot go on */
#define TENON_DEVICE_FLAG_HOST_MEMORY 4u /* the host may read and write its memory */

/// A device as its owner describes it: the facts that refusals, identities and builds may read.
/// Owner    strings and runs_archs are static.
typedef struct tenon_device {
  uint64_t struct_size;
  tenon_str kind;
  tenon_str arch;              /* the most specific tag */
  const tenon_str* runs_archs; /* every tag whose code runs here, arch itself first */
  uint64_t n_runs_archs;
  int32_t index;
  int32_t dlpack_type; /* DLDeviceType, informative */
  uint32_t unit_count; /* multiprocessors, compute units, cores */
  uint32_t warp_size;  /* lanes that run in step; 1 for a CPU */
  uint64_t memory_bytes;
  uint64_t shared_per_block_bytes;
  uint64_t shared_per_unit_bytes;
  uint64_t flags; /* TENON_DEVICE_FLAG_* */
  tenon_str name;
  tenon_str pci;  /* dddd:bb:dd.f in lower case, or empty */
  tenon_str uuid; /* or empty */
  void* native;   /* the owner's documented id; null in refuse and identity */
} tenon_device;

/// Data and text beside a status. The caller zeroes it, sets struct_size, and sets arg_index to
/// -1; the callee writes what it knows. Beside OK it is ignored (but see
/// tenon_device_kind.count).
/// REFUSED  code is at least 16, else it reads as OTHER; attribute, expected and actual are data
///          for explain; text is one sentence that says what is served and what was found.
/// Errors   code is 0 or a vendor's own number; text says what failed, on what, and why. Without
///          a text the host writes one of its own.
/// Owner    expected and actual hold no pointer, or one that is static. The host copies all at
///          once.
typedef struct tenon_reason {
  uint64_t struct_size;
  uint32_t code;     /* TENON_REASON_* with TENON_REFUSED */
  int32_t arg_index; /* argument at fault, or -1 */
  tenon_value expected;
  tenon_value actual;
  char attribute[64]; /* what of the call is at fault, such as "n" or "layout" */
  char text[256];     /* one sentence */
} tenon_reason;

/* ---- Contracts ------------------------------------------------------------------------------ */

/// tenon_field.kind: a TENON_VALUE_* number, or one of these, which say more than the value's
/// kind.
#define TENON_FIELD_NUMBER 16u /* an int or a float, kept apart */
#define TENON_FIELD_ENUM 17u   /* a string out of `values` */
#define TENON_FIELD_ADT 18u    /* a value of an algebraic type */
/// tenon_field.flags: the value may be none.
#define TENON_FIELD_OPTIONAL 1u

/// One field of a call, as the contract lists it. `values`: the members of an enum. Frozen.
typedef struct tenon_field {
  tenon_str name;
  uint32_t kind;
  uint32_t flags;
  const tenon_str* values;
  uint64_t n_values;
} tenon_field;

/// tenon_arg.role: whether a launch reads the argument, writes all of it, or both.
#define TENON_ROLE_IN 0u
#define TENON_ROLE_OUT 1u
#define TENON_ROLE_INOUT 2u
/// tenon_arg.flags: may be absent; is a list of tensors.
#define TENON_ARG_OPTIONAL 1u
#define TENON_ARG_LIST 2u

/// One argument of a launch, as the contract lists it. Frozen.
typedef struct tenon_arg {
  tenon_str name;
  const tenon_dtype* dtypes;
  uint64_t n_dtypes;
  uint32_t role;
  uint32_t flags;
} tenon_arg;

/// What an interface passes to a kernel, as it was when the plugin was built: generated into
/// tenon/contracts/<family>.h. The host gives each plugin its calls in the plugin's own order,
/// and refuses on its behalf (CONTRACT_NEWER) a call that uses what the contract does not list.
/// Owner    static
typedef struct tenon_contract {
  uint64_t struct_size;
  uint64_t hash; /* of the contract's canonical text; equal hashes need no comparison */
  const tenon_field* fields;
  uint64_t n_fields;
  const tenon_arg* args;
  uint64_t n_args;
} tenon_contract;

/* ---- Kernels -------------------------------------------------------------------------------- */

/// tenon_launch.flags.
#define TENON_LAUNCH_WIDE 1u /* every floating tensor is float64 (REFERENCE kernel types only) */

/// One launch.
/// Shape    tensors[arg_first[i] .. arg_first[i + 1]) is argument i in the contract's order: one
///          pointer, null where it is absent, or the elements of a list. arg_first has n_args + 1
///          entries. For a builder target's kernel `call` is null and the arguments are the op's
///          call-time inputs, construction-time tensors and outputs, each in manifest order, as
///          the caller gave them.
/// Memory   outputs do not overlap inputs, but where alias_of says that they are the same view.
///          workspace is 256-byte aligned and this launch's own until the stream has passed it.
/// Owner    everything is borrowed for the call; tensors' data until the stream has passed the
///          launch.
typedef struct tenon_launch {
  uint64_t struct_size;
  const tenon_device* device;
  const tenon_call* call;
  const tenon_tensor* const* tensors;
  const uint32_t* arg_first;
  uint64_t n_args;
  void* stream;    /* a stream of the device's kind */
  void* workspace; /* null where workspace_bytes is 0 */
  uint64_t workspace_bytes;
  uint64_t flags; /* TENON_LAUNCH_* */
} tenon_launch;

/// What a build made: one program for every call of one build identity.
/// Owner    state is the plugin's, from build until destroy.
typedef struct tenon_kernel {
  uint64_t struct_size;
  void* state;
  /// Bytes of workspace that a launch of this call needs; asked once per call key. `call` is null
  /// for a builder target's kernel. Null: none.
  tenon_status (*workspace)(void* state, const tenon_call* call, uint64_t* size_bytes);
  /// Required. Enqueues the work on launch->stream and returns without waiting for it; allocates
  /// nothing, synchronises nothing. On kind `cpu` the work is done when it returns.
  /// Threads  [any-thread] [stream-ordered]; also on one kernel with different streams.
  /// Errors   DEVICE what the driver says at once; later errors come from last_error.
  tenon_status (*launch)(void* state, const tenon_launch* launch, tenon_reason* reason);
  /// Tries variants on the given tensors, which hold nothing worth keeping, for at most
  /// budget_ns, and keeps the best for every later launch. May wait for the stream. Null: cannot
  /// tune.
  tenon_status (*tune)(void* state,
                       const tenon_launch* launch,
                       uint64_t budget_ns,
                       tenon_reason* reason);
  /// Writes the chosen variant as text that a later build can be given
  /// (tenon_build.tuned_config). Always sets *size_bytes to the whole size; writes nothing if
  /// that exceeds capacity_bytes. Null: nothing to say.
  tenon_status (*config)(void* state, char* text, uint64_t capacity_bytes, uint64_t* size_bytes);
  /// Required. Frees the state: once, when no launch is in flight any more.
  void (*destroy)(void* state);
} tenon_kernel;

/// What a build is for.
/// Owner    borrowed for the build, `device` included: a kernel copies the facts that it needs.
typedef struct tenon_build {
  uint64_t struct_size;
  const tenon_device* device;
  const tenon_call* call; /* null for a builder target */
  tenon_str tuned_config; /* text that config() gave earlier, or empty */
  uint64_t flags;         /* 0 */
} tenon_build;

/// A dtype that a kernel type serves, and what its tensors are stored as for the kernel: the
/// same, or another one that the flow casts to and from (bool as uint8). Frozen.
typedef struct tenon_storage {
  tenon_dtype dtype;
  tenon_dtype stored_as;
} tenon_storage;

struct tenon_host;

/// tenon_kernel_type.flags.
#define TENON_KERNEL_GENERAL 1u          /* ranks below every one that is not */
#define TENON_KERNEL_REFERENCE 2u        /* plain and provably right; takes wide launches */
#define TENON_KERNEL_HANDLES_PADDING 4u  /* wants no padding from the flow */
#define TENON_KERNEL_DETERMINISTIC 8u    /* same inputs, same bytes */
#define TENON_KERNEL_CAPTURE_SAFE 16u    /* a launch may be captured into a device graph */
#define TENON_KERNEL_SEQUENTIAL_SUMS 32u /* sums in order: its error grows with the terms */

/// One implementation of an interface: everything that selection reads, and how to build it.
/// Owner    static, but for the struct itself, which the host copies.
/// Errors   of registration: an unknown op or interface, or a contract that does not fit, drops
///          this row alone; any other fault rejects the plugin.
typedef struct tenon_kernel_type {
  uint64_t struct_size;
  tenon_str op;                    /* "RMSNormFwdOp"; "ns::NameFwdOp" for another namespace */
  tenon_str interface;             /* "rms_norm_fwd" */
  tenon_str key;                   /* unique within the plugin and interface */
  const tenon_contract* contract;  /* required */
  const tenon_str* devices;        /* device kinds served */
  const tenon_str* archs;          /* arch tags; none: every arch */
  const tenon_str* preferred_over; /* "key" of this plugin, "plugin:key" or "plugin:*" */
  uint64_t n_devices;
  uint64_t n_archs;
  uint64_t n_preferred_over;
  const tenon_storage* storage; /* dtypes served; none: all of the contract, as they are */
  uint64_t n_storage;
  uint64_t flags;              /* TENON_KERNEL_* */
  uint32_t layouts;            /* TENON_LAYOUT_BIT()s taken besides dense, for every argument */
  uint32_t alignment_elements; /* the flow pads innermost sizes to a multiple; 0: none */
  tenon_dtype accumulate;      /* dtype of sums; bits 0: none */
  uint32_t reserved;           /* 0 */
  void* context;               /* the first argument of the functions */
  /// Whether the kernel type serves the call: OK, or REFUSED with a reason. Pure: the same answer
  /// for the same device facts and call, on any thread, at any time; keeps no memory, touches no
  /// device. What it accepts, build and launch must serve. Null: serves every call.
  tenon_status (*refuse)(void* context,
                         const tenon_device* device,
                         const tenon_call* call,
                         tenon_reason* reason);
  /// The bytes on which the build depends: calls with equal bytes share one kernel. As pure as
  /// refuse. Always sets *size_bytes to the whole size; writes nothing if that exceeds
  /// capacity_bytes. Null: the whole call key, so each call builds its own.
  tenon_status (*identity)(void* context,
                           const tenon_device* device,
                           const tenon_call* call,
                           void* bytes,
                           uint64_t capacity_bytes,
                           uint64_t* size_bytes);
  /// Required. Makes a kernel for the call's identity; may compile, read the cache, allocate.
  /// Never called while a stream captures.
  /// Errors   any; the call fails with it, and the next call tries again.
  tenon_status (*build)(void* context,
                        const struct tenon_host* host,
                        const tenon_build* build,
                        tenon_kernel* out,
                        tenon_reason* reason);
} tenon_kernel_type;

/* ---- Host services --------------------------------------------------------------------------- */

/// Levels of tenon_host.log.
#define TENON_LOG_ERROR 0
#define TENON_LOG_WARN 1
#define TENON_LOG_INFO 2
#define TENON_LOG_DEBUG 3

/// Kinds of a device's memory.
#define TENON_MEMORY_DEVICE 0u
#define TENON_MEMORY_PINNED 1u  /* host memory that the device reaches */
#define TENON_MEMORY_MANAGED 2u /* both reach it; belongs to the device kind */

/// Services of the host. One table per plugin, valid for the process.
/// Threads  [any-thread], but log and dealloc from no signal handler.
/// Errors   SHUT_DOWN after the explicit shutdown.
typedef struct tenon_host {
  uint64_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  void* context; /* the host's */
  /// Logs one line under the plugin's id. level: TENON_LOG_*.
  void (*log)(const struct tenon_host* host, int32_t level, tenon_str text);
  /// Host memory, owned, free with dealloc and the same sizes. Null when there is none.
  /// align_bytes is a power of two.
  void* (*alloc)(const struct tenon_host* host, uint64_t size_bytes, uint64_t align_bytes);
  /// Frees what alloc gave; null is fine.
  void (*dealloc)(const struct tenon_host* host,
                  void* memory,
                  uint64_t size_bytes,
                  uint64_t align_bytes);
  /// Memory of a device, in stream order, 256-byte aligned, owned, free with device_free. It
  /// comes from the application's allocator where it set one, else from the device kind's owner.
  /// Not while launching.
  /// Errors   NOT_FOUND nobody owns the kind; OUT_OF_MEMORY
  tenon_status (*device_alloc)(const struct tenon_host* host,
                               const tenon_device* device,
                               uint32_t memory_kind,
                               uint64_t size_bytes,
                               void* stream,
                               void** out);
  /// Frees what device_alloc gave, when `stream` has passed this point.
  tenon_status (*device_free)(const struct tenon_host* host,
                              const tenon_device* device,
                              void* memory,
                              void* stream);
  /// The effective value of one of the plugin's own declared options; static.
  /// Errors   NOT_FOUND the plugin does not declare it
  tenon_status (*option)(const struct tenon_host* host, tenon_str name, tenon_value* out);
  /// The host's store on disk, keyed by this plugin's build and the caller's key. Always sets
  /// *size_bytes to the item's whole size; writes nothing if that exceeds capacity_bytes. Items
  /// may vanish at any time; what is there is what was put.
  /// Errors   NOT_FOUND; IO
  tenon_status (*cache_get)(const struct tenon_host* host,
                            tenon_str key,
                            void* out,
                            uint64_t capacity_bytes,
                            uint64_t* size_bytes);
  /// Keeps a copy of the bytes under the key, in place of what was there; all of it or nothing.
  /// Errors   IO
  tenon_status (*cache_put)(const struct tenon_host* host,
                            tenon_str key,
                            const void* bytes,
                            uint64_t size_bytes);
  /// A table of further services by name and least version, static, or null.
  const void* (*extension)(const struct tenon_host* host, tenon_str name, uint32_t min_version);
} tenon_host;

/* ---- Device kinds ---------------------------------------------------------------------------- */

/// A device kind and its owner's functions. One plugin owns a kind: only it allocates, copies,
/// makes streams and events, enumerates, and reports device errors.
/// Shape    a null `stream` is the device's default stream, which is non-blocking. `device` is
///          one that describe filled, with `native`.
/// Threads  [any-thread]; nothing waits for the device unless its comment says so.
/// Errors   every function fills `reason` beside an error. DEVICE with the driver's words; a
///          device that cannot go on says so in its flags from then on (LOST).
typedef struct tenon_device_kind {
  uint64_t struct_size;
  tenon_str kind;
  int32_t dlpack_type; /* DLDeviceType; 12, kDLExtDev, where DLPack has none */
  uint32_t flags;      /* TENON_DEVICE_FLAG_* of every device of the kind */
  void* context;       /* the first argument of the functions */
  /// Required. Number of devices, the same each time. Called at first need, never while plugins
  /// load or are listed; may start the driver. None is no error: OK, 0, and the reason's text
  /// says why in the driver's words (no driver, no device, a driver too old). Write *count in any
  /// case.
  /// Errors   UNAVAILABLE, DEVICE: a driver that is there and fails
  tenon_status (*count)(void* context, uint32_t* count, tenon_reason* reason);
  /// Required. Describes device `index`, below count. The strings are static. May be asked again,
  /// for flags that change (LOST).
  tenon_status (*describe)(void* context, uint32_t index, tenon_device* out, tenon_reason* reason);
  /// Required. Memory of a TENON_MEMORY_* kind, at least 256-byte aligned, usable on `stream` at
  /// once; owned, free with free. size_bytes is at least 1.
  /// Errors   OUT_OF_MEMORY; INVALID_ARGUMENT a memory kind that the device has not
  tenon_status (*alloc)(void* context,
                        const tenon_device* device,
                        uint32_t memory_kind,
                        uint64_t size_bytes,
                        void* stream,
                        void** out,
                        tenon_reason* reason);
  /// Required. Frees what alloc gave, when `stream` has passed this point. Same kind and size as
  /// alloc's.
  tenon_status (*free)(void* context,
                       const tenon_device* device,
                       uint32_t memory_kind,
                       void* memory,
                       uint64_t size_bytes,
                       void* stream,
                       tenon_reason* reason);
  /// Required. Copies, in stream order, between two devices of this kind or one of them and
  /// `cpu`; the stream is of a device of this kind. Host memory need not be pinned, and stays
  /// valid until the stream has passed.
  tenon_status (*copy)(void* context,
                       const tenon_device* dst_device,
                       void* dst,
                       const tenon_device* src_device,
                       const void* src,
                       uint64_t size_bytes,
                       void* stream,
                       tenon_reason* reason);
  /// Sets every byte, in stream order; byte_value is at most 255. Null: the host copies a filled
  /// buffer.
  tenon_status (*fill)(void* context,
                       const tenon_device* device,
                       void* dst,
                       uint32_t byte_value,
                       uint64_t size_bytes,
                       void* stream,
                       tenon_reason* reason);
  /// Free and total bytes now. Null: unknown.
  tenon_status (*mem_info)(void* context,
                           const tenon_device* device,
                           uint64_t* free_bytes,
                           uint64_t* total_bytes,
                           tenon_reason* reason);
  /// Streams. Null: the kind has only its default stream, null. stream_create and stream_default
  /// give a handle that the owner documents; stream_destroy lets what is enqueued finish;
  /// stream_synchronize waits; stream_wait_event makes later work of the stream wait for the
  /// event's latest record; stream_is_capturing sets *yes to 1 while work is kept for a graph.
  /// Owner    what stream_create gives is owned, free with stream_destroy; the default stream is
  ///          static.
  tenon_status (*stream_create)(void* context,
                                const tenon_device* device,
                                void** out,
                                tenon_reason* reason);
  tenon_status (*stream_destroy)(void* context,
                                 const tenon_device* device,
                                 void* stream,
                                 tenon_reason* reason);
  tenon_status (*stream_default)(void* context,
                                 const tenon_device* device,
                                 void** out,
                                 tenon_reason* reason);
  tenon_status (*stream_synchronize)(void* context,
                                     const tenon_device* device,
                                     void* stream,
                                     tenon_reason* reason);
  tenon_status (*stream_wait_event)(
      void* context, const tenon_device* device, void* stream, void* event, tenon_reason* reason);
  tenon_status (*stream_is_capturing)(
      void* context, const tenon_device* device, void* stream, uint32_t* yes, tenon_reason* reason);
  /// Events. Null: none. event_record marks a point of a stream; event_query sets *done to 1 when
  /// it has passed, and for an event that was never recorded; event_elapsed_ns is the time
  /// between two that have passed.
  /// Owner    owned, free with event_destroy, also while its record has not passed.
  tenon_status (*event_create)(void* context,
                               const tenon_device* device,
                               void** out,
                               tenon_reason* reason);
  tenon_status (*event_record)(
      void* context, const tenon_device* device, void* event, void* stream, tenon_reason* reason);
  tenon_status (*event_query)(
      void* context, const tenon_device* device, void* event, uint32_t* done, tenon_reason* reason);
  tenon_status (*event_elapsed_ns)(void* context,
                                   const tenon_device* device,
                                   void* start,
                                   void* end,
                                   uint64_t* elapsed_ns,
                                   tenon_reason* reason);
  tenon_status (*event_destroy)(void* context,
                                const tenon_device* device,
                                void* event,
                                tenon_reason* reason);
  /// Required. Waits until the device has finished everything.
  /// Errors   what an earlier launch left behind
  tenon_status (*synchronize)(void* context, const tenon_device* device, tenon_reason* reason);
  /// Required. The error that an earlier launch left behind, OK if none; waits for nothing.
  /// `clear` 1 forgets it where that is possible.
  tenon_status (*last_error)(void* context,
                             const tenon_device* device,
                             uint32_t clear,
                             tenon_reason* reason);
  /// A table of further functions by name and least version, static, or null:
  /// TENON_EXTENSION_DEVICE_*. Their `context` is this struct's. Null: none.
  const void* (*extension)(void* context, tenon_str name, uint32_t min_version);
} tenon_device_kind;

/// Names of a device kind's extensions. "tenon.device.graph/1" in texts is name and version in
/// one.
#define TENON_EXTENSION_DEVICE_GRAPH "tenon.device.graph"
#define TENON_EXTENSION_DEVICE_TEST "tenon.device.test"

/// Extension "tenon.device.graph", version 1: capture of a stream's work and its replay.
/// Owner    static; a graph is owned, free with destroy
/// Errors   INVALID_ARGUMENT a stream that does not capture, or already does
typedef struct tenon_device_graph {
  uint64_t struct_size;
  /// Required. From here on the stream's work is kept instead of run.
  tenon_status (*begin)(void* context,
                        const tenon_device* device,
                        void* stream,
                        tenon_reason* reason);
  /// Required. Ends the capture and gives what was kept.
  tenon_status (*end)(
      void* context, const tenon_device* device, void* stream, void** graph, tenon_reason* reason);
  /// Required. Enqueues all of it on a stream of the same device.
  tenon_status (*launch)(
      void* context, const tenon_device* device, void* graph, void* stream, tenon_reason* reason);
  /// Required. Frees it, once, after the last launch has passed.
  tenon_status (*destroy)(void* context,
                          const tenon_device* device,
                          void* graph,
                          tenon_reason* reason);
} tenon_device_graph;

/// What a device has done since the process began.
typedef struct tenon_device_counters {
  uint64_t struct_size;
  uint64_t allocations;
  uint64_t frees;
  uint64_t synchronizations; /* of streams and of the device */
  uint64_t live_bytes;       /* allocated and not yet freed */
} tenon_device_counters;

/// Extension "tenon.device.test", version 1: what shows conformance a hidden wait or allocation.
/// Owner    static
typedef struct tenon_device_test {
  uint64_t struct_size;
  /// Required. Enqueues work that keeps the stream busy for so long. Returns at once.
  tenon_status (*delay)(void* context,
                        const tenon_device* device,
                        void* stream,
                        uint64_t delay_ns,
                        tenon_reason* reason);
  /// Fills what the vendor can count. Null: it cannot.
  tenon_status (*counters)(void* context,
                           const tenon_device* device,
                           tenon_device_counters* out,
                           tenon_reason* reason);
} tenon_device_test;

/* ---- Builder targets ------------------------------------------------------------------------ */

/// A target: a name under which whole ops are served, past selection. Requested by name; detected
/// only on device kinds that this plugin owns.
/// Owner    static, but for the struct itself, which the host copies.
typedef struct tenon_target {
  uint64_t struct_size;
  tenon_str name;         /* no device kind's, and not "builtin" */
  const tenon_str* kinds; /* device kinds that it can serve */
  const tenon_str* ops;   /* ops that it builds */
  uint64_t n_kinds;
  uint64_t n_ops;
  void* context; /* the first argument of the functions */
  /// Required. Sets *yes to 1 if the target wants calls on this device unasked, 0 if not.
  tenon_status (*claims)(void* context, const tenon_device* device, uint32_t* yes);
  /// Required. Builds ops[op] for these inputs and parameters; build->call is null.
  /// Shape    specs[spec_first[i] .. spec_first[i + 1]) is input i: shape, strides and dtype
  ///          without data, null where absent. params: every parameter in manifest order,
  ///          settled.
  /// Errors   any; a call that the target cannot serve is UNAVAILABLE, never REFUSED.
  tenon_status (*build)(void* context,
                        const tenon_host* host,
                        uint64_t op,
                        const tenon_build* build,
                        const tenon_tensor* const* specs,
                        const uint32_t* spec_first,
                        uint64_t n_inputs,
                        const tenon_value* params,
                        uint64_t n_params,
                        tenon_kernel* out,
                        tenon_reason* reason);
} tenon_target;

/* ---- The plugin ----------------------------------------------------------------------------- */

/// An option of the plugin, set by configuration under plugins.options.<id>. Frozen.
typedef struct tenon_option {
  tenon_str name;
  uint32_t kind;  /* TENON_VALUE_BOOL, INT, FLOAT or STR */
  uint32_t flags; /* 0 */
  tenon_value default_value;
} tenon_option;

/// Takes the plugin's rows while `enumerate` runs; nothing is in force before all of them are
/// valid.
/// Owner    the host copies the structs at once, before the function returns; what they point to
///          is static.
/// Threads  [load-thread]; only inside enumerate.
/// Errors   INVALID_ARGUMENT, ALREADY_EXISTS; enumerate passes the status on, and the reason says
///          which row and why.
typedef struct tenon_registrar {
  uint64_t struct_size;
  void* context;
  /// Declares a device kind of which this plugin is the owner.
  tenon_status (*add_device_kind)(void* context,
                                  const struct tenon_device_kind* kind,
                                  tenon_reason* reason);
  /// Declares kernel types: `count` rows that lie element_size bytes apart. May be called several
  /// times.
  tenon_status (*add_kernel_types)(void* context,
                                   const tenon_kernel_type* rows,
                                   uint64_t count,
                                   uint64_t element_size,
                                   tenon_reason* reason);
  /// Declares a builder target.
  tenon_status (*add_target)(void* context, const tenon_target* target, tenon_reason* reason);
} tenon_registrar;

/// The exported object. It, its strings and its three functions lie inside the plugin's image; it
/// agrees with the identity note.
/// Owner    static
typedef struct tenon_plugin {
  uint64_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;           /* that it was built with */
  uint32_t min_host_minor;      /* TENON_TARGET_MINOR */
  uint32_t required_features;   /* what a host must understand; an unknown bit is refused */
  tenon_str id;                 /* [a-z][a-z0-9-]* */
  tenon_str version;            /* numbers between dots: 1.2.3 */
  tenon_str vendor;             /* for people */
  tenon_str manifest;           /* YAML of ops in the plugin's own namespace, or empty */
  const tenon_str* needs_kinds; /* device kinds of others that its rows name */
  const tenon_option* options;
  uint64_t n_needs_kinds;
  uint64_t n_options;
  /// Required. Once per process, after the checks of the object and before everything else.
  /// Touches no driver, starts no thread that outlives a failure. *self is handed back to the two
  /// others.
  /// Owner    host is valid for the process.
  /// Threads  [load-thread]
  tenon_status (*init)(const tenon_host* host, void** self, tenon_reason* reason);
  /// Required. Hands over every row: once per Runtime, the same each time. Touches no driver.
  /// Threads  [load-thread]
  tenon_status (*enumerate)(void* self, const tenon_registrar* registrar, tenon_reason* reason);
  /// Only from an explicit shutdown of the host, once, and never after a failed init. The plugin
  /// stays mapped. Null: nothing to do.
  /// Threads  [load-thread]; nothing else of the plugin runs.
  void (*shutdown)(void* self);
} tenon_plugin;

/// The object that a plugin defines, and the only thing that it exports.
extern TENON_EXPORT const tenon_plugin TENON_PLUGIN_OBJECT;

/* ---- Identity note -------------------------------------------------------------------------- */

/// The note's place and name: an ELF note in a section of its own, hence in a PT_NOTE segment.
#define TENON_NOTE_OWNER "TENON"
#define TENON_NOTE_SECTION ".note.tenon"
#define TENON_NOTE_TYPE 1u
#define TENON_NOTE_VERSION 1u
/// Bytes before the descriptor: the three words of an ELF note's header and the padded owner.
#define TENON_NOTE_HEADER_BYTES 20u

/// tenon_note.sanitizer: what the plugin was built with, which the host must be built with, too.
#define TENON_SANITIZER_NONE 0u
#define TENON_SANITIZER_ADDRESS 1u
#define TENON_SANITIZER_THREAD 2u
#define TENON_SANITIZER_MEMORY 3u

/// What a host reads of a plugin before it maps it. The descriptor begins at note_version.
/// Shape    behind depends_size_bytes follow four texts without gaps: id, version, archs,
///          depends. Each ends with a zero byte that its size counts, so every size is at least
///          1. archs and depends are lists with a newline between their items. Bytes after the
///          last text are padding to a multiple of 4, counted in desc_size_bytes. A newer
///          note_version only appends behind the texts.
/// Memory   4-byte aligned, little-endian; holds no address, so it needs no relocation.
/// Owner    static
/// Errors   a reader checks that desc_size_bytes lies inside the segment, that the four sizes lie
///          inside the descriptor, and that each text ends with its zero byte; else the file is
///          refused.
typedef struct tenon_note {
  uint32_t owner_size_bytes; /* 6 */
  uint32_t desc_size_bytes;
  uint32_t type; /* TENON_NOTE_TYPE */
  char owner[8]; /* "TENON", padded with zeros */
  uint32_t note_version;
  uint32_t abi_major;
  uint32_t abi_minor; /* that it was built with */
  uint32_t min_host_minor;
  uint32_t sanitizer;      /* TENON_SANITIZER_* of the build */
  uint32_t header_hash[2]; /* low and high half of a hash of this header, or 0; diagnostic only */
  uint32_t id_size_bytes;
  uint32_t version_size_bytes;
  uint32_t archs_size_bytes;   /* arch tags of device code inside, for listings */
  uint32_t depends_size_bytes; /* absolute paths whose change makes a probe's result stale */
} tenon_note;

/* NOLINTEND(modernize-use-using) */

/// The sanitizer of this translation unit.
#if defined(__SANITIZE_ADDRESS__)
#define TENON_NOTE_SANITIZER TENON_SANITIZER_ADDRESS
#elif defined(__SANITIZE_THREAD__)
#define TENON_NOTE_SANITIZER TENON_SANITIZER_THREAD
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENON_NOTE_SANITIZER TENON_SANITIZER_ADDRESS
#elif __has_feature(thread_sanitizer)
#define TENON_NOTE_SANITIZER TENON_SANITIZER_THREAD
#elif __has_feature(memory_sanitizer)
#define TENON_NOTE_SANITIZER TENON_SANITIZER_MEMORY
#endif
#endif
#ifndef TENON_NOTE_SANITIZER
#define TENON_NOTE_SANITIZER TENON_SANITIZER_NONE
#endif

/// A 64-bit hash of this header, given by tenon_add_plugin; 0: unknown.
#ifndef TENON_HEADER_HASH
#define TENON_HEADER_HASH 0
#endif

/// Puts a constant where the note belongs. A sanitizer's red zones must not stand around it.
#if defined(__clang__)
#define TENON_NOTE_ATTRIBUTES \
  __attribute__((section(TENON_NOTE_SECTION), used, aligned(4), no_sanitize("address")))
#elif defined(__GNUC__)
#define TENON_NOTE_ATTRIBUTES __attribute__((section(TENON_NOTE_SECTION), used, aligned(4)))
#else
#define TENON_NOTE_ATTRIBUTES
#endif

/// The fixed part of a note whose whole size and texts' sizes (with their zero bytes) are given.
#define TENON_NOTE_FIXED(note_bytes, id_bytes, version_bytes, archs_bytes, depends_bytes)         \
  {                                                                                               \
    6u, (uint32_t)(note_bytes)-TENON_NOTE_HEADER_BYTES, TENON_NOTE_TYPE,                          \
        {'T', 'E', 'N', 'O', 'N', 0, 0, 0}, TENON_NOTE_VERSION, TENON_ABI_MAJOR, TENON_ABI_MINOR, \
        TENON_TARGET_MINOR, TENON_NOTE_SANITIZER,                                                 \
        {(uint32_t)((uint64_t)(TENON_HEADER_HASH)),                                               \
         (uint32_t)((uint64_t)(TENON_HEADER_HASH) >> 32)},                                        \
        (uint32_t)(id_bytes), (uint32_t)(version_bytes), (uint32_t)(archs_bytes),                 \
        (uint32_t)(depends_bytes)                                                                 \
  }

/// Writes the plugin's identity note; once per plugin, at file scope, with string literals only.
/// It must agree with the exported object. The C++ SDK's TENON_PLUGIN writes it by itself.
/// TENON_PLUGIN_NOTE_WITH adds the lists: TENON_PLUGIN_NOTE_WITH("acme", "1.2.0", "a2\na3", "").
#define TENON_PLUGIN_NOTE(id, version) TENON_PLUGIN_NOTE_WITH(id, version, "", "")
#ifdef TENON_PLUGIN_STATIC
#define TENON_PLUGIN_NOTE_WITH(id, version, archs, depends) struct tenon_note_of_this_plugin
#else
#define TENON_PLUGIN_NOTE_WITH(id, version, archs, depends)                                        \
  struct tenon_note_of_this_plugin {                                                               \
    tenon_note fixed;                                                                              \
    char texts[((sizeof(id) + sizeof(version) + sizeof(archs) + sizeof(depends)) + 3u) / 4u * 4u]; \
  };                                                                                               \
  TENON_NOTE_ATTRIBUTES static const struct tenon_note_of_this_plugin tenon_note_of_this_plugin =  \
      {TENON_NOTE_FIXED(sizeof(struct tenon_note_of_this_plugin),                                  \
                        sizeof(id),                                                                \
                        sizeof(version),                                                           \
                        sizeof(archs),                                                             \
                        sizeof(depends)),                                                          \
       id "\0" version "\0" archs "\0" depends}
#endif

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TENON_PLUGIN_H */
