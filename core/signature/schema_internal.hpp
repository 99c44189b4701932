// What the files of the schema checker share.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/schema.hpp"

namespace tenon::detail {

/// The validity rules of torchgen on a schema whose grammar holds.
void check_schema_rules(const Schema& schema, std::vector<SchemaIssue>& errors);

/// Orders issues by column; of equal columns the first found stays first.
void sort_by_column(std::vector<SchemaIssue>& issues);

/// Where the run dtype, layout, device, pin_memory of keyword-only arguments starts, if there is
/// one.
std::optional<std::size_t> tensor_options_at(const Schema& schema);

/// A piece of the input as a message shows it: quoted, printable, cut after 24 characters; "the
/// end" of nothing.
std::string shown(std::string_view text);

}  // namespace tenon::detail
