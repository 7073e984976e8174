// Stands in for the driver API, which is not supported. Most programs include it only for the runtime.
#pragma once
#include <cuda_runtime.h>
