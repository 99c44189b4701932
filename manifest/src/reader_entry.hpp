// The parts of the entry reader, one per file; each fills its part of an Entry and reports what is
// wrong.
#pragma once

#include "reader_scope.hpp"
#include "tenon/manifest/entry.hpp"
#include "tenon/manifest/reader.hpp"

namespace tenon::manifest {

/// The whole entry under its name.
[[nodiscard]] Entry read_entry(const Scope& file, const Node& key, const Node& body);

/// signature: indices, parameters, tensors, families, lets, refinements, combinations, and the
/// rules between them.
void read_signature(const Scope& scope, const Node& node, Entry& entry);
/// Order of inputs, effects and aliases, once every tensor is read; `scope` is the signature's.
void check_effects(const Scope& scope, const Entry& entry);
/// workloads: rows, as far as they need no expression.
void read_workloads(const Scope& scope, const Node& node, Entry& entry);
/// steps and interfaces.
void read_interfaces(const Scope& scope, const Node* steps, const Node* interfaces, Entry& entry);

/// types.yaml.
void read_types(const Scope& file, const Node& root, std::vector<AdtDecl>& adts);

/// Faults that only the whole set shows: names given twice, references to entries, unknown ADT
/// names.
void check_set(ManifestSet& set, const LoadOptions& options, DiagnosticList& diagnostics);

}  // namespace tenon::manifest
