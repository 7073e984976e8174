// What nvcc says each kernel needs, read from the report that the build writes.
//
// The build compiles CUDA variants with ptxas -v where there is an nvcc (KLAB_CUDA in CMake) and keeps what it says in
// cuda_resources.txt beside the program: registers, spills and shared memory, without a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace klab {

struct KernelResources {
  std::string variant;                        // matmul.cuda.03_shared_tile
  std::string kernel;                         // "transpose", as demangled, without namespaces
  std::string target;                         // "sm_90a"
  int registers = 0;                          // a thread
  int64_t shared = 0;                         // bytes, static
  int64_t stack = 0;                          // bytes a thread
  int64_t spill_stores = 0, spill_loads = 0;  // bytes a thread
};

/// Parses what ptxas -v printed, variants set apart by lines "== <id>". Throws std::runtime_error naming the line that
/// is not understood.
std::vector<KernelResources> parse_resources(const std::string& text, const std::string& file);

/// Those of this build. When there are none `why` says why and what would bring them.
const std::vector<KernelResources>& kernel_resources(std::string* why = nullptr);

}  // namespace klab
