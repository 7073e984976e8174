// What nvcc says each kernel needs, read from the report that the build writes.
//
// The build compiles CUDA variants with ptxas -v where there is an nvcc (KLAB_CUDA in CMake) and keeps what it says in
// cuda_resources.txt beside the program: registers, spills and shared memory, without a GPU.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/simt/profile.h"

namespace klab {

struct KernelResources {
  std::string variant;                        // matmul.cuda.03_shared_tile
  std::string kernel;                         // "transpose", as demangled, without namespaces
  std::string target;                         // "sm_90a"
  int registers = 0;                          // a thread
  int64_t shared = 0;                         // bytes, static
  int64_t stack = 0;                          // bytes per thread
  int64_t spill_stores = 0, spill_loads = 0;  // bytes per thread
};

/// Parses what ptxas -v printed, variants set apart by lines "== <id>". Throws std::runtime_error naming the line that
/// is not understood.
std::vector<KernelResources> parse_resources(const std::string& text, const std::string& file);

/// Those of this build. When there are none `why` says why and what would bring them.
const std::vector<KernelResources>& kernel_resources(std::string* why = nullptr);

/// What the report says of one kernel of a variant; templates are found by their name too. Null when it says nothing.
const KernelResources* resources_of(const std::string& variant, const std::string& kernel,
                                    const std::vector<KernelResources>& report = kernel_resources());

/// Of one named GPU, "occupancy_percent_h100".
inline constexpr std::string_view kOccupancyOf = "occupancy_percent_";

/// What a variant's kernels need at most, as rows carry it: "registers" a thread, "spilled_bytes" a thread,
/// "shared_bytes" a block, and of `launches` "occupancy_percent_h100" and so on, of the kernel that fills the named GPU
/// least. Registers, and occupancy with them, are left out where this build has no report of them.
std::map<std::string, int64_t> needs_of(const std::string& variant,
                                        std::span<const simt::LaunchRecord> launches,
                                        const std::vector<KernelResources>& report = kernel_resources());

}  // namespace klab
