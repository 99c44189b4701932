// The properties of taking a plugin's tables that hold for any bytes.
#include "table_one.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <vector>

#include <fmt/format.h>

#include "registry/abi_text.hpp"
#include "registry/validate.hpp"
#include "tenon/core/registry.hpp"
#include "tenon/loader/abi_version.hpp"
#include "tenon/loader/memory_map.hpp"
#include "tenon/loader/plugin_library.hpp"
#include "tenon/manifest/check.hpp"

namespace tenon::fuzz {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kHeaderBytes = 4;
constexpr std::uint64_t kAddressMark = 0x7ab1;
constexpr std::uint64_t kFunctionMark = 0x7ab2;

/// The one function that tables may name. Nobody calls it: no table is used after it was taken.
void some_function() {}

/// A page, and behind it one that nobody may touch.
class GuardedPage {
 public:
  GuardedPage()
      : page_(static_cast<char*>(mmap(
            nullptr, 2 * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    mprotect(page_ + kPageBytes, kPageBytes, PROT_NONE);
  }
  GuardedPage(const GuardedPage&) = delete;
  GuardedPage& operator=(const GuardedPage&) = delete;
  ~GuardedPage() { munmap(page_, 2 * kPageBytes); }

  /// Puts whole words to the page's end; gives where they begin.
  const char* put(std::string_view bytes) const {
    const std::size_t size = std::min(bytes.size(), kPageBytes) / 8 * 8;
    char* begin = page_ + kPageBytes - size;
    std::memset(page_, 0, kPageBytes);
    for (std::size_t i = 0; i < size; i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i, 8);
      if (word >> 48 == kAddressMark) {
        word = reinterpret_cast<std::uintptr_t>(begin) + (word & 0xffff) % (kPageBytes + 64);
      } else if (word >> 48 == kFunctionMark) {
        word = loader::address_of(&some_function);
      }
      std::memcpy(begin + i, &word, 8);
    }
    return begin;
  }
  [[nodiscard]] loader::MemoryRange range() const {
    const auto start = reinterpret_cast<std::uintptr_t>(page_);
    return {start, start + kPageBytes};
  }

 private:
  char* page_;
};

/// The memory of the page, and the one function.
class PageMemory final : public MemoryCheck {
 public:
  explicit PageMemory(loader::MemoryRange page) : page_(page) {}
  [[nodiscard]] bool readable(const void* data, std::uint64_t size_bytes) const override {
    const auto at = reinterpret_cast<std::uintptr_t>(data);
    return size_bytes == 0 || (at >= page_.start && at < page_.end && size_bytes <= page_.end - at);
  }
  [[nodiscard]] bool callable(std::uintptr_t function) const override {
    return function == loader::address_of(&some_function);
  }

 private:
  loader::MemoryRange page_;
};

/// One op, so that contracts are compared, too.
constexpr std::string_view kManifest =
    "AddFwdOp:\n"
    "  family: demo\n"
    "  status: implemented\n"
    "  signature:\n"
    "    forall: {A: Shape, T: \"DType[float16 | float32]\"}\n"
    "    params:\n"
    "      alpha: {type: Number, default: 1}\n"
    "      mode: {type: \"'plain' | 'fast'\", default: plain}\n"
    "    inputs:\n"
    "      self: {dtype: T, shape: \"[*A]\"}\n"
    "      other: {dtype: T, shape: \"[*A]\", optional: true}\n"
    "    outputs:\n"
    "      output: {dtype: T, shape: \"[*A]\"}\n"
    "  workloads:\n"
    "  - {A: [4], dtype_cases: [{T: float32}], label: small}\n"
    "  roofline:\n"
    "    flops: \"prod(A)\"\n"
    "  interfaces:\n"
    "    add_fwd:\n"
    "      call: {shape: A, alpha: alpha, mode: mode, dtype: T}\n"
    "      args: {self: \"[*shape]\", other: \"[*shape]\", output: \"[*shape]\"}\n";

/// The op's plan; null where the manifest above is no longer one.
const SignaturePlan* the_plan() {
  static const auto kSet = [] {
    const std::vector<manifest::NamedText> files{{"demo.yaml", std::string(kManifest)}};
    return manifest::check(manifest::load_texts(files));
  }();
  return kSet.plans.empty() ? nullptr : kSet.plans.front().get();
}

const SignaturePlan* find_plan(const void*, std::string_view op) {
  return op == "AddFwdOp" || op == "demo::AddFwdOp" ? the_plan() : nullptr;
}

std::string broken_text(std::string_view what, std::string_view text) {
  if (text.empty()) return std::string(what) + " without a text";
  return detail::valid_utf8(text)
             ? ""
             : std::string(what) + " whose text is not UTF-8: " + std::string(text);
}

/// `page`: all that may be read. The rest of this process is mapped, too, but a sanitizer's or
/// free.
std::string broken_object(const char* at,
                          const loader::LoadedImage& image,
                          loader::MemoryRange page) {
  const loader::MemoryMap memory =
      loader::MemoryMap::parse(fmt::format("{:x}-{:x} rw-p\n", page.start, page.end));
  const auto taken =
      loader::normalise_plugin(reinterpret_cast<const tenon_plugin*>(at), nullptr, &image, &memory);
  if (!taken) {
    if (taken.error().stage != PluginStage::kValidate || taken.error().code >= TENON_OK) {
      return "a fault of another stage, or none: " + taken.error().text;
    }
    return broken_text("a fault", taken.error().text);
  }
  if (taken->struct_size == 0 || taken->struct_size > sizeof(tenon_plugin)) {
    return "an object of another size";
  }
  const std::string_view id(taken->id.data, taken->id.size_bytes);
  if (!loader::is_plugin_id(id)) return "an id that is none";
  if (taken->init == nullptr || taken->enumerate == nullptr) return "no required functions";
  return {};
}

std::string broken_record(const PluginRecord& record) {
  for (const auto& row : record.rejected_rows) {
    if (std::string broken = broken_text("a dropped row", row.reason); !broken.empty()) {
      return broken;
    }
  }
  return {};
}

std::string broken_accepted(const AcceptedPlugin& accepted) {
  for (const auto& [place, types] : accepted.types) {
    for (const auto& type : types) {
      if (type->key.empty() || type->devices.empty()) return "a kernel type without key or device";
      if (type->row.build == nullptr) return "a kernel type that cannot be built";
    }
  }
  for (const auto& target : accepted.targets) {
    if (target->name.empty() || target->row.build == nullptr)
      return "a target without name or build";
  }
  return {};
}

std::string broken_rows(char kind,
                        std::uint8_t count,
                        std::uint16_t element_size,
                        const char* at,
                        const PageMemory& memory) {
  static const PluginInfo kInfo = [] {
    PluginInfo info;
    info.id = "acme";
    info.path = "/acme.tenon.so";
    return info;
  }();
  PluginTransaction transaction(&kInfo, &memory);
  const tenon_registrar* registrar = transaction.registrar();
  tenon_reason reason{};
  reason.struct_size = sizeof reason;
  tenon_status status = TENON_OK;
  if (kind == 1) {
    status = registrar->add_kernel_types(registrar->context,
                                         reinterpret_cast<const tenon_kernel_type*>(at),
                                         count,
                                         element_size,
                                         &reason);
  } else if (kind == 2) {
    status = registrar->add_device_kind(
        registrar->context, reinterpret_cast<const tenon_device_kind*>(at), &reason);
  } else {
    status = registrar->add_target(
        registrar->context, reinterpret_cast<const tenon_target*>(at), &reason);
  }
  const std::size_t said = strnlen(reason.text, sizeof reason.text);
  if (said == sizeof reason.text) return "a text without its end";
  if (status > TENON_OK) return "a status that is no error";
  if (status < TENON_OK && said == 0) return "an error without a text";
  const auto& staged = *static_cast<const PluginTransaction::Staged*>(registrar->context);
  const ValidationContext ops{nullptr, &find_plan, {"AddFwdOp"}};
  PluginRecord record;
  const auto accepted = validate(staged, ops, record);
  if (status < TENON_OK && accepted) return "rows were taken although one was refused";
  if (std::string broken = broken_record(record); !broken.empty()) return broken;
  if (!accepted) return broken_text("an error", accepted.error().message());
  return broken_accepted(*accepted);
}

}  // namespace

std::string broken_table_property(std::string_view bytes) {
  static const GuardedPage kPage;
  if (the_plan() == nullptr) return "the target's own manifest is no longer one";
  if (bytes.size() < kHeaderBytes) return {};
  const auto kind = static_cast<char>(bytes[0] & 3);
  const auto count = static_cast<std::uint8_t>(bytes[1]);
  std::uint16_t element_size = 0;
  std::memcpy(&element_size, bytes.data() + 2, sizeof element_size);
  const char* at = kPage.put(bytes.substr(kHeaderBytes));
  if (kind != 0) return broken_rows(kind, count, element_size, at, PageMemory(kPage.range()));
  const auto function = loader::address_of(&some_function);
  const auto image = loader::LoadedImage::of_ranges({kPage.range()}, {{function, function + 1}});
  return broken_object(at, image, kPage.range());
}

}  // namespace tenon::fuzz
