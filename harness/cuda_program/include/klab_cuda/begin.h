// What stands before every CUDA file of a program, as nvcc puts cuda_runtime.h there.
#pragma once

#define KLAB_CUDA_PROGRAM 1
#include <cuda_runtime.h>
#include <device_launch_parameters.h>

extern "C" {
extern const char klab_program_anchor __attribute__((visibility("hidden")));
#ifdef KLAB_SIMT_TRACED
extern const char klab_program_watched __attribute__((weak, visibility("hidden")));
const char klab_program_watched = 1;
#endif
}
// The linker takes the anchor along (harness/cuda_program/anchor.cpp).
__attribute__((used)) static const char* const klab_program_needs = &klab_program_anchor;
