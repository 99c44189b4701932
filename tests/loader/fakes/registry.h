/* A library with global state, as a vendor's might be. */
#ifndef TENON_TESTS_REGISTRY_H
#define TENON_TESTS_REGISTRY_H

/// The count of names that were added to this copy of the library, this one included.
__attribute__((visibility("default"))) int registry_add(const char* name);

#endif
