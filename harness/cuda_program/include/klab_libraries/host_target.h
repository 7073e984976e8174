// Makes a toolkit's headers choose host code by target from here on. No include guard: begin.h and
// begin_host.h have saved the earlier macros.
#undef _NV_TARGET_IS_HOST
#undef _NV_TARGET_IS_DEVICE
#undef _NV_TARGET_VAL
#undef _NV_DEVICE_CHECK
#define _NV_TARGET_IS_HOST 1
#define _NV_TARGET_IS_DEVICE 0
#define _NV_TARGET_VAL 0
#define _NV_DEVICE_CHECK(q) (false)
#undef _NV_TARGET_BOOL___NV_PROVIDES_SM_50
#undef _NV_TARGET_BOOL___NV_PROVIDES_SM_53
#undef _NV_TARGET_BOOL___NV_PROVIDES_SM_60
#undef _NV_TARGET_BOOL___NV_PROVIDES_SM_61
#undef _NV_TARGET_BOOL___NV_PROVIDES_SM_70
#undef _NV_TARGET_BOOL___NV_PROVIDES_SM_75
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_50 0
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_53 0
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_60 0
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_61 0
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_70 0
#define _NV_TARGET_BOOL___NV_PROVIDES_SM_75 0
