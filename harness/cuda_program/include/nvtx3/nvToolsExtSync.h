// A part of NVTX that names objects for synchronization.
#pragma once
#include <nvtx3/nvToolsExt.h>
