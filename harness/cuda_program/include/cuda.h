// The driver API is not there; what programs include this for is mostly the runtime.
#pragma once
#include <cuda_runtime.h>
