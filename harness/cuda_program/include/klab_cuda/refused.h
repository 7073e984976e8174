// Names of the runtime that are not there, so that a program that has them compiles, and ends with a sentence where it uses one:
// mipmaps, cubes and other shapes of textures, memory of other processes and libraries.
#pragma once

#include <klab_cuda/absent.h>

typedef struct cudaMipmappedArray* cudaMipmappedArray_t;
typedef const struct cudaMipmappedArray* cudaMipmappedArray_const_t;
KLAB_ABSENT(cudaError_t, "textures with mipmaps", cudaMallocMipmappedArray)
KLAB_ABSENT(cudaError_t, "textures with mipmaps", cudaGetMipmappedArrayLevel)
KLAB_ABSENT(cudaError_t, "textures with mipmaps", cudaFreeMipmappedArray)

typedef struct {
  char reserved[64];
} cudaIpcMemHandle_t;
typedef struct {
  char reserved[64];
} cudaIpcEventHandle_t;
#define cudaIpcMemLazyEnablePeerAccess 0x01
KLAB_ABSENT(cudaError_t, "memory of other processes", cudaIpcGetMemHandle)
KLAB_ABSENT(cudaError_t, "memory of other processes", cudaIpcOpenMemHandle)
KLAB_ABSENT(cudaError_t, "memory of other processes", cudaIpcCloseMemHandle)
KLAB_ABSENT(cudaError_t, "events of other processes", cudaIpcGetEventHandle)
KLAB_ABSENT(cudaError_t, "events of other processes", cudaIpcOpenEventHandle)
KLAB_ABSENT(cudaError_t, "memory of other libraries", cudaImportExternalMemory)
KLAB_ABSENT(cudaError_t, "semaphores of other libraries", cudaImportExternalSemaphore)

#if defined(__CUDACC__)
#define KLAB_ABSENT_FETCH(name)                                 \
  template <class T, class... A>                                \
  KLAB_SIMT_INLINE T name(cudaTextureObject_t, A&&...) {        \
    ::klab::program::absent(#name, "textures of other shapes"); \
  }
#define KLAB_ABSENT_SURFACE(name)                               \
  template <class T, class... A>                                \
  KLAB_SIMT_INLINE void name(T&&, A&&...) {                     \
    ::klab::program::absent(#name, "surfaces of other shapes"); \
  }
KLAB_ABSENT_FETCH(texCubemap)
KLAB_ABSENT_FETCH(texCubemapLod)
KLAB_ABSENT_FETCH(texCubemapLayered)
KLAB_ABSENT_FETCH(tex1DLod)
KLAB_ABSENT_FETCH(tex3DLod)
KLAB_ABSENT_FETCH(tex1DGrad)
KLAB_ABSENT_FETCH(tex2DGrad)
KLAB_ABSENT_FETCH(tex3DGrad)
KLAB_ABSENT_FETCH(tex2Dgather)
KLAB_ABSENT_FETCH(tex2DLayeredLod)
KLAB_ABSENT_SURFACE(surf1Dwrite)
KLAB_ABSENT_SURFACE(surf2DLayeredwrite)
KLAB_ABSENT_SURFACE(surfCubemapwrite)
#undef KLAB_ABSENT_FETCH
#undef KLAB_ABSENT_SURFACE
#endif
