// Device memory for libraries whose algorithms run on the host here.
#pragma once

#include <stddef.h>

extern "C" {
/// Throws std::bad_alloc if none is left.
void* klab_library_malloc(size_t bytes);
void klab_library_free(void* p);
}
