// Included after a header of CUB: see klab_libraries/begin_host.h.
#include <klab_libraries/end_device.h>
