// Whether this process is a forked child, in which drivers that the parent started do not work.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon {

/// How often processes were forked on the way from the first user of watch_forks to this one.
inline constinit std::atomic<std::uint32_t> forks_seen{0};

/// How often anything took devices away: a fork, or the loss of one. What was kept of a call holds
/// only while this stays.
inline constinit std::atomic<std::uint32_t> devices_taken{0};

/// Has the C library count, once per process. [any-thread]
void watch_forks();

}  // namespace tenon
