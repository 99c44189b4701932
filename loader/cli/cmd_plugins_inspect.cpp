// tenon plugins inspect: what a plugin file says about itself, read from its bytes.
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "files.hpp"
#include "json.hpp"
#include "run_commands.hpp"
#include "tenon/loader/elf.hpp"
#include "text.hpp"
#include "view_plugins.hpp"

namespace tenon::cli {
namespace {

/// What was read of a file, as far as it could be.
struct Inspection {
  std::string path;
  std::optional<loader::ElfFile> elf;
  std::optional<loader::PluginFault> fault;
};

std::string_view sanitizer_name(std::uint32_t sanitizer) {
  switch (sanitizer) {
    case 0:
      return "none";
    case 1:
      return "address";
    case 2:
      return "thread";
    case 3:
      return "memory";
    default:
      return "unknown";
  }
}

Result<Inspection> inspect(const std::string& path) {
  auto file = open_file(path);
  if (!file) return fail(std::move(file).error());
  Inspection inspection;
  std::error_code ignored;
  inspection.path = std::filesystem::canonical(path, ignored).string();
  if (inspection.path.empty()) inspection.path = path;
  auto elf = loader::read_elf(file->get());
  if (!elf) {
    inspection.fault = elf.error();
    return inspection;
  }
  if (auto vetted = loader::vet(*elf); !vetted) inspection.fault = vetted.error();
  inspection.elf = std::move(*elf);
  return inspection;
}

std::string inspection_text(const Inspection& inspection, const Style& style) {
  std::string text = fmt::format("{}\n", one_line(inspection.path));
  Table table({{""}, {"", false, true}});
  if (inspection.elf) {
    const loader::ElfFile& elf = *inspection.elf;
    if (elf.note) {
      const loader::PluginNote& note = *elf.note;
      table.row({"plugin", note.id});
      table.row({"version", note.version});
      table.row({"ABI",
                 fmt::format("{}.{}, host minor {} or later",
                             note.abi_major,
                             note.abi_minor,
                             note.min_host_minor)});
      table.row({"device code", note.archs.empty() ? "none" : joined(note.archs)});
      table.row({"depends on", note.depends.empty() ? "none" : joined(note.depends)});
      table.row({"sanitizer", sanitizer_name(note.sanitizer)});
      table.row({"header", fmt::format("{:016x}", note.header_hash)});
    } else {
      table.row({"note", "none: this is not a plugin"});
    }
    table.row({"entry symbol", elf.exports_entry ? "exported" : "missing"});
    table.row({"build id", elf.build_id.empty() ? "none" : elf.build_id});
    table.row({"needs", elf.needed.empty() ? "none" : joined(elf.needed)});
  }
  text += table.render(style, 2);
  if (inspection.fault) {
    text += paragraph(
        inked("not loadable", Ink::kBad, style) + ": " + inspection.fault->text, 2, style);
  } else {
    text += "  " + inked("loadable", Ink::kGood, style) +
            ", as far as the file tells; none of its code was run\n";
  }
  return text;
}

std::string inspection_json(const Inspection& inspection) {
  Json json = document();
  json["path"] = inspection.path;
  json["loadable"] = !inspection.fault.has_value();
  json["stage"] = inspection.fault ? Json(name_of(inspection.fault->stage)) : Json(nullptr);
  json["code"] = status_name(inspection.fault ? inspection.fault->code : TENON_OK);
  json["reason"] = inspection.fault ? Json(inspection.fault->text) : Json(nullptr);
  json["note"] = nullptr;
  json["file"] = nullptr;
  if (!inspection.elf) return text_of(json);
  const loader::ElfFile& elf = *inspection.elf;
  json["file"] = {{"build_id", text_or_null(elf.build_id)},
                  {"soname", text_or_null(elf.soname)},
                  {"needed", elf.needed},
                  {"exports_entry", elf.exports_entry}};
  if (!elf.note) return text_of(json);
  const loader::PluginNote& note = *elf.note;
  json["note"] = {{"id", note.id},
                  {"version", note.version},
                  {"abi",
                   {{"major", note.abi_major},
                    {"minor", note.abi_minor},
                    {"min_host_minor", note.min_host_minor}}},
                  {"archs", note.archs},
                  {"depends", note.depends},
                  {"sanitizer", sanitizer_name(note.sanitizer)},
                  {"header_hash", fmt::format("{:016x}", note.header_hash)}};
  return text_of(json);
}

}  // namespace

Result<int> run_plugins_inspect(const Arguments& arguments, Console& console) {
  auto inspection = inspect(arguments.operands().front());
  if (!inspection) return fail(std::move(inspection).error());
  console.out(arguments.json() ? inspection_json(*inspection)
                               : inspection_text(*inspection, console.out_style()));
  return inspection->fault ? kExitFailed : kExitOk;
}

}  // namespace tenon::cli
