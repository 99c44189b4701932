// The key of a call: everything that selection and builds may depend on, as words.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/core/device.hpp"
#include "tenon/plugin.h"

namespace tenon {

/// Appends a value: floats by bits with one NaN, lists and strings by contents.
void append_value(std::vector<std::uint64_t>& words, const tenon_value& value);

/// (interface, device, call spec, argument facts and dtypes). `words` keeps its storage from call
/// to call.
void make_call_key(std::vector<std::uint64_t>& words,
                   std::uint32_t interface,
                   Device device,
                   std::span<const tenon_value> fields,
                   std::span<const tenon_arg_facts> facts,
                   std::span<const tenon_dtype> dtypes);

[[nodiscard]] std::uint64_t hash_words(std::span<const std::uint64_t> words) noexcept;

}  // namespace tenon
