// The arch tags of a device.
#include "host/arch_tags.hpp"

#include <array>

namespace tenon::gpu {
namespace {

// Compute capabilities that the toolkits of the last years name, the newest first.
constexpr std::array<int, 16> kCapabilities{
    121, 120, 110, 103, 101, 100, 90, 89, 88, 87, 86, 80, 75, 72, 70, 60};

}  // namespace

std::vector<std::string> nvidia_arch_tags(int major, int minor) {
  const int capability = major * 10 + minor;
  const std::string number = std::to_string(capability);
  std::vector<std::string> tags;
  // Features of one capability alone, such as wgmma, are code for "sm_90a".
  if (major >= 9) tags.push_back("sm_" + number + "a");
  tags.push_back("sm_" + number);
  // Machine code runs on later minors of the same major; intermediate code on everything later.
  for (const int older : kCapabilities) {
    if (older < capability && older / 10 == major) tags.push_back("sm_" + std::to_string(older));
  }
  if (major >= 9) tags.push_back("compute_" + number + "a");
  tags.push_back("compute_" + number);
  for (const int older : kCapabilities) {
    if (older < capability) tags.push_back("compute_" + std::to_string(older));
  }
  return tags;
}

std::vector<std::string> amd_arch_tags(const std::string& name) {
  std::vector<std::string> tags{name};
  const auto colon = name.find(':');
  if (colon != std::string::npos) tags.push_back(name.substr(0, colon));
  return tags;
}

}  // namespace tenon::gpu
