// CUDA warp-wide matrices.
#pragma once
#include <klab_cuda/matrices.h>
