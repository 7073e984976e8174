// Shared objects with CUDA variants compiled for the host, and what their symbols and debug information say.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/simt/memory.h"

namespace klab::simt {

struct Module {
  std::string path;
  bool traced = false;
  const char* begin = nullptr;  // of what is mapped
  const char* end = nullptr;
  const char* writable_begin = nullptr;  // its ordinary variables: __constant__ and __device__ memory
  const char* writable_end = nullptr;
  const char* constant_begin = nullptr;  // of these, __constant__ memory
  const char* constant_end = nullptr;
  const char* device_begin[2] =
      {};  // of a program: its __device__ variables, which its host code must not touch
  const char* device_end[2] = {};
  void* (*arena)() = nullptr;   // of a program: where this thread's dynamic shared memory lies
  void* (*anchor)() = nullptr;  // makes and returns this thread's shared memory
};

/// Loads an object and registers the variants in it. Throws std::runtime_error saying why it cannot.
const Module& load_module(const std::string& path, bool traced);

/// Bytes of a program that dynamic shared memory lies in: as much as any block can be given (gpus.h). What lies behind a
/// kernel's share of them is nothing else's.
inline constexpr size_t kProgramArena = 228 << 10;

/// What a program that is linked with klab, rather than loaded, says of itself (harness/cuda_program/anchor.cpp).
struct ProgramModule {
  void* (*anchor)();
  void* (*arena)();
  const char *constant_begin, *constant_end;
  const char *device_begin[2], *device_end[2];
  bool traced;
};
const Module& adopt_module(const ProgramModule& program);

/// The module that address belongs to, or nullptr.
const Module* module_at(const void* p);

/// This thread's static shared memory of a module.
void shared_of(const Module& module, char** begin, size_t* bytes);

/// The folder of klab's own modules, and loads the traced one when first needed. False when it is not there.
bool load_traced_variants();

struct SourceLine {
  std::string file;
  int line = 0;
};
/// Where a return address comes from, as the user wrote it: the innermost inlined frame outside of CUDA's emulated
/// headers. line 0 where there is no debug information.
SourceLine source_of(const void* return_address);

/// "void klab::(anonymous namespace)::f<32>(float const*)" of a mangled name, as "f<32>".
std::string short_name(const std::string& mangled);

/// Unqualified name of the function at that address, "kernel" where it is not known.
std::string function_name(const void* address);

/// The __device__ variable at that address, as global memory that lives as long as its module; nullptr for others.
Allocation* device_variable_at(const void* p);
/// What holds that address of global memory: an allocation, live or freed, or a __device__ variable; nullptr: nothing.
Allocation* global_at(const void* p);

/// A static __shared__ variable.
struct SharedVariable {
  std::string name;      // "tile"
  std::string function;  // mangled name of the function it is declared in
  int unit = -1;         // number of the object file it is local to; -1: of none
  bool inlined = false;  // the function exists only inside of others, so it is no kernel
  size_t offset = 0, bytes = 0;
};
std::vector<SharedVariable> shared_variables(const Module& module);
/// Those that a kernel may use, by offset: its own, and those of functions beside it that are not known to be kernels.
/// Functions asked about are known from then on.
std::vector<SharedVariable> shared_variables_of(const void* kernel);
/// Bytes of the static shared variables of a kernel.
size_t static_shared_bytes(const void* kernel);
/// "tile[12]", for an offset in a module's shared memory; "shared memory" where it is not known.
std::string shared_name(const Module& module, size_t offset);

}  // namespace klab::simt
