// Makes a toolkit's headers choose device code by target from here on, that of the architecture. Their macros for NV_PROVIDES_SM_.. are
// set when nv/target is first included, which is for a host. Those from 8.0 on stay 0: CUB's code for them takes numbers for halves
// where halves are left out (CCCL_DISABLE_FP16_SUPPORT). No include guard: begin_device.h has saved the earlier macros.
#undef _NV_TARGET_IS_HOST
#undef _NV_TARGET_IS_DEVICE
#undef _NV_TARGET_VAL
#undef _NV_DEVICE_CHECK
#define _NV_TARGET_IS_HOST 0
#define _NV_TARGET_IS_DEVICE 1
#define _NV_TARGET_VAL __CUDA_ARCH__
#define _NV_DEVICE_CHECK(q) (q)
#undef _NV_TARGET_BOOL___NV_PROVIDES_SM_50
#undef _NV_TARGET_BOOL___NV_PROVIDES_SM_53
#undef _NV_TARGET_BOOL___NV_PROVIDES_SM_60
#undef _NV_TARGET_BOOL___NV_PROVIDES_SM_61
#undef _NV_TARGET_BOOL___NV_PROVIDES_SM_70
#undef _NV_TARGET_BOOL___NV_PROVIDES_SM_75
#if __CUDA_ARCH__ >= 500
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_50 1
#else
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_50 0
#endif
#if __CUDA_ARCH__ >= 530
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_53 1
#else
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_53 0
#endif
#if __CUDA_ARCH__ >= 600
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_60 1
#else
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_60 0
#endif
#if __CUDA_ARCH__ >= 610
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_61 1
#else
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_61 0
#endif
#if __CUDA_ARCH__ >= 700
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_70 1
#else
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_70 0
#endif
#if __CUDA_ARCH__ >= 750
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_75 1
#else
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_75 0
#endif
