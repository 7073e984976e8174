// nvcuda::wmma.
#pragma once
#include <klab_cuda/halves.h>
#include "harness/simt/wmma.h"
