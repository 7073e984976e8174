// nvcuda::wmma.
#pragma once
#include "harness/simt/wmma.h"
#include "klab_cuda/halves.h"
