// A zeroed reason for a callee to fill, without clearing its 400 bytes for every call.
#pragma once

#include <cstdint>
#include <optional>

#include "registry/abi_text.hpp"

namespace tenon::detail {

/// Whom this thread's reason was lent to.
enum class Lending : std::uint8_t { kNobody, kCallee, kLaunch };

struct ReasonOfThread {
  tenon_reason reason{sizeof(tenon_reason), 0, -1, {}, {}, {}, {}};
  Lending lent = Lending::kNobody;
};
inline constinit thread_local ReasonOfThread reason_of_thread{};

/// Callees may count on zeros, so this thread's reason is cleared again only after one wrote to it.
/// A call within a call gets one of its own.
class LentReason {
 public:
  explicit LentReason(Lending to = Lending::kCallee) {
    if (reason_of_thread.lent != Lending::kNobody) {
      mine_ = &nested_.emplace(empty_reason());
    } else {
      reason_of_thread.lent = to;
      mine_ = &reason_of_thread.reason;
    }
  }
  LentReason(const LentReason&) = delete;
  LentReason& operator=(const LentReason&) = delete;
  ~LentReason() {
    if (nested_) return;
    if (was_written()) *mine_ = empty_reason();
    reason_of_thread.lent = Lending::kNobody;
  }
  [[nodiscard]] tenon_reason* get() { return mine_; }
  [[nodiscard]] const tenon_reason& operator*() const { return *mine_; }

 private:
  // Texts end at their first zero byte: one that does not begin was not written.
  [[nodiscard]] bool was_written() const {
    return mine_->code != 0 || mine_->arg_index != -1 || mine_->expected.kind != 0 ||
           mine_->actual.kind != 0 || mine_->attribute[0] != 0 || mine_->text[0] != 0;
  }

  std::optional<tenon_reason> nested_;
  tenon_reason* mine_;
};

}  // namespace tenon::detail
