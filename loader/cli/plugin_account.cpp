// The account's table of functions, and the texts of it.
#include "plugin_account.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unistd.h>

#include <fmt/format.h>

#include "process_state.hpp"
#include "supervise.hpp"
#include "tenon/loader/printable.hpp"

namespace tenon::cli {
namespace {

pid_t this_thread() noexcept {
  static thread_local const pid_t kMine = gettid();
  return kMine;
}

/// Functions that run while tensors are made and given back, a repeated call's too.
bool is_passing(const char* function) noexcept {
  return std::strcmp(function, "alloc") == 0 || std::strcmp(function, "free") == 0;
}

/// The functions that this thread is in, the outermost first.
struct Calls {
  struct Open {
    int slot = PluginAccount::kNone;
    int before = PluginAccount::kNone;
    bool was_inside = false;
    bool is_kept = false;  // the state
    ProcessState state;
  };
  static constexpr std::size_t kMost = 8;  // deeper ones are not told apart
  std::array<Open, kMost> open;
  std::size_t depth = 0;
};
thread_local Calls calls;

/// What this thread told lately: the same function is not written again.
struct Recent {
  const AccountWatch* watch = nullptr;
  const char* function = nullptr;
  std::size_t at = 0;  // of the name in the slot's text
  int slot = PluginAccount::kNone;
};
thread_local std::array<Recent, 8> recent;
thread_local std::size_t oldest = 0;

std::string_view text_of(const PluginAccount::Told& told) {
  return {told.text.data(), strnlen(told.text.data(), told.text.size())};
}

std::string_view current_text(const PluginAccount& account) {
  const int at = account.current.load();
  return at < 0 ? std::string_view() : text_of(account.told[static_cast<std::size_t>(at)]);
}

std::string_view fault_plugin(const PluginAccount& account) {
  if (!account.fault.known.load()) return {};
  const auto& id = account.fault.plugin;
  return {id.data(), strnlen(id.data(), id.size())};
}

/// 'acme' of "launch of 'acme:fast'".
std::string_view plugin_in(std::string_view text) {
  const std::size_t quote = text.find('\'');
  if (quote == std::string_view::npos) return {};
  text.remove_prefix(quote + 1);
  return text.substr(0, text.find_first_of(":'"));
}

}  // namespace

int AccountWatch::slot_of(const char* function, std::string_view of) noexcept {
  of = of.substr(0, sizeof(PluginAccount::Told::text) / 2);
  for (const Recent& each : recent) {
    if (each.watch != this || each.function != function) continue;
    const std::string_view told = text_of(account_.told[static_cast<std::size_t>(each.slot)]);
    const std::string_view name = told.substr(std::min(each.at, told.size()));
    if (name.size() == of.size() + 1 && name.starts_with(of)) return each.slot;
  }
  std::array<char, sizeof(PluginAccount::Told::text)> text{};
  const int size = std::snprintf(
      text.data(), text.size(), "%s of '%.*s'", function, static_cast<int>(of.size()), of.data());
  while (adding_.test_and_set(std::memory_order_acquire)) {
  }
  const int n = account_.n_told.load(std::memory_order_relaxed);
  int slot = 0;
  while (slot < n && account_.told[static_cast<std::size_t>(slot)].text != text) ++slot;
  // Of more functions than there is room for, the last place is everybody's.
  slot = std::min(slot, static_cast<int>(account_.told.size()) - 1);
  account_.told[static_cast<std::size_t>(slot)].text = text;
  account_.told[static_cast<std::size_t>(slot)].passes = is_passing(function);
  account_.n_told.store(std::max(n, slot + 1), std::memory_order_relaxed);
  adding_.clear(std::memory_order_release);
  const auto written = static_cast<std::size_t>(std::max(size, 0));
  recent[oldest] = {this, function, written - std::min(written, of.size() + 1), slot};
  oldest = (oldest + 1) % recent.size();
  return slot;
}

void AccountWatch::begins(const char* function, std::string_view of) noexcept {
  const int slot = slot_of(function, of);
  const bool passes = account_.told[static_cast<std::size_t>(slot)].passes;
  const bool is_looked_at = !RepeatedCalls::are_made();
  if (!passes || is_looked_at) end_where_forked();
  if (calls.depth < Calls::kMost) {
    Calls::Open& call = calls.open[calls.depth];
    call.slot = slot;
    call.before = account_.current.load(std::memory_order_relaxed);
    call.was_inside = calls.depth != 0;
    call.is_kept = is_looked_at;
    if (is_looked_at) call.state.keep();
  }
  ++calls.depth;
  account_.current.store(slot, std::memory_order_relaxed);
  account_.thread.store(this_thread(), std::memory_order_relaxed);
  account_.inside.store(true, std::memory_order_relaxed);
}

void AccountWatch::ends() noexcept {
  --calls.depth;
  if (calls.depth >= Calls::kMost) return;
  const Calls::Open& call = calls.open[calls.depth];
  const PluginAccount::Told& told = account_.told[static_cast<std::size_t>(call.slot)];
  if (call.is_kept) call.state.put_back(text_of(told));
  if (!told.passes || call.is_kept) end_where_forked();
  // A function within a function: the outer one goes on.
  if (told.passes || call.was_inside)
    account_.current.store(call.before, std::memory_order_relaxed);
  account_.inside.store(call.was_inside, std::memory_order_relaxed);
}

void AccountWatch::ends_thread() noexcept {
  if (on_thread_end_ != nullptr) on_thread_end_();
}

std::string plugin_to_blame(const PluginAccount& account) {
  const std::string_view fault = fault_plugin(account);
  if (!fault.empty()) return loader::printable_line(fault);
  if (!account.inside.load()) return {};
  return loader::printable_line(plugin_in(current_text(account)));
}

std::string running_function(const PluginAccount& account) {
  const std::string_view text = current_text(account);
  const bool is_its_own = loader::printable_line(plugin_in(text)) == plugin_to_blame(account);
  return account.inside.load() && is_its_own ? loader::printable_line(text) : std::string();
}

std::string place_text(const PluginAccount& account) {
  const std::string_view text = current_text(account);
  std::string where = "before any function of a plugin was called";
  if (!text.empty()) {
    const std::string shown = loader::printable_line(text);
    where = account.inside.load() ? fmt::format("in {}", shown)
                                  : fmt::format(
                                        "after {}, the last function of a plugin that was called "
                                        "for the first time",
                                        shown);
  }
  const std::string_view plugin = fault_plugin(account);
  const bool known = account.fault.known.load();
  const bool is_called = account.inside.load() && known &&
                         account.fault.thread == account.thread.load(std::memory_order_relaxed);
  if (plugin.empty()) {
    if (known && account.inside.load() && !is_called)
      return fmt::format("on another thread, in nobody's code, {}", where);
    return where;
  }
  if (is_called && plugin == plugin_in(text)) return where;
  return fmt::format("in code of plugin '{}'{}{}, {}",
                     loader::printable_line(plugin),
                     account.fault.brought ? " or of a library that came with it" : "",
                     account.inside.load() && !is_called ? " on another thread" : "",
                     where);
}

}  // namespace tenon::cli
