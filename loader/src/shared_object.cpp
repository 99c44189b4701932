// Boost.DLL behind one function. Its exceptions end here.
#include "shared_object.hpp"

#include <dlfcn.h>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <boost/dll/shared_library.hpp>
#include <fmt/format.h>

#include "ready_unwinder.hpp"

namespace tenon::loader {
namespace {

/// The dynamic linker's text out of Boost's, which wraps it.
std::string system_reason(std::string_view what) {
  constexpr std::string_view kOpening = "dlerror system message: ";
  const std::size_t start = what.find(kOpening);
  if (start == std::string_view::npos) return std::string(what);
  what.remove_prefix(start + kOpening.size());
  return std::string(what.substr(0, what.rfind("): ")));
}

using Library = boost::dll::shared_library;

/// Keeps an opened object as long as the process: its destructor would call dlclose. The list is
/// never destroyed, and stays reachable for leak checkers.
void keep_open(std::unique_ptr<Library> library) {
  static std::mutex guard;
  static auto& kept = *new std::vector<std::unique_ptr<Library>>();
  const std::lock_guard lock(guard);
  kept.push_back(std::move(library));
}

}  // namespace

FileResult<MappedObject> map_and_find(const std::string& path, const char* symbol) {
  const auto refuse = [](tenon_status code, std::string text) {
    return tl::unexpected(PluginFault{PluginStage::kLoad, code, std::move(text)});
  };
  if (!std::filesystem::path(path).is_absolute()) {  // an empty path would be the host itself
    return refuse(TENON_INVALID_ARGUMENT, fmt::format("'{}' is no absolute path", path));
  }
  // The mode's bits are dlopen's own; Boost passes on what it does not know. NODELETE keeps the
  // code mapped whatever anybody closes.
  constexpr auto kMode =
      static_cast<boost::dll::load_mode::type>(RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  ready_unwinder();
  auto opened = std::make_unique<Library>();
  try {
    opened->load(path, kMode);
  } catch (const std::exception& error) {
    std::string reason = system_reason(error.what());
    const bool incompatible = reason.find("undefined symbol") != std::string::npos ||
                              reason.find("version `") != std::string::npos;
    return refuse(incompatible ? TENON_INCOMPATIBLE : TENON_UNAVAILABLE,
                  "the dynamic linker refuses it: " + std::move(reason));
  }
  const Library* library = opened.get();
  keep_open(std::move(opened));
  try {
    return MappedObject{&library->get<const char>(symbol),
                        LoadedImage::of_handle(library->native())};
  } catch (const std::exception& error) {
    return refuse(TENON_NOT_FOUND,
                  fmt::format("no entry symbol {}: {}", symbol, system_reason(error.what())));
  }
}

}  // namespace tenon::loader
