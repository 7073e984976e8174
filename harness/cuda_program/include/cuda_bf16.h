// CUDA bfloat16 numbers.
#pragma once
#include <klab_cuda/halves.h>
