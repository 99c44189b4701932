// tenon config: effective settings and where each came from.
#include <utility>

#include <fmt/format.h>

#include "app.hpp"
#include "json.hpp"
#include "log_lines.hpp"
#include "run_commands.hpp"
#include "session.hpp"
#include "tenon/loader/config.hpp"
#include "tenon/plugin.h"
#include "text.hpp"

namespace tenon::cli {
namespace {

Result<loader::Config> load_config(const Arguments& arguments, Console& console) {
  auto sources = config_sources(arguments);
  if (!sources) return fail(std::move(sources).error());
  auto config = loader::Config::load(*sources, loader::Environment::system());
  if (!config) return config;
  for (const loader::LogLine& line : config->log()) {
    if (line.level <= TENON_LOG_WARN || arguments.has("verbose"))
      print_log_line(console, line.level, "config", line.text);
  }
  return config;
}

}  // namespace

Result<int> run_config_show(const Arguments& arguments, Console& console) {
  auto sources = config_sources(arguments);
  if (!sources) return fail(std::move(sources).error());
  auto config = loader::Config::load(*sources, loader::Environment::system());
  if (!config) return fail(std::move(config).error());
  // Opening a session looks up the names in the settings and tells those that nothing answers to.
  if (auto session = Session::open(arguments, console); !session) {
    console.err("with these settings no op can be made:\n" +
                error_text(session.error(), console.err_style()));
  }
  if (arguments.json()) {
    console.out(config->to_json());
    return kExitOk;
  }
  Table table({{"KEY"}, {"VALUE", false, true}, {"FROM", false, true}});
  for (const loader::ConfigSetting& setting : config->settings()) {
    const auto* const text = setting.value.get_if<std::string>();
    const std::string value = setting.value.is_none() ? "-"
                              : text != nullptr       ? *text
                                                      : setting.value.to_string();
    const bool is_default = setting.origin == loader::Origin::kDefault;
    table.row({Cell(setting.key, is_default ? Ink::kPlain : Ink::kBold), value, setting.from()});
  }
  console.out(table.render(console.out_style()));
  return kExitOk;
}

Result<int> run_config_path(const Arguments& arguments, Console& console) {
  auto config = load_config(arguments, console);
  if (!config) return fail(std::move(config).error());
  if (arguments.json()) {
    Json json = document();
    json["path"] = config->file() ? Json(*config->file()) : Json(nullptr);
    json["looked_at"] = Json::array();
    for (const loader::SearchPlace& place : config->looked_at()) {
      json["looked_at"].push_back(
          {{"path", place.path}, {"from", place.from}, {"found", place.found}});
    }
    console.out(text_of(json));
    return kExitOk;
  }
  if (config->file()) {
    console.out(*config->file() + '\n');
    return kExitOk;
  }
  console.err("no configuration file is in use; these places were looked at:\n");
  for (const loader::SearchPlace& place : config->looked_at()) {
    console.err(fmt::format("  {}  ({})\n", place.path, place.from));
  }
  return kExitOk;
}

}  // namespace tenon::cli
