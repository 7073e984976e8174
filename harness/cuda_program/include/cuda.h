// Stands in for the driver API, of which tensor maps are supported. Most programs include it only for the runtime.
#pragma once
#include <cuda_runtime.h>
#include <klab_cuda/driver.h>
