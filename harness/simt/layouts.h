// Layouts of structures, from a module's debug information.
#pragma once

#include <cstddef>

namespace klab::simt {

/// Returns whether bytes [begin, end) of an access of `bytes` bytes are padding: in some structure type of the module
/// that contains the return address, whose size divides that of the access, no member covers them.
bool is_padding(const void* return_address, size_t bytes, size_t begin, size_t end);

}  // namespace klab::simt
