// Stands in for the driver API (klab_cuda/driver.h). Most programs include it only for the runtime, or for its types.
#pragma once
#include <cuda_runtime.h>
#include <klab_cuda/driver.h>
