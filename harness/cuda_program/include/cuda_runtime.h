// CUDA's runtime: the API, and in CUDA files also the language's functions.
#pragma once

#include <klab_cuda/api.h>
#include <klab_cuda/graph_nodes.h>
#if defined(__CUDACC__)
#include <klab_cuda/ptx.h>
#include <klab_cuda/refused.h>
#include <klab_cuda/textures.h>
#endif
