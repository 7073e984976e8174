// The resources of each kernel as nvcc reports them, read from a file that the build writes.
//
// If there is an nvcc (KLAB_CUDA in CMake), the build compiles CUDA variants with ptxas -v and keeps its
// output in cuda_resources.txt next to the program: registers, spills and shared memory, without a GPU.
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
  int registers = 0;                          // per thread
  int64_t shared = 0;                         // bytes, static
  int64_t stack = 0;                          // bytes per thread
  int64_t spill_stores = 0, spill_loads = 0;  // bytes per thread
};

/// Parses the output of ptxas -v, in which lines "== <id>" separate variants. Throws std::runtime_error that
/// names the line it cannot parse.
std::vector<KernelResources> parse_resources(const std::string& text, const std::string& file);

/// Returns the resources reported by this build. If there are none, `why` explains the reason and the remedy.
const std::vector<KernelResources>& kernel_resources(std::string* why = nullptr);

/// Returns the report's entry for one kernel of a variant, or nullptr. Templates are found by their plain
/// name too.
const KernelResources* resources_of(const std::string& variant, const std::string& kernel,
                                    const std::vector<KernelResources>& report = kernel_resources());

/// Prefix of the occupancy on a named GPU: "occupancy_percent_h100".
inline constexpr std::string_view kOccupancyOf = "occupancy_percent_";

/// Returns the largest needs of a variant's kernels, under the names used in rows: "registers" per thread,
/// "spilled_bytes" per thread, and "shared_bytes" per block. For the kernel of `launches` that fills a named
/// GPU least it adds "occupancy_percent_h100" and so on. Registers and occupancy are left out if this build
/// has no report of them.
std::map<std::string, int64_t> needs_of(const std::string& variant,
                                        std::span<const simt::LaunchRecord> launches,
                                        const std::vector<KernelResources>& report = kernel_resources());

}  // namespace klab
