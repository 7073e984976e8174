// CUDA's pipelines of copies: the primitives. The class of that name is libcu++'s.
#pragma once
#include <cuda_pipeline_primitives.h>
