// Lines of the record: words separated by tabs.
#include "probe/record.hpp"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace tenon::probe {

void Record::line(std::string text) const {
  std::replace(text.begin(), text.end(), '\n', ' ');
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t wrote = write(descriptor_, rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;  // nobody reads any more; there is nobody to tell
    rest.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

void Record::begin(std::string_view step) {
  step_ = step;
  line("begin\t" + step_);
  floating_.emplace();
  began_ = std::chrono::steady_clock::now();
}

void Record::end_as(std::string_view word, std::string_view said) {
  const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::steady_clock::now() - began_);
  if (floating_ && floating_->restore()) changes_ += (changes_.empty() ? "" : ", ") + step_;
  floating_.reset();
  line(std::string(word) + '\t' + step_ + '\t' + std::to_string(took.count()) + '\t' +
       std::string(said));
}

void Record::ok() {
  if (!changes_.empty()) {
    begin("floating point");
    end("the plugin changes the floating-point environment in: " + changes_);
  }
  line("ok\t" + nonce_);
}
void Record::failed(std::string_view why) { line("failed\t" + nonce_ + '\t' + std::string(why)); }

}  // namespace tenon::probe
