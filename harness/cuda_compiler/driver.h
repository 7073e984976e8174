// klab-nvcc: takes nvcc's command line, and makes objects and programs that run on the host.
//
// Each CUDA file is preprocessed, rewritten (rewrite.h) and compiled by the host compiler that klab was built with. Programs are
// linked with klab's runtime (harness/cuda_program). What lies where is told by `toolkit`, a folder that looks like a CUDA
// toolkit's:
//
//   bin/klab-nvcc  bin/nvcc (the same)
//   include/            CUDA's headers, as klab has them
//   lib64/              libklab_cuda.so, libklab_anchor.a, libcudart.so (a linker script that names both)
//   flags.txt           the compiler and its flags: "compiler PATH", "traced FLAG", "plain FLAG", one a line
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace klab::cuda_compiler {

/// Of the program that runs, or near it.
std::filesystem::path toolkit();

struct Compilation {
  int code = 0;     // 0: all is made; 2: bad input, said on standard error
  int kernels = 0;  // in all files
};

/// argv without the program's name. Messages go to standard error.
Compilation compile(const std::vector<std::string>& arguments, const std::filesystem::path& toolkit_folder);

}  // namespace klab::cuda_compiler
