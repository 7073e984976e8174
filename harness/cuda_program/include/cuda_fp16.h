// CUDA half numbers.
#pragma once
#include <klab_cuda/halves.h>
