/* What a program that embeds Tenon may call from C: plugins that are linked in, and the end.
 *
 * Nothing here is for plugins: they link against nothing of Tenon. C++ programs have the same as
 * tenon::register_static and tenon::shutdown, with errors that carry a text.
 */
#ifndef TENON_HOST_H
#define TENON_HOST_H

#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Makes a plugin that is linked into the program known to every Runtime made from now on. It is
/// `tenon_plugin_v0_<id>`, with _ for -, of a target made by tenon_add_plugin(... STATIC). The same
/// one again changes nothing.
/// Owner    plugin is static.
/// Threads  [any-thread]
/// Errors   INVALID_ARGUMENT plugin is null; SHUT_DOWN after tenon_shutdown; OUT_OF_MEMORY
/// Since    ABI 0.1
tenon_status tenon_register_static(const tenon_plugin* plugin);

/// Ends the use of plugins in this process: runs the shutdown of each one that was started, the
/// last one first, and waits for it. Their host services answer SHUT_DOWN from then on, and no
/// Runtime can be made. Only this call does so: neither return from main nor exit() runs any code
/// of a plugin. A second call does nothing.
/// Threads  [any-thread], while no call of an op runs.
/// Errors   none: what a shutdown throws is logged, and the others follow.
/// Since    ABI 0.1
void tenon_shutdown(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TENON_HOST_H */
