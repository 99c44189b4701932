// What must hold for any bytes that a plugin hands over as one of its tables; shared by the fuzzer
// and by the tests that replay.
#pragma once

#include <string>
#include <string_view>

namespace tenon::fuzz {

/// The first byte picks the table (exported object, kernel types, device kind, target), the second
/// the number of rows, the next two the bytes from row to row. The rest lies at the end of a page,
/// behind which nothing may be read; words of it that begin with 0xb1 0x7a at the high end become
/// addresses in that page, those with 0xb2 0x7a the address of a function. Returns what does not
/// hold; empty: all does.
[[nodiscard]] std::string broken_table_property(std::string_view bytes);

}  // namespace tenon::fuzz
