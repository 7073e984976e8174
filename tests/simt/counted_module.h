// Functions of the kernels in tests/simt/kernels, compiled for the executor.
#pragma once

#include <dlfcn.h>

#include "harness/simt/modules.h"

namespace klab {

/// Returns the function of that name in the optimized module; nullptr if there is none, and dlerror() says why.
template <class Function>
Function of_module(const char* name) {
  static const bool loaded = (simt::load_module(KLAB_COUNTED_O2, true), true);
  void* const module = loaded ? dlopen(KLAB_COUNTED_O2, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  return module == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(module, name));
}

}  // namespace klab
