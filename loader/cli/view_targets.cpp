// `tenon targets` as a table and as JSON.
#include "view_targets.hpp"

#include "json.hpp"
#include "text.hpp"

namespace tenon::cli {

std::string targets_text(std::span<const TargetRow> targets, const Style& style) {
  Table table({{"TARGET"},
               {"TYPE"},
               {"PLUGIN"},
               {"KINDS", false, true},
               {"CLAIMS", false, true},
               {"OPS", false, true}});
  for (const TargetRow& target : targets) {
    table.row({target.name,
               target.is_builder ? "builder" : "table",
               target.plugin.empty() ? "-" : target.plugin,
               joined(target.kinds),
               target.claims.empty() ? "-" : joined(target.claims),
               target.serves_all ? "all" : joined(target.ops)});
  }
  return table.render(style);
}

std::string targets_json(std::span<const TargetRow> targets) {
  Json json = document();
  json["targets"] = Json::array();
  for (const TargetRow& target : targets) {
    Json entry;
    entry["name"] = target.name;
    entry["type"] = target.is_builder ? "builder" : "table";
    entry["plugin"] = text_or_null(target.plugin);
    entry["kinds"] = target.kinds;
    entry["ops"] = target.serves_all ? Json("all") : Json(target.ops);
    entry["claims"] = target.claims;
    json["targets"].push_back(std::move(entry));
  }
  return text_of(json);
}

}  // namespace tenon::cli
