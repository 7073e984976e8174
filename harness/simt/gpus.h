// GPUs by name: what fits on them, and how much of a multiprocessor a kernel can fill.
//
// Limits by compute capability are those of the CUDA C++ Programming Guide ("Technical Specifications per Compute
// Capability"), granularities those of NVIDIA's occupancy calculator, numbers of multiprocessors those of NVIDIA's data
// sheets.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace klab::simt {

/// What a GPU can do in a second at most. Memory and clocks are those of NVIDIA's data sheets (the boost clock that their
/// FLOP/s are given at), lanes and multiply-adds of tensor cores those of the architectures' white papers: half precision,
/// sums in half precision where that is faster, no sparsity.
struct GpuRates {
  double dram;         // bytes a second
  double clock;        // Hz
  int lanes;           // multiply-adds in single precision, a clock and multiprocessor
  int tensor;          // multiply-adds of tensor cores, likewise
  int schedulers = 4;  // instructions of a warp, likewise
  int l2 = 0;          // bytes of L2, a clock, of the whole GPU; 0 where no white paper says it
};

struct GpuModel {
  const char* name;        // "NVIDIA H100 SXM"
  const char* short_name;  // "h100", for options
  int compute_capability;  // 90
  int multiprocessors;
  int warps;                // a multiprocessor's
  int blocks;               // a multiprocessor's
  size_t shared;            // bytes of a multiprocessor
  size_t shared_per_block;  // bytes, after opting in
  size_t shared_reserved;   // bytes that the system takes of each block's
  GpuRates rates;
  int registers = 65536;     // of a multiprocessor
  int registers_unit = 256;  // a warp's registers come in these
  int warps_unit = 4;        // as many schedulers share them
  size_t shared_unit = 128;  // bytes
};
const std::vector<GpuModel>& gpus();

/// By short name, or a part of the name, in any case; nullptr when there is none.
const GpuModel* find_gpu(const std::string& name);

/// The model that a driver's name is of, "NVIDIA H100 80GB HBM3"; nullptr when it is none of these.
const GpuModel* model_of(const std::string& device);

/// The one whose limits the host executor holds launches to: an H100, or what $KLAB_GPU or name_gpu() says.
const GpuModel& named_gpu();
void name_gpu(const GpuModel& gpu);

/// How much of a multiprocessor's memory is shared memory, and no cache. Sizes that can be chosen are those of the CUDA C++
/// Programming Guide, sections on shared memory by compute capability; bytes, ascending.
std::vector<size_t> carveouts(const GpuModel& gpu);
/// The smallest that is at least so many percent of the largest, as cudaFuncAttributePreferredSharedMemoryCarveout asks for
/// it; what occupancy() reckons with from then on. 100, the largest, at first. The block's need is met in any case.
void choose_carveout(int percent);
int chosen_carveout();
size_t carveout(const GpuModel& gpu);

struct Occupancy {
  int blocks = 0;           // on a multiprocessor at once
  int warps = 0;            //
  double fraction = 0;      // of the warps that fit
  std::string limits = {};  // "registers", "shared memory", "blocks", "threads"; what keeps more blocks away
};

/// `registers` a thread; 0 when they are not known, and then they limit nothing.
Occupancy occupancy(const GpuModel& gpu, unsigned threads, int registers, size_t shared);

}  // namespace klab::simt
