// Machine code of CUDA files: compiled by nvcc for the named GPU, disassembled, and parsed, so that accesses
// can be counted as compiled.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/simt/compiled_code.h"

namespace klab {

struct MachineCode {
  simt::CompiledCode code;
  std::string text;  // of the disassembler
  std::string why;   // reason why there is none; empty if there is
};

/// Compiles each file with nvcc ($KLAB_NVCC, $CUDACXX, on PATH, /usr/local/cuda) and disassembles it with
/// nvdisasm ($KLAB_NVDISASM, on PATH, next to nvcc). `options` are further ones for nvcc; those that select
/// an architecture are dropped. KLAB_NVCC=none disables it.
MachineCode machine_code_of(const std::vector<std::string>& files, const std::vector<std::string>& options);

/// Loads and stores of local memory in a kernel's machine code: arrays of a thread, and spilled registers.
struct LocalMemory {
  std::string kernel;
  int64_t loads = 0, stores = 0;  // instructions
};
/// Returns the launched kernels that use local memory.
std::vector<LocalMemory> local_memory_of(const simt::CompiledCode& code,
                                         const std::vector<simt::LaunchRecord>& launches);

/// An instruction of the copy engine, of matrix products, of barriers in shared memory, in a kernel's machine code.
struct UnitInstruction {
  std::string kernel;
  simt::CompiledUnit what;
};
/// Returns those of the launched kernels, by kernel in the order of their code.
std::vector<UnitInstruction> unit_instructions_of(const simt::CompiledCode& code,
                                                  const std::vector<simt::LaunchRecord>& launches);

/// Returns the options that klab's own kernels below that folder are compiled with.
std::vector<std::string> nvcc_options(const std::filesystem::path& root);

}  // namespace klab
