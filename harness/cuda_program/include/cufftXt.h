// cuFFT's functions for callbacks and several devices, which are not here: a program that calls one ends there.
#pragma once

#include <cufft.h>

typedef enum cufftXtCallbackType_t {
  CUFFT_CB_LD_COMPLEX = 0x0,
  CUFFT_CB_LD_COMPLEX_DOUBLE = 0x1,
  CUFFT_CB_LD_REAL = 0x2,
  CUFFT_CB_LD_REAL_DOUBLE = 0x3,
  CUFFT_CB_ST_COMPLEX = 0x4,
  CUFFT_CB_ST_COMPLEX_DOUBLE = 0x5,
  CUFFT_CB_ST_REAL = 0x6,
  CUFFT_CB_ST_REAL_DOUBLE = 0x7,
  CUFFT_CB_UNDEFINED = 0x8
} cufftXtCallbackType;
typedef cufftComplex (*cufftCallbackLoadC)(void* from, size_t offset, void* info, void* shared);
typedef cufftReal (*cufftCallbackLoadR)(void* from, size_t offset, void* info, void* shared);
typedef void (*cufftCallbackStoreC)(void* to, size_t offset, cufftComplex value, void* info, void* shared);
typedef void (*cufftCallbackStoreR)(void* to, size_t offset, cufftReal value, void* info, void* shared);

KLAB_ABSENT(cufftResult, "cuFFT", cufftXtSetCallback)
KLAB_ABSENT(cufftResult, "cuFFT", cufftXtClearCallback)
KLAB_ABSENT(cufftResult, "cuFFT", cufftXtSetGPUs)
KLAB_ABSENT(cufftResult, "cuFFT", cufftXtMalloc)
KLAB_ABSENT(cufftResult, "cuFFT", cufftXtFree)
KLAB_ABSENT(cufftResult, "cuFFT", cufftXtMemcpy)
KLAB_ABSENT(cufftResult, "cuFFT", cufftXtMakePlanMany)
KLAB_ABSENT(cufftResult, "cuFFT", cufftXtGetSizeMany)
KLAB_ABSENT(cufftResult, "cuFFT", cufftXtExec)
KLAB_ABSENT(cufftResult, "cuFFT", cufftXtExecDescriptorC2C)
KLAB_ABSENT(cufftResult, "cuFFT", cufftXtExecDescriptorZ2Z)
