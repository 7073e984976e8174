// What a header of a toolkit chooses by the target it is compiled for: host code, from here on. No guard: begin.h and begin_host.h
// have kept what was there before.
#undef _NV_TARGET_IS_HOST
#undef _NV_TARGET_IS_DEVICE
#undef _NV_TARGET_VAL
#undef _NV_DEVICE_CHECK
#define _NV_TARGET_IS_HOST 1
#define _NV_TARGET_IS_DEVICE 0
#define _NV_TARGET_VAL 0
#define _NV_DEVICE_CHECK(q) (false)
