// CUDA cooperative groups.
#pragma once
#include <klab_cuda/groups.h>
