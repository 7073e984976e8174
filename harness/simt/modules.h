// Shared objects with CUDA variants compiled for the host; their symbols and debug information.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/simt/memory.h"

namespace klab::simt {

struct Module {
  std::string path;
  bool traced = false;
  const char* begin = nullptr;  // mapped range
  const char* end = nullptr;
  const char* writable_begin = nullptr;  // its ordinary variables: __constant__ and __device__ memory
  const char* writable_end = nullptr;
  const char* constant_begin = nullptr;  // the part that is __constant__ memory
  const char* constant_end = nullptr;
  std::vector<const char*> calls, uses;  // of atomics, sorted (used_result.h)
  const char* device_begin[2] =
      {};  // in a program: its __device__ variables, which its host code must not touch
  const char* device_end[2] = {};
  void* (*arena)() = nullptr;   // in a program: address of this thread's dynamic shared memory
  void* (*anchor)() = nullptr;  // creates and returns this thread's shared memory
};

/// Loads an object and registers its variants. Throws std::runtime_error that says why it cannot.
const Module& load_module(const std::string& path, bool traced);

/// Size of a program's dynamic shared memory: the most that any block can get (gpus.h). The bytes after a
/// kernel's share are unused.
inline constexpr size_t kProgramArena = 228 << 10;

/// The addresses that a program linked with klab, rather than loaded, reports about itself
/// (harness/cuda_program/anchor.cpp).
struct ProgramModule {
  void* (*anchor)();
  void* (*arena)();
  const char *constant_begin, *constant_end;
  const char *device_begin[2], *device_end[2];
  const char *atomics_begin, *atomics_end;
  bool traced;
};
const Module& adopt_module(const ProgramModule& program);

/// Returns the module that contains the address, or nullptr.
const Module* module_at(const void* p);

/// Returns whether the atomic that returns there is one whose old value is used, or that returns it in any case. If not, a GPU has
/// a reduction.
bool result_is_used(const void* return_address);

/// Returns this thread's static shared memory of a module.
void shared_of(const Module& module, char** begin, size_t* bytes);

/// Loads the module of traced variants from klab's own folder, on first use. Returns false if it is not
/// there.
bool load_traced_variants();

struct SourceLine {
  std::string file;
  int line = 0;
};
/// Returns the source line of a return address as the user wrote it: the innermost inlined frame outside
/// CUDA's emulated headers. The line is 0 without debug information.
SourceLine source_of(const void* return_address);

/// Returns whether the code at that address, or code that called it, belongs to a template library of a toolkit
/// (Thrust, CUB), whose algorithms run on the host here. Must be called on the stack of the caller.
bool is_within_library(const void* return_address);

/// Shortens a mangled name: that of "void klab::(anonymous namespace)::f<32>(float const*)" becomes "f<32>".
std::string short_name(const std::string& mangled);

/// Returns the unqualified name of the function at that address, "kernel" if it is not known.
std::string function_name(const void* address);

/// Returns the __device__ variable at that address, as global memory that lives as long as its module;
/// nullptr if there is none.
Allocation* device_variable_at(const void* p);
/// Returns the allocation, live or freed, or the __device__ variable that contains an address of global
/// memory; nullptr if there is none.
Allocation* global_at(const void* p);

/// A static __shared__ variable.
struct SharedVariable {
  std::string name;      // "tile"
  std::string function;  // mangled name of the function it is declared in
  int unit = -1;         // number of the object file it is local to; -1: it is global
  bool inlined = false;  // the function exists only inlined, so it is not a kernel
  size_t offset = 0, bytes = 0;
};
std::vector<SharedVariable> shared_variables(const Module& module);
/// Returns the variables that a kernel may use, by offset: its own, and those of other functions that are not
/// known to be kernels. Functions passed here are known to be kernels from then on.
std::vector<SharedVariable> shared_variables_of(const void* kernel);
/// Returns the bytes of the static shared variables of a kernel.
size_t static_shared_bytes(const void* kernel);
/// Names an offset in a module's shared memory: "tile[12]", or "shared memory" if the variable is not known.
std::string shared_name(const Module& module, size_t offset);

}  // namespace klab::simt
