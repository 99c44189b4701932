// A kernel of AddFwdOp on the CPU that does to the process what its file's name says, in the
// function that the name says: launch-abort.tenon.so aborts in launch. See deed.h.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "deed.h"
#include "support/fake_contracts.hpp"
#include "tenon/plugin.h"

namespace {

using tenon::test::fake_str;

const tenon_host* of_build = nullptr;

const float* elements(const tenon_launch& launch, std::uint64_t arg) {
  const tenon_tensor* tensor = launch.tensors[launch.arg_first[arg]];
  return static_cast<const float*>(tensor->data) + tensor->byte_offset / sizeof(float);
}

tenon_status launch(void*, const tenon_launch* launch, tenon_reason* reason) {
  deed("launch");
  if (is_deed("launch", "text")) {
    std::strcpy(reason->text, "first\n\x1b[31mtenon: all is well\tand so on");
    return TENON_DEVICE;
  }
  if (is_deed("launch", "allocate")) {
    void* memory = nullptr;
    const tenon_status status =
        of_build->device_alloc(of_build, launch->device, TENON_MEMORY_DEVICE, 64, nullptr, &memory);
    if (status == TENON_OK) (void)of_build->device_free(of_build, launch->device, memory, nullptr);
    if (status == TENON_OK) return TENON_OK;
    std::strcpy(reason->text, "there is no memory");
    return status;
  }
  if (is_deed("launch", "throw")) throw std::runtime_error("a table is gone");
  const tenon_tensor* output = launch->tensors[launch->arg_first[2]];
  std::int64_t count = 1;
  for (std::int32_t i = 0; i < output->rank; ++i) count *= output->shape[i];
  const float* const self = elements(*launch, 0);
  const float* const other = elements(*launch, 1);
  float* const to = const_cast<float*>(elements(*launch, 2));
  for (std::int64_t i = 0; i < count; ++i) to[i] = self[i] + other[i];
  return TENON_OK;
}

void destroy(void*) { deed("destroy"); }

tenon_status refuse(void*, const tenon_device*, const tenon_call*, tenon_reason*) {
  deed("refuse");
  return TENON_OK;
}

tenon_status build(
    void*, const tenon_host* host, const tenon_build* build, tenon_kernel* out, tenon_reason*) {
  deed("build");
  of_build = host;
  if (is_deed("build", "allocate")) {
    void* memory = nullptr;
    const tenon_status status =
        host->device_alloc(host, build->device, TENON_MEMORY_DEVICE, 64, nullptr, &memory);
    if (status != TENON_OK) return status;
    (void)host->device_free(host, build->device, memory, nullptr);
  }
  out->launch = &launch;
  out->destroy = &destroy;
  return TENON_OK;
}

tenon_status init(const tenon_host*, void**, tenon_reason*) {
  deed("init");
  if (is_deed("init", "throw")) throw std::runtime_error("a driver is missing");
  if (is_deed("atexit", "")) (void)std::atexit([] { deed("atexit"); });
  return TENON_OK;
}

// ---- A device kind of its own, where the deed is one of its functions'

bool owns_kind() {
  for (const char* function : {"alloc", "free", "copy", "count", "describe"}) {
    if (deed_of(function) != nullptr) return true;
  }
  return false;
}

constexpr tenon_str kCpu = fake_str("cpu");
constexpr tenon_str kDoing = fake_str("doing");
constexpr tenon_str kArchs[] = {fake_str("d1")};

tenon_status alloc(void*,
                   const tenon_device*,
                   std::uint32_t,
                   std::uint64_t size_bytes,
                   void*,
                   void** out,
                   tenon_reason*) {
  deed("alloc");
  if (is_deed("alloc", "throw")) throw std::runtime_error("a table is gone");
  *out = std::aligned_alloc(256, (size_bytes + 511) / 256 * 256);
  if (is_deed("alloc", "odd")) *out = static_cast<char*>(*out) + 8;
  return TENON_OK;
}

tenon_status give_back(void*,
                       const tenon_device*,
                       std::uint32_t,
                       void* memory,
                       std::uint64_t,
                       void*,
                       tenon_reason* reason) {
  deed("free");
  std::free(is_deed("alloc", "odd") ? static_cast<char*>(memory) - 8 : memory);
  if (!is_deed("free", "fails")) return TENON_OK;
  std::strcpy(reason->text, "the heap is damaged");
  return TENON_DEVICE;
}

tenon_status copy(void*,
                  const tenon_device*,
                  void* dst,
                  const tenon_device*,
                  const void* src,
                  std::uint64_t size_bytes,
                  void*,
                  tenon_reason*) {
  deed("copy");
  if (!is_deed("copy", "idle")) std::memcpy(dst, src, size_bytes);
  return TENON_OK;
}

tenon_status count(void*, std::uint32_t* count, tenon_reason*) {
  *count = is_deed("count", "many") ? 5000 : 1;
  if (is_deed("count", "throw")) throw std::runtime_error("a table is gone");
  return TENON_OK;
}

tenon_status describe(void*, std::uint32_t, tenon_device* out, tenon_reason* reason) {
  if (is_deed("describe", "throw")) throw std::runtime_error("a table is gone");
  out->arch = kArchs[0];
  out->runs_archs = kArchs;
  out->n_runs_archs = 1;
  out->name = fake_str("Doing");
  const std::string name =
      is_deed("describe", "heap") ? "a name of more letters than a string's own" : "a short name";
  if (is_deed("describe", "heap") || is_deed("describe", "stack"))
    out->name = {name.data(), name.size()};
  if (is_deed("describe", "wild")) out->pci = {reinterpret_cast<const char*>(16), 12};
  if (!is_deed("describe", "fails")) return TENON_OK;
  std::strcpy(reason->text, "error 719");
  return TENON_DEVICE;
}

tenon_device_kind own_kind() {
  tenon_device_kind kind{};
  kind.struct_size = sizeof kind;
  kind.kind = kDoing;
  kind.dlpack_type = 12;
  kind.flags = TENON_DEVICE_FLAG_SYNCHRONOUS;
  kind.count = &count;
  kind.describe = &describe;
  kind.alloc = &alloc;
  kind.free = &give_back;
  kind.copy = &copy;
  kind.synchronize = [](void*, const tenon_device*, tenon_reason*) -> tenon_status {
    return TENON_OK;
  };
  kind.last_error = [](void*, const tenon_device*, std::uint32_t, tenon_reason*) -> tenon_status {
    return TENON_OK;
  };
  return kind;
}

constexpr tenon_str kPreferred = fake_str("cpu:*");
constexpr tenon_storage kStorage[] = {{{TENON_DTYPE_FLOAT, 32, 1}, {TENON_DTYPE_FLOAT, 32, 1}}};

tenon_status enumerate(void*, const tenon_registrar* registrar, tenon_reason* reason) {
  if (owns_kind()) {
    const tenon_device_kind kind = own_kind();
    const tenon_status status = registrar->add_device_kind(registrar->context, &kind, reason);
    if (status != TENON_OK) return status;
  }
  tenon_kernel_type row{};
  row.struct_size = sizeof row;
  row.op = fake_str("AddFwdOp");
  row.interface = fake_str("add_fwd");
  row.key = fake_str("doing");
  row.contract = &tenon::test::kFakeAddContract;
  row.devices = owns_kind() ? &kDoing : &kCpu;
  row.n_devices = 1;
  row.preferred_over = &kPreferred;
  row.n_preferred_over = 1;
  row.storage = kStorage;
  row.n_storage = 1;
  row.refuse = &refuse;
  row.build = &build;
  return registrar->add_kernel_types(registrar->context, &row, 1, sizeof row, reason);
}

struct AtUnload {
  ~AtUnload() { deed("destructor"); }
};
const AtUnload at_unload;

}  // namespace

TENON_PLUGIN_NOTE("doer", "1.0.0");
constexpr tenon_str kVendor = fake_str("Tests");
const tenon_plugin TENON_PLUGIN_OBJECT = {sizeof(tenon_plugin),
                                          TENON_ABI_MAJOR,
                                          TENON_ABI_MINOR,
                                          TENON_TARGET_MINOR,
                                          0,
                                          fake_str("doer"),
                                          fake_str("1.0.0"),
                                          kVendor,
                                          {},
                                          nullptr,
                                          nullptr,
                                          0,
                                          0,
                                          &init,
                                          &enumerate,
                                          nullptr};
