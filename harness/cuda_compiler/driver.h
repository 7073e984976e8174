// klab-nvcc: accepts nvcc's command line and builds objects and programs that run on the host.
//
// Each CUDA file is preprocessed, rewritten (rewrite.h) and compiled by the host compiler that klab was built
// with. Programs are linked with klab's runtime (harness/cuda_program). `toolkit` is a folder laid out like a
// CUDA toolkit:
//
//   bin/klab-nvcc  bin/nvcc (the same)
//   include/            CUDA's headers as klab provides them
//   lib64/              libklab_cuda.so, libklab_anchor.a, libcudart.so (a linker script that names both)
//   flags.txt           the compiler and its flags: "compiler PATH", "traced FLAG", "plain FLAG", one a line
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace klab::cuda_compiler {

/// Returns the toolkit folder of the running program, or one near it.
std::filesystem::path toolkit();

struct Compilation {
  int code = 0;     // 0: success; 2: bad input, explained on standard error
  int kernels = 0;  // in all files
};

/// Compiles. `arguments` is argv without the program's name. Messages go to standard error.
Compilation compile(const std::vector<std::string>& arguments, const std::filesystem::path& toolkit_folder);

}  // namespace klab::cuda_compiler
