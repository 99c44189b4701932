// Reads fat binaries (as documented by the public readers of that format) and clang's offload
// bundles. Source: https://clang.llvm.org/docs/ClangOffloadBundler.html, "Bundled Binary File
// Layout"; https://github.com/vosen/ZLUDA, zluda_common/src/fatbin.
#include "device_code.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace tenon::lint {
namespace {

constexpr std::uint32_t kFatBinaryMagic = 0xba55ed50;
constexpr std::uint16_t kIntermediateCode = 1;
constexpr std::uint64_t kFatEntryArchAt = 28;
constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedBundleMagic = "CCOB";
constexpr std::uint64_t kMaxBundles = 4096;

/// One fat binary at the section's begin; gives its size, 0 where it is none.
std::uint64_t read_fat_binary(std::string_view bytes, std::set<std::string>& archs) {
  const auto magic = Image::read<std::uint32_t>(bytes, 0);
  const auto header_bytes = Image::read<std::uint16_t>(bytes, 6);
  const auto body_bytes = Image::read<std::uint64_t>(bytes, 8);
  if (magic != kFatBinaryMagic || !header_bytes || !body_bytes || *body_bytes > bytes.size()) {
    return 0;
  }
  const std::uint64_t end = *header_bytes + *body_bytes;
  std::uint64_t at = *header_bytes;
  while (at < end) {
    const auto kind = Image::read<std::uint16_t>(bytes, at);
    const auto entry_bytes = Image::read<std::uint32_t>(bytes, at + 4);
    const auto payload_bytes = Image::read<std::uint64_t>(bytes, at + 8);
    const auto arch = Image::read<std::uint32_t>(bytes, at + kFatEntryArchAt);
    if (!kind || !entry_bytes || !payload_bytes || !arch || *entry_bytes == 0 ||
        *payload_bytes > bytes.size()) {
      break;
    }
    archs.insert(fmt::format("{}_{}", *kind == kIntermediateCode ? "compute" : "sm", *arch));
    at += *entry_bytes + *payload_bytes;
  }
  return end;
}

void read_fat_binaries(std::string_view bytes, std::set<std::string>& archs) {
  for (std::uint64_t at = 0; at < bytes.size();) {
    const std::uint64_t size = read_fat_binary(bytes.substr(at), archs);
    at += size == 0 ? 8 : (size + 7) / 8 * 8;
  }
}

/// The target of "KIND-TRIPLE--ARCH"; the host's own part is none.
void add_bundle_id(std::string_view id, std::set<std::string>& archs) {
  const auto dashes = id.find("--");
  if (id.starts_with("host") || dashes == std::string_view::npos) return;
  archs.emplace(id.substr(dashes + 2));
}

void read_bundle(std::string_view bytes, std::set<std::string>& archs) {
  std::uint64_t at = kBundleMagic.size();
  const std::uint64_t count =
      std::min(Image::read<std::uint64_t>(bytes, at).value_or(0), kMaxBundles);
  at += 8;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto id_bytes = Image::read<std::uint64_t>(bytes, at + 16);
    if (!id_bytes || at + 24 > bytes.size() || *id_bytes > bytes.size() - at - 24) return;
    add_bundle_id(bytes.substr(at + 24, *id_bytes), archs);
    at += 24 + *id_bytes;
  }
}

}  // namespace

DeviceCode find_device_code(const Image& image) {
  std::set<std::string> archs;
  DeviceCode found;
  for (const char* name : {".nv_fatbin", "__nv_relfatbin"}) {
    if (const auto bytes = image.section(name)) read_fat_binaries(*bytes, archs);
  }
  if (const auto bytes = image.section(".hip_fatbin")) {
    for (auto at = bytes->find(kBundleMagic); at != std::string_view::npos;
         at = bytes->find(kBundleMagic, at + 1)) {
      read_bundle(bytes->substr(at), archs);
    }
    found.compressed = bytes->starts_with(kCompressedBundleMagic);
  }
  found.archs.assign(archs.begin(), archs.end());
  return found;
}

}  // namespace tenon::lint
