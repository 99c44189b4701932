// Opens a tenon::Runtime for one run of the command.
#include "session.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "call_args.hpp"
#include "files.hpp"
#include "log_lines.hpp"
#include "tenon/loader/discovery.hpp"
#include "tenon/tenon.hpp"

namespace tenon::cli {

struct Session::State {
  loader::Descriptor folder;
  Runtime runtime;
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const loader::Config& Session::config() const { return state_->runtime.config(); }
Engine& Session::engine() const { return state_->runtime.engine(); }
std::shared_ptr<const Snapshot> Session::snapshot() const { return state_->runtime.snapshot(); }

std::vector<SearchedPlace> Session::searched() const {
  std::vector<SearchedPlace> places;
  for (const loader::SearchPlace& place : state_->runtime.plugins_searched()) {
    places.push_back({place.path, place.found ? place.from : place.from + "; not there"});
  }
  return places;
}

void Session::back_to_folder() const {
  // Where it cannot be opened at all, nothing is better than the folder that a plugin chose.
  if (state_->folder.get() >= 0) (void)!fchdir(state_->folder.get());
}

Result<Session> Session::open(const Arguments& arguments, Console& console) {
  auto sources = config_sources(arguments);
  if (!sources) return fail(std::move(sources).error());
  TENON_TRY(require_paths(arguments.values("manifest"), "--manifest"));
  RuntimeOptions options;
  options.config_file = sources->file;
  options.settings = sources->settings;
  options.plugin_paths = arguments.values("plugin-path");
  options.manifest_paths = arguments.values("manifest");
  options.is_command = true;
  options.trust_config = sources->trust_config;
  options.verbose = arguments.has("verbose");
  // The console outlives the session: both live in run_tenon.
  options.log = [&console](int level, std::string_view component, std::string_view text) {
    print_log_line(console, level, component, text);
  };
  loader::Descriptor folder(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  auto runtime = Runtime::create(options);
  if (!runtime) return fail(std::move(runtime).error());
  Session session(std::make_unique<State>(State{std::move(folder), std::move(*runtime)}));
  session.back_to_folder();
  return session;
}

}  // namespace tenon::cli
