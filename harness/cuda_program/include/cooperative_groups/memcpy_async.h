// Part of the one header.
#pragma once
#include <klab_cuda/groups.h>
