// Behind a header of Thrust or libcu++: see klab_libraries/begin.h.
#pragma pop_macro("__CUDACC__")
#pragma pop_macro("__NVCC__")
#pragma pop_macro("__CUDA__")
#pragma pop_macro("__CUDA_ARCH__")
#pragma pop_macro("__host__")
#pragma pop_macro("__device__")
#pragma pop_macro("__forceinline__")
#pragma pop_macro("__noinline__")
