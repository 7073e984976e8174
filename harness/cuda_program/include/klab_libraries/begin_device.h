// Included before a header of CUB, whose text is device code, as for nvcc. Headers of libcu++ that it
// includes are not (klab_libraries/begin.h). Those that it includes by internal names are included here
// first, so that their guards skip them later. klab_libraries/end_device.h restores the macros.
#include <klab_libraries/special_registers.h>
#include <cuda/atomic>
#include <cuda/cmath>
#include <cuda/functional>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/cassert>
#include <cuda/std/cstdint>
#include <cuda/std/functional>
#include <cuda/std/iterator>
#include <cuda/std/limits>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

#pragma push_macro("_CCCL_DEVICE")
#pragma push_macro("_CCCL_HOST_DEVICE")
#pragma push_macro("_CCCL_HOST")
#pragma push_macro("_CCCL_FORCEINLINE")
#pragma push_macro("_NV_TARGET_IS_HOST")
#pragma push_macro("_NV_TARGET_IS_DEVICE")
#pragma push_macro("_NV_TARGET_VAL")
#pragma push_macro("_NV_DEVICE_CHECK")
#pragma push_macro("_NV_TARGET_BOOL___NV_PROVIDES_SM_50")
#pragma push_macro("_NV_TARGET_BOOL___NV_PROVIDES_SM_53")
#pragma push_macro("_NV_TARGET_BOOL___NV_PROVIDES_SM_60")
#pragma push_macro("_NV_TARGET_BOOL___NV_PROVIDES_SM_61")
#pragma push_macro("_NV_TARGET_BOOL___NV_PROVIDES_SM_70")
#pragma push_macro("_NV_TARGET_BOOL___NV_PROVIDES_SM_75")
#pragma push_macro("__align__")
#undef _CCCL_DEVICE
#undef _CCCL_HOST_DEVICE
#undef _CCCL_HOST
#undef _CCCL_FORCEINLINE
#define _CCCL_DEVICE __device__
#define _CCCL_HOST_DEVICE __host__ __device__
#define _CCCL_HOST __host__
#define _CCCL_FORCEINLINE __forceinline__
#include <klab_libraries/device_target.h>
// CUB launches kernels that may begin before the last one has ended, by the device's compute capability, but waits in them by that of
// the code, which is lower here.
#if __has_include(<cuda/std/__cccl/cuda_capabilities.h>)
#include <cuda/std/__cccl/cuda_capabilities.h>
#undef _CCCL_PDL_GRID_DEPENDENCY_SYNC
#undef _CCCL_PDL_TRIGGER_NEXT_LAUNCH
#define _CCCL_PDL_GRID_DEPENDENCY_SYNC() ::cudaGridDependencySynchronize()
#define _CCCL_PDL_TRIGGER_NEXT_LAUNCH() ::cudaTriggerProgrammaticLaunchCompletion()
#endif
// Loops are not unrolled, as in the program: for a host compiler these macros unroll all that CUB marks, which makes kernels of sorts
// so large that they take minutes to compile.
#undef _CCCL_PRAGMA_UNROLL
#undef _CCCL_PRAGMA_UNROLL_FULL
#define _CCCL_PRAGMA_UNROLL(n)
#define _CCCL_PRAGMA_UNROLL_FULL()
