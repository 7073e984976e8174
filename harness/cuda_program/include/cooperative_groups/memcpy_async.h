// Forwards to the one header of cooperative groups.
#pragma once
#include <klab_cuda/groups.h>
