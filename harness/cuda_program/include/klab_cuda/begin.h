// Included before every CUDA file of a program, as nvcc includes cuda_runtime.h.
#pragma once

// What nvcc's cuda_runtime.h brings along.
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
// Makes the linker include the anchor (harness/cuda_program/anchor.cpp).
__attribute__((used)) static const char* const klab_program_needs = &klab_program_anchor;
