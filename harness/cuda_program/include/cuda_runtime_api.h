// What CUDA has under this name is in the one header.
#pragma once
#include <cuda_runtime.h>
