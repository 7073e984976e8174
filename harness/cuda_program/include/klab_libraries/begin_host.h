// Before a header of CUB that launches kernels: as klab_libraries/begin_device.h, but what it chooses by the target is host code.
#include <klab_libraries/begin_device.h>

#undef _NV_TARGET_IS_HOST
#undef _NV_TARGET_IS_DEVICE
#undef _NV_TARGET_VAL
#undef _NV_DEVICE_CHECK
#define _NV_TARGET_IS_HOST 1
#define _NV_TARGET_IS_DEVICE 0
#define _NV_TARGET_VAL 0
#define _NV_DEVICE_CHECK(q) (false)
