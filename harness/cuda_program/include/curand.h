// cuRAND's host side: types, and functions that are not on the host (absent.h).
#pragma once

#include <klab_cuda/absent.h>

typedef struct curandGenerator_st* curandGenerator_t;
typedef enum curandStatus {
  CURAND_STATUS_SUCCESS = 0,
  CURAND_STATUS_VERSION_MISMATCH = 100,
  CURAND_STATUS_NOT_INITIALIZED = 101,
  CURAND_STATUS_ALLOCATION_FAILED = 102,
  CURAND_STATUS_TYPE_ERROR = 103,
  CURAND_STATUS_OUT_OF_RANGE = 104,
  CURAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
  CURAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106,
  CURAND_STATUS_LAUNCH_FAILURE = 201,
  CURAND_STATUS_PREEXISTING_FAILURE = 202,
  CURAND_STATUS_INITIALIZATION_FAILED = 203,
  CURAND_STATUS_ARCH_MISMATCH = 204,
  CURAND_STATUS_INTERNAL_ERROR = 999
} curandStatus_t;
typedef enum curandRngType {
  CURAND_RNG_PSEUDO_DEFAULT = 100,
  CURAND_RNG_PSEUDO_XORWOW = 101,
  CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_MTGP32 = 141,
  CURAND_RNG_PSEUDO_MT19937 = 142,
  CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
  CURAND_RNG_QUASI_DEFAULT = 200,
  CURAND_RNG_QUASI_SOBOL32 = 201
} curandRngType_t;
#define KLAB_RAND(name) KLAB_ABSENT(curandStatus_t, "cuRAND", name)
KLAB_RAND(curandCreateGenerator)
KLAB_RAND(curandCreateGeneratorHost)
KLAB_RAND(curandDestroyGenerator)
KLAB_RAND(curandSetPseudoRandomGeneratorSeed)
KLAB_RAND(curandSetGeneratorOffset)
KLAB_RAND(curandSetGeneratorOrdering)
KLAB_RAND(curandSetStream)
KLAB_RAND(curandSetQuasiRandomGeneratorDimensions)
KLAB_RAND(curandGenerate)
KLAB_RAND(curandGenerateLongLong)
KLAB_RAND(curandGenerateUniform)
KLAB_RAND(curandGenerateUniformDouble)
KLAB_RAND(curandGenerateNormal)
KLAB_RAND(curandGenerateNormalDouble)
KLAB_RAND(curandGenerateLogNormal)
KLAB_RAND(curandGenerateLogNormalDouble)
KLAB_RAND(curandGeneratePoisson)
KLAB_RAND(curandGenerateSeeds)
KLAB_RAND(curandGetVersion)
