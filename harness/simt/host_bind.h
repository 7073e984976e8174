// Calls CUDA variants with host pointers: allocates device memory for each tensor and copies to it and back.
#pragma once

#include <functional>

#include "harness/core/variant.h"

namespace klab::simt {

/// Implements `bind` of a CUDA variant on the host. The caller's session decides whether it is traced.
/// Tensors begin on 256-byte boundaries, as from cudaMalloc. Outputs are undefined before the run.
std::function<void()> host_bind(const std::string& variant, ShapeView shape, std::span<void* const> pointers);

}  // namespace klab::simt
