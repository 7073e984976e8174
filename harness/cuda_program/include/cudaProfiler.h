// The driver's switches for a profiler, which do nothing here.
#pragma once
#include <cuda.h>
