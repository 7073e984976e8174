// Before a header of CUB that launches kernels: as klab_libraries/begin_device.h, but what it chooses by the target is host code.
#include <klab_libraries/begin_device.h>

#include <klab_libraries/host_target.h>
