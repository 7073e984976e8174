// Textures by level, gradient and direction, of single texels, and surfaces of all shapes. Fetches at the edge of a cube's face stay within
// the face. Included by textures.h.
#pragma once

namespace klab::program {
template <class T>
KLAB_SIMT_INLINE T fetch_level(cudaTextureObject_t t, int dimensions, float x, float y, float z, int layer,
                               float level) {
  alignas(16) int channels[4];
  klab_cuda_fetch_level(t, dimensions, x, y, z, layer, level, channels);
  return texel<T>(channels);
}
template <class T>
KLAB_SIMT_INLINE T fetch_cube(cudaTextureObject_t t, float x, float y, float z, int layer, float level) {
  alignas(16) int channels[4];
  klab_cuda_fetch_cube(t, x, y, z, layer, level, channels);
  return texel<T>(channels);
}
template <class V>
KLAB_SIMT_INLINE float level_of(cudaTextureObject_t t, const V& dx, const V& dy, int dimensions) {
  return klab_cuda_texture_level(t, reinterpret_cast<const float*>(&dx), reinterpret_cast<const float*>(&dy),
                                 dimensions);
}
/// Reads an element of a surface. `mode`: what lies outside (cudaBoundaryModeTrap: an error).
template <class T>
KLAB_SIMT_INLINE T surface_read(cudaSurfaceObject_t s, int x, int y, int z, int mode) {
  const void* p = klab_cuda_surface(s, x, y, z, sizeof(T), false, mode);
  return p != nullptr ? *static_cast<const T*>(p) : T();
}
template <class T>
KLAB_SIMT_INLINE void surface_write(const T& value, cudaSurfaceObject_t s, int x, int y, int z, int mode) {
  if (void* p = klab_cuda_surface(s, x, y, z, sizeof(T), true, mode); p != nullptr)
    *static_cast<T*>(p) = value;
}
}  // namespace klab::program

#define KLAB_LIST(...) __VA_ARGS__
/// A fetch, and its form that stores to an address.
#define KLAB_FETCH(name, parameters, arguments, value)                              \
  template <class T>                                                                \
  KLAB_SIMT_INLINE T name(cudaTextureObject_t t, KLAB_LIST parameters) {            \
    return value;                                                                   \
  }                                                                                 \
  template <class T>                                                                \
  KLAB_SIMT_INLINE void name(T* out, cudaTextureObject_t t, KLAB_LIST parameters) { \
    *out = name<T>(t, KLAB_LIST arguments);                                         \
  }
KLAB_FETCH(tex1DLod, (float x, float level), (x, level),
           klab::program::fetch_level<T>(t, 1, x, 0, 0, 0, level))
KLAB_FETCH(tex2DLod, (float x, float y, float level), (x, y, level),
           klab::program::fetch_level<T>(t, 2, x, y, 0, 0, level))
KLAB_FETCH(tex3DLod, (float x, float y, float z, float level), (x, y, z, level),
           klab::program::fetch_level<T>(t, 3, x, y, z, 0, level))
KLAB_FETCH(tex1DLayeredLod, (float x, int layer, float level), (x, layer, level),
           klab::program::fetch_level<T>(t, 1, x, 0, 0, layer, level))
KLAB_FETCH(tex2DLayeredLod, (float x, float y, int layer, float level), (x, y, layer, level),
           klab::program::fetch_level<T>(t, 2, x, y, 0, layer, level))
KLAB_FETCH(tex1DGrad, (float x, float dx, float dy), (x, dx, dy),
           klab::program::fetch_level<T>(t, 1, x, 0, 0, 0, klab::program::level_of(t, dx, dy, 1)))
KLAB_FETCH(tex2DGrad, (float x, float y, float2 dx, float2 dy), (x, y, dx, dy),
           klab::program::fetch_level<T>(t, 2, x, y, 0, 0, klab::program::level_of(t, dx, dy, 2)))
KLAB_FETCH(tex3DGrad, (float x, float y, float z, float4 dx, float4 dy), (x, y, z, dx, dy),
           klab::program::fetch_level<T>(t, 3, x, y, z, 0, klab::program::level_of(t, dx, dy, 3)))
KLAB_FETCH(texCubemap, (float x, float y, float z), (x, y, z), klab::program::fetch_cube<T>(t, x, y, z, 0, 0))
KLAB_FETCH(texCubemapLod, (float x, float y, float z, float level), (x, y, z, level),
           klab::program::fetch_cube<T>(t, x, y, z, 0, level))
KLAB_FETCH(texCubemapLayered, (float x, float y, float z, int layer), (x, y, z, layer),
           klab::program::fetch_cube<T>(t, x, y, z, layer, 0))
KLAB_FETCH(texCubemapLayeredLod, (float x, float y, float z, int layer, float level), (x, y, z, layer, level),
           klab::program::fetch_cube<T>(t, x, y, z, layer, level))
#undef KLAB_FETCH

/// The four texels around a place: lower left, lower right, upper right, upper left, where rows go down.
template <class T>
KLAB_SIMT_INLINE T tex2Dgather(cudaTextureObject_t t, float x, float y, int channel = 0) {
  alignas(16) int channels[4];
  klab_cuda_gather(t, x, y, channel, channels);
  return klab::program::texel<T>(channels);
}
template <class T>
KLAB_SIMT_INLINE void tex2Dgather(T* out, cudaTextureObject_t t, float x, float y, int channel = 0) {
  *out = tex2Dgather<T>(t, x, y, channel);
}

// Forms of the other fetches that store to an address.
#define KLAB_FETCH_TO(name, parameters, arguments)                                  \
  template <class T>                                                                \
  KLAB_SIMT_INLINE void name(T* out, cudaTextureObject_t t, KLAB_LIST parameters) { \
    *out = name<T>(t, KLAB_LIST arguments);                                         \
  }
KLAB_FETCH_TO(tex1Dfetch, (int x), (x))
KLAB_FETCH_TO(tex1D, (float x), (x))
KLAB_FETCH_TO(tex2D, (float x, float y), (x, y))
KLAB_FETCH_TO(tex3D, (float x, float y, float z), (x, y, z))
KLAB_FETCH_TO(tex1DLayered, (float x, int layer), (x, layer))
KLAB_FETCH_TO(tex2DLayered, (float x, float y, int layer), (x, y, layer))
#undef KLAB_FETCH_TO

/// Reading a surface, as value and to an address, and writing it. `at`: byte of the row, row, layer.
#define KLAB_SURFACE(name, parameters, at)                                                 \
  template <class T>                                                                       \
  KLAB_SIMT_INLINE T name##read(cudaSurfaceObject_t s, KLAB_LIST parameters,               \
                                cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {     \
    return klab::program::surface_read<T>(s, KLAB_LIST at, mode);                          \
  }                                                                                        \
  template <class T>                                                                       \
  KLAB_SIMT_INLINE void name##read(T* out, cudaSurfaceObject_t s, KLAB_LIST parameters,    \
                                   cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {  \
    *out = klab::program::surface_read<T>(s, KLAB_LIST at, mode);                          \
  }                                                                                        \
  template <class T>                                                                       \
  KLAB_SIMT_INLINE void name##write(T value, cudaSurfaceObject_t s, KLAB_LIST parameters,  \
                                    cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
    klab::program::surface_write(value, s, KLAB_LIST at, mode);                            \
  }
KLAB_SURFACE(surf1D, (int x), (x, 0, 0))
KLAB_SURFACE(surf2D, (int x, int y), (x, y, 0))
KLAB_SURFACE(surf3D, (int x, int y, int z), (x, y, z))
KLAB_SURFACE(surf1DLayered, (int x, int layer), (x, 0, layer))
KLAB_SURFACE(surf2DLayered, (int x, int y, int layer), (x, y, layer))
KLAB_SURFACE(surfCubemap, (int x, int y, int face), (x, y, face))
KLAB_SURFACE(surfCubemapLayered, (int x, int y, int face), (x, y, face))
#undef KLAB_SURFACE
#undef KLAB_LIST
