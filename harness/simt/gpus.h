// Known GPUs: their limits, and how much of a multiprocessor a kernel can fill.
//
// Limits by compute capability are from the CUDA C++ Programming Guide ("Technical Specifications per Compute
// Capability"), granularities from NVIDIA's occupancy calculator, and numbers of multiprocessors from
// NVIDIA's data sheets.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace klab::simt {

/// Peak rates of a GPU. Memory bandwidths and clocks are from NVIDIA's data sheets (the boost clock for which
/// they state FLOP/s). Lanes and multiply-adds of tensor cores are from the architectures' white papers: half
/// precision, accumulated in half precision where that is faster, without sparsity.
struct GpuRates {
  double dram;         // bytes per second
  double clock;        // Hz
  int lanes;           // single-precision multiply-adds per clock and multiprocessor
  int tensor;          // multiply-adds of tensor cores per clock and multiprocessor
  int schedulers = 4;  // warp instructions issued per clock and multiprocessor
  int l2 = 0;          // bytes of L2 per clock for the whole GPU; 0 if no white paper states it
};

struct GpuModel {
  const char* name;        // "NVIDIA H100 SXM"
  const char* short_name;  // "h100", for options
  int compute_capability;  // 90
  int multiprocessors;
  int warps;                // per multiprocessor
  int blocks;               // per multiprocessor
  size_t shared;            // bytes per multiprocessor
  size_t shared_per_block;  // bytes, with opt-in
  size_t shared_reserved;   // bytes of each block that the system reserves
  GpuRates rates;
  int registers = 65536;     // per multiprocessor
  int registers_unit = 256;  // allocation unit of a warp's registers
  int warps_unit = 4;        // warps are allocated in multiples of this, the number of schedulers
  size_t shared_unit = 128;  // bytes
};
const std::vector<GpuModel>& gpus();

/// Finds a GPU by short name or part of its name, ignoring case; nullptr if there is none.
const GpuModel* find_gpu(const std::string& name);

/// Finds the model for a driver's device name, "NVIDIA H100 80GB HBM3"; nullptr if it is not known.
const GpuModel* model_of(const std::string& device);

/// Returns the GPU whose limits the host executor enforces: the one that name_gpu() or $KLAB_GPU names, else
/// an H100.
const GpuModel& named_gpu();
void name_gpu(const GpuModel& gpu);

/// Returns the sizes of shared memory that a multiprocessor can be configured with; the rest is cache. Sizes
/// are from the CUDA C++ Programming Guide, sections on shared memory by compute capability. Bytes,
/// ascending.
std::vector<size_t> carveouts(const GpuModel& gpu);
/// Chooses the smallest carve-out that is at least `percent` of the largest, as
/// cudaFuncAttributePreferredSharedMemoryCarveout does. Later calls of occupancy() use it. The default is
/// 100, the largest. A block that needs more gets more.
void choose_carveout(int percent);
int chosen_carveout();
size_t carveout(const GpuModel& gpu);

struct Occupancy {
  int blocks = 0;       // blocks that fit on a multiprocessor
  int warps = 0;        //
  double fraction = 0;  // of the maximum number of warps
  // "registers", "shared memory", "blocks" or "threads": the resource that limits the number of blocks
  std::string limits = {};
};

/// Computes the occupancy. `registers` is per thread; 0 means unknown, and then they limit nothing.
Occupancy occupancy(const GpuModel& gpu, unsigned threads, int registers, size_t shared);

}  // namespace klab::simt
