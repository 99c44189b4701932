// Reads and writes .npy files. The header is a Python literal, of which exactly what NumPy writes
// is understood.
#include "tenon/loader/npy.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "atomic_file.hpp"

namespace tenon {
namespace {

constexpr std::size_t kMagicBytes = 6;
constexpr std::size_t kMaxHeaderBytes = 1u
                                        << 16;  // NumPy refuses longer ones too, unless told not to

tl::unexpected<Error> bad(std::string text) {
  return fail(ErrorCode::kUsageError, std::move(text));
}

struct NumpyType {
  std::string_view code;  // without the byte order
  DType dtype;
};
constexpr std::array<NumpyType, 14> kNumpyTypes{{
    {"b1", DType::kBool},
    {"i1", DType::kInt8},
    {"u1", DType::kUInt8},
    {"i2", DType::kInt16},
    {"u2", DType::kUInt16},
    {"i4", DType::kInt32},
    {"u4", DType::kUInt32},
    {"i8", DType::kInt64},
    {"u8", DType::kUInt64},
    {"f2", DType::kFloat16},
    {"f4", DType::kFloat32},
    {"f8", DType::kFloat64},
    {"c8", DType::kComplex64},
    {"c16", DType::kComplex128},
}};

/// The header's dict, as its three texts.
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : rest_(text) {}

  Result<NpyHeader> parse() {
    if (!take('{')) return bad("not a .npy file: its header is no dict");
    while (!take('}')) {
      TENON_TRY(parse_entry());
      if (!take(',') && !peek('}')) return bad("malformed .npy header: a comma is missing");
    }
    skip_space();
    if (!rest_.empty()) return bad("malformed .npy header: text follows the dict");
    if (!have_descr_ || !have_order_ || !have_shape_) {
      return bad("malformed .npy header: it must have 'descr', 'fortran_order' and 'shape'");
    }
    return header_;
  }

 private:
  void skip_space() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0) {
      rest_.remove_prefix(1);
    }
  }
  bool peek(char c) {
    skip_space();
    return !rest_.empty() && rest_.front() == c;
  }
  bool take(char c) {
    if (!peek(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  Result<std::string_view> take_string() {
    skip_space();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const std::size_t end =
        quote == '\'' || quote == '"' ? rest_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) return bad("malformed .npy header: a string is expected");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  Result<void> parse_entry() {
    std::string_view key;
    TENON_TRY_ASSIGN(key, take_string());
    if (!take(':')) return bad(fmt::format("malformed .npy header: no ':' after '{}'", key));
    if (key == "descr" && !have_descr_) return have_descr_ = true, parse_descr();
    if (key == "fortran_order" && !have_order_) return have_order_ = true, parse_order();
    if (key == "shape" && !have_shape_) return have_shape_ = true, parse_shape();
    return bad(fmt::format("malformed .npy header: unexpected or repeated key '{}'", key));
  }

  Result<void> parse_descr() {
    if (peek('[')) {
      return bad("a structured dtype is no tensor's; save one field as an array of its own");
    }
    std::string_view text;
    TENON_TRY_ASSIGN(text, take_string());
    if (text.size() < 2) return bad(fmt::format("dtype '{}' is not NumPy's", text));
    std::string_view code = text;
    char order = '|';
    if (std::string_view("<>=|").find(code.front()) != std::string_view::npos) {
      order = code.front();
      code.remove_prefix(1);
    }
    if (code.starts_with('O')) {
      return bad(
          "dtype object holds Python objects, which are never read; save a numeric array "
          "(array.astype(...))");
    }
    const auto found = std::find_if(
        kNumpyTypes.begin(), kNumpyTypes.end(), [&](const NumpyType& t) { return t.code == code; });
    if (found == kNumpyTypes.end()) {
      return bad(fmt::format(
          "dtype '{}' is no tensor's; bool, int8 to int64, uint8 to uint64, float16, float32, "
          "float64, complex64 and complex128 are read",
          text));
    }
    header_.dtype = found->dtype;
    if (order == '>' && size_bytes_of(header_.dtype) > 1) {
      return bad(fmt::format(
          "dtype '{}' is big-endian; save it in this machine's order: array.astype('<{}')",
          text,
          code));
    }
    return {};
  }

  Result<void> parse_order() {
    if (take_word("True")) {
      header_.fortran_order = true;
    } else if (!take_word("False")) {
      return bad("malformed .npy header: fortran_order is neither True nor False");
    }
    return {};
  }

  Result<void> parse_shape() {
    if (!take('(')) return bad("malformed .npy header: shape is no tuple");
    while (!take(')')) {
      skip_space();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc() || size < 0) {
        return bad("malformed .npy header: a size in shape is not a number of at most 64 bits");
      }
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      (void)take('L');  // Python 2 wrote long integers so
      if (header_.shape.size() == kMaxRank) {
        return bad(fmt::format("the array has more than {} axes", kMaxRank));
      }
      header_.shape.push_back(size);
      if (!take(',') && !peek(')')) return bad("malformed .npy header: shape is no tuple");
    }
    return {};
  }

  std::string_view rest_;
  NpyHeader header_;
  bool have_descr_ = false;
  bool have_order_ = false;
  bool have_shape_ = false;
};

Dims fortran_strides(const Dims& shape) {
  Dims strides = shape;
  std::int64_t step = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    strides[i] = step;
    step *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

/// A descriptor that closes itself.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  [[nodiscard]] int get() const { return descriptor_; }

  /// Reads up to `count` bytes; fewer only at the end of the file or on an error.
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, std::byte* out, std::size_t count) const {
    std::size_t done = 0;
    while (done < count) {
      const ssize_t got =
          pread(descriptor_, out + done, count - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  int descriptor_;
};

/// The dtype under which NumPy can hold these bytes.
std::string_view numpy_code(DType dtype) {
  for (const NumpyType& type : kNumpyTypes) {
    if (type.dtype == dtype) return type.code;
  }
  return size_bytes_of(dtype) == 2 ? "u2" : "u1";
}

/// Copies a view of any strides into dense row-major bytes.
void gather(const TensorView& view, std::byte* out) {
  const std::size_t element = size_bytes_of(view.dtype);
  Dims index = view.shape;
  for (std::size_t i = 0; i < index.size(); ++i) index[i] = 0;
  const std::int64_t count = view.count();
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < index.size(); ++i) offset += index[i] * view.strides[i];
    std::memcpy(out, view.first() + offset * static_cast<std::int64_t>(element), element);
    out += element;
    for (std::size_t i = index.size(); i-- > 0;) {
      if (++index[i] < view.shape[i]) break;
      index[i] = 0;
    }
  }
}

std::string make_header(const TensorView& tensor) {
  std::string shape = "(";
  for (std::int64_t size : tensor.shape) shape += fmt::format("{}, ", size);
  if (tensor.shape.size() > 1) shape.resize(shape.size() - 2);
  if (tensor.shape.size() == 1) shape.resize(shape.size() - 1);
  shape += ")";
  const std::string_view code = numpy_code(tensor.dtype);
  std::string dict = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}",
                                 size_bytes_of(tensor.dtype) == 1 ? '|' : '<',
                                 code,
                                 shape);
  const std::size_t fixed = kMagicBytes + 2 + 2;
  dict.append((64 - (fixed + dict.size() + 1) % 64) % 64, ' ');
  dict += '\n';
  std::string header("\x93NUMPY\x01\x00", kMagicBytes + 2);
  header += static_cast<char>(dict.size() & 0xff);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes) {
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  if (bytes.size() < kMagicBytes || std::memcmp(bytes.data(), "\x93NUMPY", kMagicBytes) != 0) {
    return bad("not a .npy file: it does not begin with \\x93NUMPY");
  }
  if (bytes.size() < kMagicBytes + 4) return bad("truncated .npy file: it ends inside its header");
  const unsigned major = byte(kMagicBytes);
  if (major < 1 || major > 3) {
    return bad(fmt::format(
        ".npy format version {}.{}; 1, 2 and 3 are read", major, byte(kMagicBytes + 1)));
  }
  std::size_t at = kMagicBytes + 2;
  std::size_t size = byte(at) | byte(at + 1) << 8;
  at += 2;
  if (major > 1) {
    if (bytes.size() < at + 2) return bad("truncated .npy file: it ends inside its header");
    size |= static_cast<std::size_t>(byte(at)) << 16 | static_cast<std::size_t>(byte(at + 1)) << 24;
    at += 2;
  }
  if (size > kMaxHeaderBytes) {
    return bad(fmt::format(".npy header of {} bytes; at most {} are read", size, kMaxHeaderBytes));
  }
  if (bytes.size() - at < size) return bad("truncated .npy file: it ends inside its header");
  NpyHeader header;
  TENON_TRY_ASSIGN(
      header,
      HeaderText(std::string_view(reinterpret_cast<const char*>(bytes.data()) + at, size)).parse());
  const auto count = element_count(header.shape);
  const auto element = static_cast<std::int64_t>(size_bytes_of(header.dtype));
  // Strides multiply the sizes even where one axis is empty, so those must fit on their own.
  Dims sizes = header.shape;
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = std::max<std::int64_t>(sizes[i], 1);
  const auto span = element_count(sizes);
  if (!count || !span || *span > std::numeric_limits<std::int64_t>::max() / element) {
    return bad(
        fmt::format("shape {} has more bytes than 64 bits can count", header.shape.to_string()));
  }
  header.data_offset = at + size;
  header.data_bytes = static_cast<std::uint64_t>(*count * element);
  return header;
}

Result<Tensor> load_npy(const std::filesystem::path& path, std::optional<DType> as) {
  const std::string where = path.string();
  const auto at_file = [&](Error error) { return fail(std::move(error).with_where(where)); };
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // never waits on a FIFO
  struct stat facts {};
  if (file.get() < 0 || fstat(file.get(), &facts) != 0) {
    return bad(fmt::format("'{}' cannot be read: {}", where, std::strerror(errno)));
  }
  if (!S_ISREG(facts.st_mode)) return bad(fmt::format("'{}' is not a regular file", where));
  const auto file_bytes = static_cast<std::uint64_t>(facts.st_size);
  std::vector<std::byte> start(std::min<std::uint64_t>(file_bytes, kMaxHeaderBytes + 16));
  start.resize(file.read_at(0, start.data(), start.size()));
  auto header = parse_npy_header(start);
  if (!header) return at_file(std::move(header).error());
  if (file_bytes - header->data_offset < header->data_bytes) {
    return at_file(Error(ErrorCode::kUsageError,
                         fmt::format("truncated .npy file: {} of {} bytes of elements for {}{}",
                                     file_bytes - header->data_offset,
                                     header->data_bytes,
                                     name_of(header->dtype),
                                     header->shape.to_string())));
  }
  DType dtype = header->dtype;
  if (as) {
    if (size_bytes_of(*as) != size_bytes_of(dtype)) {
      return at_file(Error(ErrorCode::kUsageError,
                           fmt::format("elements of {} ({} bytes) cannot be read as {} ({} bytes)",
                                       name_of(dtype),
                                       size_bytes_of(dtype),
                                       name_of(*as),
                                       size_bytes_of(*as))));
    }
    dtype = *as;
  }
  Tensor dense;
  TENON_TRY_ASSIGN(dense, Tensor::host(dtype, header->shape));
  if (file.read_at(header->data_offset, dense.view().first(), header->data_bytes) !=
      header->data_bytes) {
    return bad(fmt::format("'{}' became shorter while it was read", where));
  }
  if (!header->fortran_order) return dense;
  TensorView view = dense.view();
  view.strides = fortran_strides(view.shape);
  return Tensor(dense.storage(), view);
}

Result<void> save_npy(const std::filesystem::path& file, const TensorView& tensor) {
  if (tensor.device.kind != DeviceKind()) {
    return bad(fmt::format("a tensor on {} cannot be written to '{}'; copy it to cpu first",
                           tensor.device.to_string(),
                           file.string()));
  }
  const std::string header = make_header(tensor);
  std::vector<std::byte> gathered;
  std::span<const std::byte> elements;
  const auto size = static_cast<std::size_t>(tensor.count()) * size_bytes_of(tensor.dtype);
  if (tensor.is_dense()) {
    elements = {tensor.first(), size};
  } else {
    gathered.resize(size);
    gather(tensor, gathered.data());
    elements = gathered;
  }
  const std::array parts{std::as_bytes(std::span(header)), elements};
  const std::string reason = loader::write_atomically(file, parts);
  if (!reason.empty()) {
    return bad(fmt::format("'{}' cannot be written: {}", file.string(), reason));
  }
  return {};
}

}  // namespace tenon
