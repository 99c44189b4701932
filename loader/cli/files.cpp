// Whole files as text.
#include "files.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>

namespace tenon::cli {

Result<std::string> read_text_file(const std::string& path) {
  struct Closer {
    void operator()(std::FILE* file) const {
      if (file != stdin) std::fclose(file);
    }
  };
  const std::unique_ptr<std::FILE, Closer> file(path == "-" ? stdin
                                                            : std::fopen(path.c_str(), "rb"));
  const auto failed = [&] {
    return fail(ErrorCode::kUsageError,
                fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  };
  if (!file) return failed();
  std::string text;
  std::array<char, 65536> block;
  while (const std::size_t got = std::fread(block.data(), 1, block.size(), file.get()))
    text.append(block.data(), got);
  if (std::ferror(file.get()) != 0) return failed();
  return text;
}

}  // namespace tenon::cli
