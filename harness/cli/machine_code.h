// What nvcc makes of CUDA files: compiled for the named GPU, disassembled, and read, so that accesses can be counted as compiled.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/simt/compiled_code.h"

namespace klab {

struct MachineCode {
  simt::CompiledCode code;
  std::string text;  // of the disassembler
  std::string why;   // there is none; empty: there is
};

/// Compiles each file with nvcc ($KLAB_NVCC, $CUDACXX, on PATH, /usr/local/cuda) and has nvdisasm ($KLAB_NVDISASM, on PATH, beside
/// nvcc) print it. `options`: further ones for nvcc; those that choose an architecture are left out. KLAB_NVCC=none: asks for none.
MachineCode machine_code_of(const std::vector<std::string>& files, const std::vector<std::string>& options);

/// Loads and stores of local memory in a kernel's machine code: arrays of a thread, and registers that did not suffice.
struct LocalMemory {
  std::string kernel;
  int64_t loads = 0, stores = 0;  // instructions
};
/// Of the kernels that were launched, those that have any.
std::vector<LocalMemory> local_memory_of(const simt::CompiledCode& code,
                                         const std::vector<simt::LaunchRecord>& launches);

/// The options that klab's own kernels below that folder are compiled with.
std::vector<std::string> nvcc_options(const std::filesystem::path& root);

}  // namespace klab
