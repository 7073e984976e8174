// CUDA's pipeline primitives. The class cuda::pipeline belongs to libcu++.
#pragma once
#include <cuda_pipeline_primitives.h>
