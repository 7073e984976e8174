// Textures and surfaces: fetches of single points and of weighted neighbors (CUDA C++ Programming Guide,
// "Texture Fetching"). They count as loads of the texels that they read.
#pragma once

#include <type_traits>

#include <klab_cuda/device.h>

extern "C" {
/// Fetches four channels of a texture at x, y, z, of which the first `dimensions` are used. Channels are
/// floats, or bits if the texture is read as it is stored. With `by_index`, `index` selects an element of
/// linear memory.
void klab_cuda_fetch(cudaTextureObject_t texture, int dimensions, bool by_index, float x, float y, float z,
                     int index, int layer, void* channels, const void* return_address);
/// The same at a level of a mipmap.
void klab_cuda_fetch_level(cudaTextureObject_t texture, int dimensions, float x, float y, float z, int layer,
                           float level, void* channels);
/// Fetches from a cube, in the direction x, y, z.
void klab_cuda_fetch_cube(cudaTextureObject_t texture, float x, float y, float z, int layer, float level,
                          void* channels);
/// Fetches one channel of the four texels around a place.
void klab_cuda_gather(cudaTextureObject_t texture, float x, float y, int channel, void* channels);
/// Returns the level at which neighboring fetches, `dx` and `dy` away, are a texel apart.
float klab_cuda_texture_level(cudaTextureObject_t texture, const float* dx, const float* dy, int dimensions);
/// Returns the address of an element; nullptr if it lies outside and reads as zero.
void* klab_cuda_surface(cudaSurfaceObject_t surface, int x_bytes, int y, int z, unsigned bytes, bool write,
                        int mode);
}

namespace klab::program {
template <class T, class = void>
struct Texel {
  static constexpr int channels = 1;
  using type = T;
};
template <class T>
struct Texel<T, std::void_t<decltype(T::x)>> {
  static constexpr int channels = sizeof(T) / sizeof(T::x);
  using type = decltype(T::x);
};
template <class T>
KLAB_SIMT_INLINE T texel(const void* channels) {
  using C = typename Texel<T>::type;
  T value;
  C* to = reinterpret_cast<C*>(&value);
  for (int k = 0; k < Texel<T>::channels; ++k)
    to[k] = std::is_same_v<C, float> ? C(static_cast<const float*>(channels)[k])
                                     : C(static_cast<const int*>(channels)[k]);
  return value;
}
template <class T>
KLAB_SIMT_INLINE T fetch(cudaTextureObject_t t, int dimensions, bool by_index, float x, float y, float z,
                         int index, int layer = 0) {
  alignas(16) int channels[4];
  klab_cuda_fetch(t, dimensions, by_index, x, y, z, index, layer, channels, nullptr);
  return texel<T>(channels);
}
}  // namespace klab::program

template <class T>
KLAB_SIMT_INLINE T tex1Dfetch(cudaTextureObject_t t, int x) {
  return klab::program::fetch<T>(t, 1, true, 0, 0, 0, x);
}
template <class T>
KLAB_SIMT_INLINE T tex1D(cudaTextureObject_t t, float x) {
  return klab::program::fetch<T>(t, 1, false, x, 0, 0, 0);
}
template <class T>
KLAB_SIMT_INLINE T tex2D(cudaTextureObject_t t, float x, float y) {
  return klab::program::fetch<T>(t, 2, false, x, y, 0, 0);
}
template <class T>
KLAB_SIMT_INLINE T tex3D(cudaTextureObject_t t, float x, float y, float z) {
  return klab::program::fetch<T>(t, 3, false, x, y, z, 0);
}
template <class T>
KLAB_SIMT_INLINE T tex2DLayered(cudaTextureObject_t t, float x, float y, int layer) {
  return klab::program::fetch<T>(t, 2, false, x, y, 0, 0, layer);
}
template <class T>
KLAB_SIMT_INLINE T tex1DLayered(cudaTextureObject_t t, float x, int layer) {
  return klab::program::fetch<T>(t, 1, false, x, 0, 0, 0, layer);
}
#include <klab_cuda/texture_shapes.h>

// Texture references. CUDA 12 removed them, but older programs use them.
#define cudaTextureType1D 1
#define cudaTextureType2D 2
#define cudaTextureType3D 3
#define cudaTextureTypeCubemap 0x0C
#define cudaTextureType1DLayered 0xF1
#define cudaTextureType2DLayered 0xF2
#define cudaTextureTypeCubemapLayered 0xFC
template <class T, int dimensions = 1, cudaTextureReadMode mode = cudaReadModeElementType>
struct texture : textureReference {
  texture(int norm = 0, cudaTextureFilterMode filter = cudaFilterModePoint,
          cudaTextureAddressMode address = cudaAddressModeClamp)
      : textureReference{norm, filter, {address, address, address}, cudaCreateChannelDesc<T>(), 0} {}
};
namespace klab::program {
template <class T, cudaTextureReadMode mode>
struct Fetched {
  using type = T;
};
template <class T>
struct Fetched<T, cudaReadModeNormalizedFloat> {
  using type = std::conditional_t<Texel<T>::channels == 1, float,
                                  std::conditional_t<Texel<T>::channels == 2, float2, float4>>;
};
}  // namespace klab::program
template <class T, int d, cudaTextureReadMode m>
KLAB_SIMT_INLINE auto tex1Dfetch(const texture<T, d, m>& t, int x) {
  return tex1Dfetch<typename klab::program::Fetched<T, m>::type>(t.object, x);
}
template <class T, int d, cudaTextureReadMode m>
KLAB_SIMT_INLINE auto tex1D(const texture<T, d, m>& t, float x) {
  return tex1D<typename klab::program::Fetched<T, m>::type>(t.object, x);
}
template <class T, int d, cudaTextureReadMode m>
KLAB_SIMT_INLINE auto tex2D(const texture<T, d, m>& t, float x, float y) {
  return tex2D<typename klab::program::Fetched<T, m>::type>(t.object, x, y);
}
template <class T, int d, cudaTextureReadMode m>
KLAB_SIMT_INLINE auto tex3D(const texture<T, d, m>& t, float x, float y, float z) {
  return tex3D<typename klab::program::Fetched<T, m>::type>(t.object, x, y, z);
}
template <class T, int d, cudaTextureReadMode m>
KLAB_SIMT_INLINE auto tex1DLayered(const texture<T, d, m>& t, float x, int layer) {
  return tex1DLayered<typename klab::program::Fetched<T, m>::type>(t.object, x, layer);
}
template <class T, int d, cudaTextureReadMode m>
KLAB_SIMT_INLINE auto tex2DLayered(const texture<T, d, m>& t, float x, float y, int layer) {
  return tex2DLayered<typename klab::program::Fetched<T, m>::type>(t.object, x, y, layer);
}
template <class T, int d, cudaTextureReadMode m>
KLAB_SIMT_INLINE auto texCubemap(const texture<T, d, m>& t, float x, float y, float z) {
  return texCubemap<typename klab::program::Fetched<T, m>::type>(t.object, x, y, z);
}
template <class T, int d, cudaTextureReadMode m>
inline cudaError_t cudaBindTexture(size_t* offset, texture<T, d, m>& t, const void* p,
                                   const cudaChannelFormatDesc& desc, size_t bytes = ~0u) {
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeLinear;
  r.res.linear.devPtr = const_cast<void*>(p);
  r.res.linear.desc = desc;
  r.res.linear.sizeInBytes = bytes;
  return klab_cuda_bind_texture(&t, &r, m, offset);
}
template <class T, int d, cudaTextureReadMode m>
inline cudaError_t cudaBindTexture(size_t* offset, texture<T, d, m>& t, const void* p, size_t bytes = ~0u) {
  return cudaBindTexture(offset, t, p, t.channelDesc, bytes);
}
template <class T, int d, cudaTextureReadMode m>
inline cudaError_t cudaBindTexture2D(size_t* offset, texture<T, d, m>& t, const void* p,
                                     const cudaChannelFormatDesc& desc, size_t width, size_t height,
                                     size_t pitch) {
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypePitch2D;
  r.res.pitch2D.devPtr = const_cast<void*>(p);
  r.res.pitch2D.desc = desc;
  r.res.pitch2D.width = width;
  r.res.pitch2D.height = height;
  r.res.pitch2D.pitchInBytes = pitch;
  return klab_cuda_bind_texture(&t, &r, m, offset);
}
template <class T, int d, cudaTextureReadMode m>
inline cudaError_t cudaBindTextureToArray(texture<T, d, m>& t, cudaArray_const_t array,
                                          const cudaChannelFormatDesc&) {
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeArray;
  r.res.array.array = const_cast<cudaArray_t>(array);
  return klab_cuda_bind_texture(&t, &r, m, nullptr);
}
template <class T, int d, cudaTextureReadMode m>
inline cudaError_t cudaBindTextureToArray(texture<T, d, m>& t, cudaArray_const_t array) {
  return cudaBindTextureToArray(t, array, t.channelDesc);
}
template <class T, int d, cudaTextureReadMode m>
inline cudaError_t cudaUnbindTexture(texture<T, d, m>& t) {
  return klab_cuda_bind_texture(&t, nullptr, m, nullptr);
}
// The forms of C, which take addresses.
template <class T, int d, cudaTextureReadMode m>
inline cudaError_t cudaBindTexture(size_t* offset, texture<T, d, m>* t, const void* p,
                                   const cudaChannelFormatDesc* desc, size_t bytes = ~0u) {
  return cudaBindTexture(offset, *t, p, *desc, bytes);
}
template <class T, int d, cudaTextureReadMode m>
inline cudaError_t cudaBindTexture2D(size_t* offset, texture<T, d, m>* t, const void* p,
                                     const cudaChannelFormatDesc* desc, size_t width, size_t height,
                                     size_t pitch) {
  return cudaBindTexture2D(offset, *t, p, *desc, width, height, pitch);
}
template <class T, int d, cudaTextureReadMode m>
inline cudaError_t cudaBindTextureToArray(texture<T, d, m>* t, cudaArray_const_t array,
                                          const cudaChannelFormatDesc* desc) {
  return cudaBindTextureToArray(*t, array, *desc);
}
template <class T, int d, cudaTextureReadMode m>
inline cudaError_t cudaUnbindTexture(texture<T, d, m>* t) {
  return cudaUnbindTexture(*t);
}
