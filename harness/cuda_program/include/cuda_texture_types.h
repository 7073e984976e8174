// Forwards to the one header that declares all of CUDA's runtime.
#pragma once
#include <cuda_runtime.h>
