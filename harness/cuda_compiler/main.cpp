// klab-nvcc: see driver.h.
#include <cstdio>

#include "harness/cuda_compiler/driver.h"

int main(int argc, char** argv) {
  const auto top = klab::cuda_compiler::toolkit();
  if (top.empty()) {
    std::fprintf(stderr,
                 "klab-nvcc: klab's folder cuda/ with headers and runtime is not near this program; set "
                 "KLAB_CUDA to it\n");
    return 2;
  }
  return klab::cuda_compiler::compile({argv + 1, argv + argc}, top).code;
}
