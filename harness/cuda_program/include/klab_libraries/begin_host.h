// Included before a header of CUB that launches kernels. Like klab_libraries/begin_device.h, but code chosen
// by target is host code.
#include <klab_libraries/begin_device.h>

#include <klab_libraries/host_target.h>
