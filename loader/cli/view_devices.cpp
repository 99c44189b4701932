// `tenon devices` as a table and as JSON, and that JSON read back as assumed devices.
#include "view_devices.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "json.hpp"
#include "text.hpp"

namespace tenon::cli {
namespace {

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 3> kFlags{{
    {"synchronous", TENON_DEVICE_FLAG_SYNCHRONOUS},
    {"lost", TENON_DEVICE_FLAG_LOST},
    {"host_memory", TENON_DEVICE_FLAG_HOST_MEMORY},
}};

std::vector<std::string> names_of(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const Device& device : devices) names.push_back(device.to_string());
  return names;
}

Json facts_json(const DeviceFacts::Fields& fields) {
  Json facts;
  facts["shared_per_block_bytes"] = fields.shared_per_block_bytes;
  facts["shared_per_unit_bytes"] = fields.shared_per_unit_bytes;
  facts["dlpack_type"] = fields.dlpack_type;
  for (const auto& [name, bit] : kFlags) facts[std::string(name)] = (fields.flags & bit) != 0;
  return facts;
}

Json to_json(const DeviceRow& row) {
  const DeviceFacts::Fields& fields = row.facts.fields();
  Json json;
  json["device"] = row.device.to_string();
  json["kind"] = row.device.kind.name();
  json["index"] = row.device.index;
  json["name"] = fields.name;
  json["arch"] = fields.arch;
  json["plugin"] = row.plugin;
  json["memory_bytes"] = fields.memory_bytes;
  json["unit_count"] = fields.unit_count;
  json["warp_size"] = fields.warp_size;
  json["runs_archs"] = fields.runs_archs;
  json["pci"] = text_or_null(fields.pci);
  json["uuid"] = text_or_null(fields.uuid);
  json["same_as"] = names_of(row.same_as);
  json["facts"] = facts_json(fields);
  json["failure"] = text_or_null(row.failure);
  return json;
}

/// Reads typed fields of one object and remembers the first that has the wrong type.
class FieldReader {
 public:
  FieldReader(const Json& object, std::string what) : object_(object), what_(std::move(what)) {}

  void text(const char* name, std::string& target) {
    const Json* const field = find(name);
    if (field == nullptr) return;
    if (field->is_string()) {
      target = field->get<std::string>();
    } else {
      complain(name, "a text", *field);
    }
  }
  template <class Integer>
  void number(const char* name, Integer& target) {
    const Json* const field = find(name);
    if (field == nullptr) return;
    const bool fits =
        field->is_number_unsigned() && std::in_range<Integer>(field->get<std::uint64_t>());
    if (fits) {
      target = static_cast<Integer>(field->get<std::uint64_t>());
    } else {
      complain(name, "a whole number of its range", *field);
    }
  }
  void texts(const char* name, std::vector<std::string>& target) {
    const Json* const field = find(name);
    if (field == nullptr) return;
    bool fits = field->is_array();
    for (const Json& item : fits ? *field : Json::array()) fits = fits && item.is_string();
    if (fits) {
      target = field->get<std::vector<std::string>>();
    } else {
      complain(name, "a list of texts", *field);
    }
  }
  void flag(const char* name, std::uint64_t bit, std::uint64_t& target) {
    const Json* const field = find(name);
    if (field == nullptr) return;
    if (!field->is_boolean()) return complain(name, "true or false", *field);
    target = field->get<bool>() ? target | bit : target & ~bit;
  }
  [[nodiscard]] const Json* find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  [[nodiscard]] const std::string& fault() const { return fault_; }

 private:
  void complain(const char* name, const char* wanted, const Json& found) {
    if (fault_.empty())
      fault_ = fmt::format("{}: '{}' must be {}, found {}", what_, name, wanted, found.dump());
  }
  const Json& object_;
  std::string what_;
  std::string fault_;
};

/// The facts of one listed device, or what is wrong with them.
tl::expected<DeviceFacts, std::string> read_device(const Json& json, std::size_t number) {
  const std::string what = fmt::format("device {}", number);
  if (!json.is_object())
    return tl::unexpected(fmt::format("{} must be an object, found {}", what, json.dump()));
  FieldReader reader(json, what);
  DeviceFacts::Fields fields;
  std::string device;
  reader.text("device", device);
  if (!device.empty()) {
    auto parsed = Device::parse(device);
    if (!parsed) return tl::unexpected(fmt::format("{}: {}", what, parsed.error().message()));
    fields.kind = std::string(parsed->kind.name());
    fields.index = parsed->index;
  }
  reader.text("kind", fields.kind);
  reader.number("index", fields.index);
  reader.text("name", fields.name);
  reader.text("arch", fields.arch);
  reader.number("memory_bytes", fields.memory_bytes);
  reader.number("unit_count", fields.unit_count);
  reader.number("warp_size", fields.warp_size);
  reader.texts("runs_archs", fields.runs_archs);
  reader.text("pci", fields.pci);
  reader.text("uuid", fields.uuid);
  if (const Json* const facts = reader.find("facts")) {
    FieldReader inner(*facts, what + ", facts");
    inner.number("shared_per_block_bytes", fields.shared_per_block_bytes);
    inner.number("shared_per_unit_bytes", fields.shared_per_unit_bytes);
    inner.number("dlpack_type", fields.dlpack_type);
    for (const auto& [name, bit] : kFlags) inner.flag(std::string(name).c_str(), bit, fields.flags);
    if (!inner.fault().empty()) return tl::unexpected(inner.fault());
  }
  if (!reader.fault().empty()) return tl::unexpected(reader.fault());
  if (const auto told =
          Device{DeviceKind::of(fields.kind), static_cast<std::int16_t>(fields.index)};
      !device.empty() && *Device::parse(device) != told) {
    return tl::unexpected(fmt::format(
        "{}: 'device' is {}, but 'kind' and 'index' are {}", what, device, told.to_string()));
  }
  if (fields.kind.empty()) return tl::unexpected(what + ": neither 'device' nor 'kind' is given");
  if (fields.arch.empty()) return tl::unexpected(what + ": 'arch' is missing");
  if (fields.runs_archs.empty()) fields.runs_archs = {fields.arch};
  return DeviceFacts(std::move(fields));
}

}  // namespace

std::string devices_text(std::span<const DeviceRow> devices,
                         std::span<const AbsentKind> absent,
                         const Style& style) {
  std::string text;
  Table table({{"DEVICE"},
               {"NAME", false, true},
               {"ARCH", false, true},
               {"MEMORY", true},
               {"UNITS", true},
               {"PLUGIN"},
               {"SAME CARD AS", false, true}});
  for (const DeviceRow& row : devices) {
    const DeviceFacts::Fields& fields = row.facts.fields();
    table.row({row.device.to_string(),
               fields.name,
               fields.arch,
               bytes_text(static_cast<double>(fields.memory_bytes)),
               std::to_string(fields.unit_count),
               row.plugin,
               joined(names_of(row.same_as))});
    if (!row.failure.empty()) table.remark(row.failure, Ink::kBad);
  }
  text += table.empty() ? std::string("no device is present\n") : table.render(style);
  for (const AbsentKind& kind : absent) {
    text += paragraph(
        fmt::format("{}: no device ({}): {}", kind.kind, kind.plugin, kind.reason), 0, style);
  }
  return text;
}

std::string devices_json(std::span<const DeviceRow> devices, std::span<const AbsentKind> absent) {
  Json json = document();
  json["devices"] = Json::array();
  for (const DeviceRow& row : devices) json["devices"].push_back(to_json(row));
  json["absent"] = Json::array();
  for (const AbsentKind& kind : absent) {
    json["absent"].push_back(
        {{"kind", kind.kind}, {"plugin", kind.plugin}, {"reason", kind.reason}});
  }
  return text_of(json);
}

Result<std::vector<DeviceFacts>> parse_assumed(std::string_view text, const std::string& path) {
  const auto wrong = [&](std::string_view why) {
    return fail(Error(ErrorCode::kUsageError, fmt::format("{}{}", path, why))
                    .with_hint("write a file as 'tenon devices --json' prints it"));
  };
  const auto bad = [&](std::string_view why) {
    return wrong(fmt::format(" holds no devices: {}", why));
  };
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return bad("it is not JSON");
  if (const auto schema = json.is_object() ? json.find("schema") : json.end();
      schema != json.end() && *schema != 1) {
    return wrong(fmt::format(": its 'schema' is {}; 1 is read", schema->dump()));
  }
  if (!json.is_object() || !json.contains("devices") || !json["devices"].is_array()) {
    return bad("there is no list 'devices'");
  }
  std::vector<DeviceFacts> all;
  for (const Json& device : json["devices"]) {
    auto facts = read_device(device, all.size() + 1);
    if (!facts) return wrong(": " + facts.error());
    all.push_back(std::move(*facts));
  }
  if (all.empty()) return bad("the list 'devices' is empty");
  return all;
}

}  // namespace tenon::cli
