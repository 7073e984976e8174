#include "saxpy.h"

const char* device_name() {
  static cudaDeviceProp prop;
  return cudaGetDeviceProperties(&prop, 0) == cudaSuccess ? prop.name : "none";
}
