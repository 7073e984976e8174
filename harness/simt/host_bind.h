// CUDA variants called with pointers of the host: device memory for each tensor, copies there and back.
#pragma once

#include <functional>

#include "harness/core/variant.h"

namespace klab::simt {

/// What `bind` of a CUDA variant does where it runs on the host. Traced or not as the session of the caller says.
/// Tensors begin on 256-byte boundaries, as from cudaMalloc. Outputs are undefined before the run.
std::function<void()> host_bind(const std::string& variant, ShapeView shape, std::span<void* const> pointers);

}  // namespace klab::simt
