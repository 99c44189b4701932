// Manifest sets into a registry: read, compile, add.
#include "manifest_set.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "config_keys.hpp"
#include "tenon/manifest/compile.hpp"
#include "tenon/manifest/compiled.hpp"
#include "tenon/manifest/reader.hpp"

namespace tenon::loader {
namespace {

/// The first error of a list as one error; the rest as a field.
Error error_of(const manifest::DiagnosticList& diagnostics) {
  std::optional<Error> first;
  std::string more;
  for (const manifest::Diagnostic& each : diagnostics) {
    if (each.severity != manifest::Severity::kError) continue;
    if (first) {
      more += (more.empty() ? "" : "\n") + each.to_string();
      continue;
    }
    std::string text = each.text;
    if (!each.entry.empty()) text = fmt::format("{}: {}", each.entry, text);
    first = Error(ErrorCode::kManifestInvalid, std::move(text))
                .with_where(each.where.to_string())
                .with_hint(each.hint)
                .with("rule", each.rule);
  }
  if (!first) return {ErrorCode::kInternal, "a manifest was refused without a reason"};
  if (!more.empty()) first->add("more", std::move(more));
  return std::move(*first);
}

using Plans = std::vector<std::shared_ptr<const SignaturePlan>>;

Result<Plans> compile_set(manifest::LoadedSet loaded) {
  Plans plans;
  for (const manifest::Entry& entry : loaded.set.entries) {
    if (auto plan = manifest::compile(entry, loaded.set.adts, loaded.diagnostics)) {
      plans.push_back(std::move(plan));
    }
  }
  loaded.diagnostics.finish();
  if (loaded.diagnostics.has_errors()) return fail(error_of(loaded.diagnostics));
  return plans;
}

/// Every entry is compiled before any is added.
Result<void> add_plans(Registry& registry, const Result<Plans>& plans) {
  if (!plans) return fail(plans.error());
  for (const auto& plan : *plans) TENON_TRY(registry.add_op(plan));
  return {};
}

/// A plugin's own namespace: its id with `_` for `-`.
std::string namespace_of(std::string_view plugin_id) {
  std::string ns(plugin_id);
  std::replace(ns.begin(), ns.end(), '-', '_');
  return ns;
}

}  // namespace

Result<void> add_ops(Registry& registry, const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  bool with_shipped = paths.empty();
  for (const std::string& path : paths) {
    if (path == kShipped) {
      with_shipped = true;
    } else {
      files.emplace_back(path);
    }
  }
  if (with_shipped) {
    // The build compiled them. Plans are immutable, so all Runtimes of a process share them.
    static const Result<Plans> kCompiled = manifest::load_compiled();
    TENON_TRY(add_plans(registry, kCompiled));
  }
  if (files.empty()) return {};
  auto loaded = manifest::load_files(files);
  if (!loaded) return fail(std::move(loaded).error());
  return add_plans(registry, compile_set(std::move(*loaded)));
}

Result<void> add_plugin_ops(Registry& registry, std::string_view plugin_id, std::string_view yaml) {
  manifest::LoadOptions options;
  options.ns = namespace_of(plugin_id);
  options.file_names_families = false;
  const manifest::NamedText text{fmt::format("plugin {}", plugin_id), std::string(yaml)};
  return add_plans(registry, compile_set(manifest::load_texts({&text, 1}, options)));
}

void drop_plugin_ops(Registry& registry, std::string_view plugin_id) {
  registry.drop_ops(namespace_of(plugin_id));
}

}  // namespace tenon::loader
