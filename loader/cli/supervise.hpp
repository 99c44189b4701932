// Runs a command in a child process, so that its end is told whatever ends it.
#pragma once

#include <functional>
#include <sys/types.h>

namespace tenon::cli {

/// Does the work in a child process and returns its exit status. Where the child ends in any other
/// way than by coming back from `work` and its exit handlers, stderr says so with the function of
/// a plugin that was running: with exit(), _exit() or the system call itself the status is never 0;
/// with a signal this process ends by the same one, and says nothing where it was sent that signal
/// itself and no function of a plugin was running. Signals of the terminal reach both, others are
/// passed on; the child ends with this process. Under a debugger, and where no process can be
/// made, the work is done here.
///
/// `as_json`: where the work wrote no data to stdout before that, the error is written there, too,
/// as ended_json() has it: PluginFailed, or Internal where no function of a plugin was called yet,
/// or ShutDown where this process was sent the signal.
///
/// Must be called before there is a thread.
int supervised(const std::function<int()>& work, bool as_json);

/// The work has written data to stdout.
void note_output() noexcept;

/// The process that waits for this one, which does the work of supervised(); 0 where none does.
[[nodiscard]] pid_t supervisor() noexcept;

/// Ends this process where it is not the one that does the work of supervised(): a plugin forked,
/// and its child came back into the command. Whatever shows or keeps results asks before it does.
/// Output that a plugin closed is opened again first.
void end_where_forked() noexcept;

}  // namespace tenon::cli
