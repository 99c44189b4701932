// Reading manifests: files, folders, the shipped set, and what plugins bring, into parsed entries.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/manifest/diagnostic.hpp"
#include "tenon/manifest/entry.hpp"

namespace tenon::manifest {

/// A set and everything that is wrong with it. Entries with an error are in the set, marked faulty.
struct LoadedSet {
  ManifestSet set;
  DiagnosticList diagnostics;  ///< sorted
};

/// A manifest file's name and text.
struct NamedText {
  std::string name;  ///< as diagnostics print it; its stem is checked against the entries' family
  std::string contents;
};

/// How texts are read.
struct LoadOptions {
  std::string ns = "tenon";
  /// False for the text that a plugin brings: its name says nothing of a family, and may hold
  /// several.
  bool file_names_families = true;
  /// False where the set holds some files of a larger one: an op that is not there is then no
  /// error.
  bool complete = true;
};

/// Reads texts as one set. Duplicate ops, interfaces and schema names across files are errors with
/// both places. Never throws; a file that is not YAML costs its own entries only.
[[nodiscard]] LoadedSet load_texts(std::span<const NamedText> files,
                                   const LoadOptions& options = {});

/// Every `*.yaml` directly in a folder, by name; `types.yaml` holds ADTs.
/// @errors ManifestInvalid where the folder cannot be read or has no such file.
[[nodiscard]] Result<LoadedSet> load_folder(const std::filesystem::path& folder,
                                            const LoadOptions& options = {});

/// Files and folders together as one set. `types.yaml` of a folder, or else of the one above it,
/// is read as well, also for single files.
/// @errors ManifestInvalid naming the path that cannot be read.
[[nodiscard]] Result<LoadedSet> load_files(std::span<const std::filesystem::path> paths,
                                           const LoadOptions& options = {});

/// The manifest that this library was built with.
[[nodiscard]] LoadedSet load_shipped();

/// A file of the shipped manifest, embedded at build time. Static.
struct EmbeddedFile {
  std::string_view name;
  std::string_view contents;
};
[[nodiscard]] std::span<const EmbeddedFile> shipped_manifest() noexcept;

/// A type text ("int | list[int] | None") taken apart. Reports under `entry` and `field`; no
/// members then. `formal`: the kinds of the language (Dim, Shape, Seq[Int], Maybe[X], ...) are
/// legal, too.
[[nodiscard]] TypeText parse_type(const Text& text,
                                  bool formal,
                                  std::string_view entry,
                                  std::string_view field,
                                  DiagnosticList& diagnostics);

/// True for [A-Z][A-Za-z0-9]*(Fwd|Bwd)Op.
[[nodiscard]] bool is_op_name(std::string_view name) noexcept;
/// True for a name that expressions can use: letters, digits and '_', no word of the expression
/// language.
[[nodiscard]] bool is_identifier(std::string_view name) noexcept;

}  // namespace tenon::manifest
