// Device memory of libraries whose algorithms run on the host here.
#pragma once

#include <stddef.h>

extern "C" {
/// Throws std::bad_alloc where there is no more.
void* klab_library_malloc(size_t bytes);
void klab_library_free(void* p);
}
