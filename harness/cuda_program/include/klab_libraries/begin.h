// Included before a header of Thrust or libcu++. Undefines CUDA's macros, so that the header treats this
// compiler as a host compiler. klab_libraries/end.h restores them. No include guard, since such headers
// include each other.
#pragma push_macro("__CUDACC__")
#pragma push_macro("__NVCC__")
#pragma push_macro("__CUDA__")
#pragma push_macro("__CUDA_ARCH__")
#pragma push_macro("__host__")
#pragma push_macro("__device__")
#pragma push_macro("__forceinline__")
#pragma push_macro("__noinline__")
#undef __CUDACC__
#undef __NVCC__
#undef __CUDA__
#undef __CUDA_ARCH__
#undef __host__
#undef __device__
#undef __forceinline__
#undef __noinline__
#define __host__
#define __device__
#define __forceinline__ inline
// Headers that choose code by target choose the host, also inside CUB (klab_libraries/begin_device.h).
#include <nv/target>
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
#include <klab_libraries/host_target.h>
