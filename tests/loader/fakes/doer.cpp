// A kernel of AddFwdOp on the CPU that does to the process what its file's name says, in the
// function that the name says: launch-abort.tenon.so aborts in launch. See deed.h.
#include <cstdint>
#include <cstring>
#include <stdexcept>

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
  if (is_deed("atexit", "")) (void)std::atexit([] { deed("atexit"); });
  return TENON_OK;
}

constexpr tenon_str kDevice = fake_str("cpu");
constexpr tenon_str kPreferred = fake_str("cpu:*");
constexpr tenon_storage kStorage[] = {{{TENON_DTYPE_FLOAT, 32, 1}, {TENON_DTYPE_FLOAT, 32, 1}}};

tenon_status enumerate(void*, const tenon_registrar* registrar, tenon_reason* reason) {
  tenon_kernel_type row{};
  row.struct_size = sizeof row;
  row.op = fake_str("AddFwdOp");
  row.interface = fake_str("add_fwd");
  row.key = fake_str("doing");
  row.contract = &tenon::test::kFakeAddContract;
  row.devices = &kDevice;
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
