/* The functions behind the rows of fake_plugin.cpp, compiled once for all variants. */
#ifndef TENON_TEST_FAKE_FUNCTIONS_H
#define TENON_TEST_FAKE_FUNCTIONS_H

#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* context: the kernel type's name on the board, "alpha:fast". */
tenon_status fake_refuse(void* context,
                         const tenon_device* device,
                         const tenon_call* call,
                         tenon_reason* reason);
tenon_status fake_identity(void* context,
                           const tenon_device* device,
                           const tenon_call* call,
                           void* bytes,
                           uint64_t capacity_bytes,
                           uint64_t* size_bytes);
tenon_status fake_build(void* context,
                        const tenon_host* host,
                        const tenon_build* build,
                        tenon_kernel* out,
                        tenon_reason* reason);

/* Count, and give the status that the board scripts. */
tenon_status fake_note_init(const char* id);
tenon_status fake_note_enumerate(const char* id);
void fake_note_shutdown(const char* id);

#ifdef __cplusplus
}
#endif

#endif
