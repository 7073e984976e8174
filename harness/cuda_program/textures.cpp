// Textures: the value of a fetch, and the texels it reads (CUDA C++ Programming Guide, appendix on texture
// fetching: weights of linear filtering have 8 bits of fraction).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "harness/cuda_program/state.h"
#include "harness/simt/executor.h"
#include "harness/simt/trace.h"

namespace klab::program {
namespace {

struct Texture {
  cudaTextureDesc how;
  cudaChannelFormatDesc format;
  const char* data;
  size_t width, height, depth, pitch, layer;
  std::vector<Texture> smaller = {};  // levels of a mipmap behind the first
  size_t texel() const { return size_t(format.x + format.y + format.z + format.w) / 8; }
};

Texture texture_of(const cudaResourceDesc& r, const cudaTextureDesc& how) {
  Texture t{
      .how = how, .format = {}, .data = nullptr, .width = 1, .height = 1, .depth = 1, .pitch = 0, .layer = 0};
  if (r.resType == cudaResourceTypeMipmappedArray) {
    const cudaMipmappedArray* m = r.res.mipmap.mipmap;
    require(m != nullptr && !m->levels.empty(), cudaErrorInvalidResourceHandle);
    for (const cudaArray_t level : m->levels) {
      cudaResourceDesc one = {};
      one.resType = cudaResourceTypeArray;
      one.res.array.array = level;
      if (level == m->levels.front())
        t = texture_of(one, how);
      else
        t.smaller.push_back(texture_of(one, how));
    }
    return t;
  }
  if (r.resType == cudaResourceTypeArray) {
    const cudaArray* a = r.res.array.array;
    require(a != nullptr, cudaErrorInvalidResourceHandle);
    t.format = a->desc;
    t.data = a->data;
    t.width = a->width;
    t.height = a->rows();
    t.depth = a->layers();
    t.pitch = a->row_bytes();
  } else if (r.resType == cudaResourceTypeLinear) {
    t.format = r.res.linear.desc;
    t.data = static_cast<const char*>(r.res.linear.devPtr);
    const simt::Allocation* a = memory_at(t.data);
    require(a != nullptr && a->live);
    const size_t most = size_t(a->begin + a->bytes - t.data);
    t.width = std::min(r.res.linear.sizeInBytes, most) / std::max<size_t>(t.texel(), 1);
  } else if (r.resType == cudaResourceTypePitch2D) {
    t.format = r.res.pitch2D.desc;
    t.data = static_cast<const char*>(r.res.pitch2D.devPtr);
    t.width = r.res.pitch2D.width;
    t.height = r.res.pitch2D.height;
    t.pitch = r.res.pitch2D.pitchInBytes;
  } else {
    throw Failed{cudaErrorNotSupported};
  }
  require(t.texel() > 0, cudaErrorInvalidChannelDescriptor);
  if (t.pitch == 0) t.pitch = t.width * t.texel();
  t.layer = t.pitch * t.height;
  return t;
}

/// Maps an index outside [0, n) by the addressing mode; -1 means the border.
int64_t inside(int64_t i, int64_t n, cudaTextureAddressMode mode) {
  if (i >= 0 && i < n) return i;
  switch (mode) {
    case cudaAddressModeWrap:
      return ((i % n) + n) % n;
    case cudaAddressModeMirror: {
      const int64_t m = ((i % (2 * n)) + 2 * n) % (2 * n);
      return m < n ? m : 2 * n - 1 - m;
    }
    case cudaAddressModeBorder:
      return -1;
    default:
      return std::clamp<int64_t>(i, 0, n - 1);
  }
}

using Channels = std::array<uint32_t, 4>;

/// Reads one texel, as bits or as floats.
Channels read(const Texture& t, int64_t x, int64_t y, int64_t z, const void* pc, bool as_float) {
  Channels c{};
  const std::array<int, 4> bits = {t.format.x, t.format.y, t.format.z, t.format.w};
  if (x < 0 || y < 0 || z < 0) {
    for (size_t k = 0; k < 4; ++k) c[k] = as_float ? __builtin_bit_cast(uint32_t, t.how.borderColor[k]) : 0;
    return c;
  }
  const char* p = t.data + size_t(z) * t.layer + size_t(y) * t.pitch + size_t(x) * t.texel();
  if (simt::running->trace != nullptr) simt::running->trace->access(p, t.texel(), simt::kRead, pc);
  for (size_t k = 0; k < 4; ++k) {
    const auto bytes = size_t(bits[k]) / 8;
    if (bytes == 0) continue;
    uint32_t raw = 0;
    std::memcpy(&raw, p, bytes);
    p += bytes;
    const bool is_signed = t.format.f == cudaChannelFormatKindSigned;
    if (is_signed && bytes < 4) raw = uint32_t(int32_t(raw << (32 - bits[k])) >> (32 - bits[k]));
    if (t.format.f == cudaChannelFormatKindFloat && bytes == 2)
      raw = __builtin_bit_cast(uint32_t, simt::float_from_half(uint16_t(raw)));
    if (as_float && t.format.f != cudaChannelFormatKindFloat) {
      const double most =
          is_signed ? double((int64_t(1) << (bits[k] - 1)) - 1) : double((int64_t(1) << bits[k]) - 1);
      const double value = is_signed ? std::max(double(int32_t(raw)) / most, -1.0) : double(raw) / most;
      raw = __builtin_bit_cast(uint32_t, float(value));
    }
    c[k] = raw;
  }
  return c;
}

/// The texels around a coordinate. A texel's center is at its index plus a half; weights have 8 bits.
struct Place {
  int64_t low, high;
  float weight;  // weight of high
};
Place place_of(float x, bool linear, int64_t n, cudaTextureAddressMode mode) {
  if (!linear) {
    const int64_t i = inside(int64_t(std::floor(x)), n, mode);
    return {i, i, 0};
  }
  const float at = x - 0.5f, low = std::floor(at);
  const float weight = std::round((at - low) * 256) / 256;
  return {inside(int64_t(low), n, mode), inside(int64_t(low) + 1, n, mode), weight};
}

float scaled(float x, int64_t n, cudaTextureAddressMode& mode, bool normalized) {
  if (!normalized) {
    if (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror) mode = cudaAddressModeClamp;
    return x;
  }
  if (mode == cudaAddressModeWrap) x -= std::floor(x);
  return x * float(n);
}

/// `of_cube`: coordinates lie within a face.
Channels fetched(const Texture& t, int dimensions, float x, float y, float z, int layer, const void* pc,
                 bool of_cube = false) {
  const bool as_float =
      t.how.readMode == cudaReadModeNormalizedFloat || t.format.f == cudaChannelFormatKindFloat;
  const bool linear = t.how.filterMode == cudaFilterModeLinear && as_float;
  cudaTextureAddressMode mode[3] = {t.how.addressMode[0], t.how.addressMode[1], t.how.addressMode[2]};
  if (of_cube) std::fill(mode, mode + 3, cudaAddressModeClamp);
  const bool normalized = of_cube || t.how.normalizedCoords != 0;
  layer = std::clamp(layer, 0, int(t.depth) - 1);
  const auto w = int64_t(t.width), h = int64_t(t.height), d = int64_t(t.depth);
  const Place px = place_of(scaled(x, w, mode[0], normalized), linear, w, mode[0]);
  Place py{0, 0, 0}, pz{layer, layer, 0};
  if (dimensions > 1) py = place_of(scaled(y, h, mode[1], normalized), linear, h, mode[1]);
  if (dimensions > 2) pz = place_of(scaled(z, d, mode[2], normalized), linear, d, mode[2]);
  if (!linear) return read(t, px.low, py.low, pz.low, pc, as_float);
  std::array<float, 4> sum{};
  for (int corner = 0; corner < (dimensions > 2 ? 8 : dimensions > 1 ? 4 : 2); ++corner) {
    const bool hx = corner & 1, hy = corner & 2, hz = corner & 4;
    const float weight = (hx ? px.weight : 1 - px.weight) * (hy ? py.weight : 1 - py.weight) *
                         (hz ? pz.weight : 1 - pz.weight);
    const Channels c = read(t, hx ? px.high : px.low, hy ? py.high : py.low, hz ? pz.high : pz.low, pc, true);
    for (size_t k = 0; k < 4; ++k) sum[k] += weight * __builtin_bit_cast(float, c[k]);
  }
  return {__builtin_bit_cast(uint32_t, sum[0]), __builtin_bit_cast(uint32_t, sum[1]),
          __builtin_bit_cast(uint32_t, sum[2]), __builtin_bit_cast(uint32_t, sum[3])};
}

/// Calls `fetch` for the level of a mipmap, or for the two around it.
template <class Fetch>
Channels at_level(const Texture& t, float level, Fetch fetch) {
  const auto last = float(t.smaller.size());
  level = std::clamp(level + t.how.mipmapLevelBias, t.how.minMipmapLevelClamp,
                     std::max(t.how.minMipmapLevelClamp, t.how.maxMipmapLevelClamp));
  level = std::clamp(level, 0.0f, last);
  const auto texture = [&](float k) -> const Texture& { return k < 1 ? t : t.smaller[size_t(k) - 1]; };
  const bool is_float =
      t.how.readMode == cudaReadModeNormalizedFloat || t.format.f == cudaChannelFormatKindFloat;
  const float low = std::floor(level), weight = std::round((level - low) * 256) / 256;
  if (t.how.mipmapFilterMode == cudaFilterModePoint || !is_float)
    return fetch(texture(std::floor(level + 0.5f)));
  Channels a = fetch(texture(low));
  if (weight == 0) return a;
  const Channels b = fetch(texture(low + 1));
  for (size_t k = 0; k < 4; ++k)
    a[k] = __builtin_bit_cast(
        uint32_t, (1 - weight) * __builtin_bit_cast(float, a[k]) + weight * __builtin_bit_cast(float, b[k]));
  return a;
}

/// Finds the face of a cube that a direction meets, and where, from 0 to 1 (CUDA C++ Programming Guide, "Cubemap Textures").
struct Face {
  int number;
  float x, y;
};
Face face_of(float x, float y, float z) {
  const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  Face f{};
  float s = 0, t = 0, m = 0;
  if (ax >= ay && ax >= az)
    f.number = x < 0 ? 1 : 0, m = ax, s = x < 0 ? z : -z, t = -y;
  else if (ay >= az)
    f.number = y < 0 ? 3 : 2, m = ay, s = x, t = y < 0 ? -z : z;
  else
    f.number = z < 0 ? 5 : 4, m = az, s = z < 0 ? -x : x, t = -y;
  if (m == 0) m = 1;
  f.x = (s / m + 1) / 2;
  f.y = (t / m + 1) / 2;
  return f;
}

/// Ends the launch at that place.
[[noreturn]] void outside(const std::string& text, const void* pc) {
  const simt::SourceLine at = simt::source_of(pc);
  simt::running->abandon({.kind = simt::Kind::out_of_bounds, .file = at.file, .line = at.line, .text = text});
}

const Texture& texture_at(cudaTextureObject_t texture, const void* pc) {
  if (texture == 0) outside("a fetch from no texture", pc);
  return *reinterpret_cast<const Texture*>(texture);
}

}  // namespace
}  // namespace klab::program

using namespace klab::program;

extern "C" {
cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* description, const cudaResourceViewDesc*) {
  return api([&] {
    require(texture != nullptr && resource != nullptr && description != nullptr);
    *texture = reinterpret_cast<cudaTextureObject_t>(new Texture(texture_of(*resource, *description)));
  });
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
  return api([&] { delete reinterpret_cast<Texture*>(texture); });
}
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* surface, const cudaResourceDesc* resource) {
  return api([&] {
    require(surface != nullptr && resource != nullptr && resource->resType == cudaResourceTypeArray);
    *surface = reinterpret_cast<cudaSurfaceObject_t>(new Texture(texture_of(*resource, {})));
  });
}
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface) {
  return cudaDestroyTextureObject(surface);
}
cudaError_t klab_cuda_bind_texture(textureReference* reference, const cudaResourceDesc* resource,
                                   int read_mode, size_t* offset) {
  return api([&] {
    delete reinterpret_cast<Texture*>(reference->object);
    reference->object = 0;
    if (offset != nullptr) *offset = 0;
    if (resource == nullptr) return;
    cudaTextureDesc how = {};
    std::copy(reference->addressMode, reference->addressMode + 3, how.addressMode);
    how.filterMode = reference->filterMode;
    how.readMode = cudaTextureReadMode(read_mode);
    how.normalizedCoords = reference->normalized;
    reference->object = reinterpret_cast<cudaTextureObject_t>(new Texture(texture_of(*resource, how)));
  });
}
void klab_cuda_fetch(cudaTextureObject_t texture, int dimensions, bool by_index, float x, float y, float z,
                     int index, int layer, void* channels, const void*) {
  const void* pc = __builtin_return_address(0);
  const Texture& t = texture_at(texture, pc);
  const bool as_float =
      t.how.readMode == cudaReadModeNormalizedFloat || t.format.f == cudaChannelFormatKindFloat;
  Channels c{};
  if (!by_index)
    c = fetched(t, dimensions, x, y, z, layer, pc);
  else if (index >= 0 && size_t(index) < t.width)  // else zeros, as in CUDA
    c = read(t, index, 0, 0, pc, as_float);
  std::memcpy(channels, c.data(), sizeof c);
}
void klab_cuda_fetch_level(cudaTextureObject_t texture, int dimensions, float x, float y, float z, int layer,
                           float level, void* channels) {
  const void* pc = __builtin_return_address(0);
  const Channels c = at_level(texture_at(texture, pc), level,
                              [&](const Texture& t) { return fetched(t, dimensions, x, y, z, layer, pc); });
  std::memcpy(channels, c.data(), sizeof c);
}
void klab_cuda_fetch_cube(cudaTextureObject_t texture, float x, float y, float z, int layer, float level,
                          void* channels) {
  const void* pc = __builtin_return_address(0);
  const Face f = face_of(x, y, z);
  const Channels c = at_level(texture_at(texture, pc), level, [&](const Texture& t) {
    return fetched(t, 2, f.x, f.y, 0, layer * 6 + f.number, pc, true);
  });
  std::memcpy(channels, c.data(), sizeof c);
}
void klab_cuda_gather(cudaTextureObject_t texture, float x, float y, int channel, void* channels) {
  const void* pc = __builtin_return_address(0);
  const Texture& t = texture_at(texture, pc);
  const bool as_float =
      t.how.readMode == cudaReadModeNormalizedFloat || t.format.f == cudaChannelFormatKindFloat;
  cudaTextureAddressMode mode[2] = {t.how.addressMode[0], t.how.addressMode[1]};
  const auto w = int64_t(t.width), h = int64_t(t.height);
  const Place px = place_of(scaled(x, w, mode[0], t.how.normalizedCoords != 0), true, w, mode[0]);
  const Place py = place_of(scaled(y, h, mode[1], t.how.normalizedCoords != 0), true, h, mode[1]);
  const auto one = [&](int64_t column, int64_t row) {
    return read(t, column, row, 0, pc, as_float)[size_t(std::clamp(channel, 0, 3))];
  };
  const Channels c = {one(px.low, py.high), one(px.high, py.high), one(px.high, py.low), one(px.low, py.low)};
  std::memcpy(channels, c.data(), sizeof c);
}
float klab_cuda_texture_level(cudaTextureObject_t texture, const float* dx, const float* dy, int dimensions) {
  const Texture& t = texture_at(texture, __builtin_return_address(0));
  const std::array<size_t, 3> sizes = {t.width, t.height, t.depth};
  double across = 0, down = 0;  // texels between this pixel and its neighbors
  for (int k = 0; k < dimensions; ++k) {
    const double scale = t.how.normalizedCoords != 0 ? double(sizes[size_t(k)]) : 1.0;
    across += dx[k] * scale * dx[k] * scale;
    down += dy[k] * scale * dy[k] * scale;
  }
  const double most = std::sqrt(std::max(across, down));
  return most > 0 ? float(std::log2(most)) : 0.0f;
}
void* klab_cuda_surface(cudaSurfaceObject_t surface, int x, int y, int z, unsigned bytes, bool write,
                        int mode) {
  const void* pc = __builtin_return_address(0);
  if (surface == 0) outside(std::string(write ? "a write to" : "a read from") + " no surface", pc);
  const Texture& t = *reinterpret_cast<const Texture*>(surface);
  if (mode == cudaBoundaryModeClamp) {
    x = std::clamp(x, 0, int(t.width * t.texel() - bytes));
    y = std::clamp(y, 0, int(t.height) - 1);
    z = std::clamp(z, 0, int(t.depth) - 1);
  }
  if (x < 0 || y < 0 || z < 0 || size_t(x) + bytes > t.width * t.texel() || size_t(y) >= t.height ||
      size_t(z) >= t.depth) {
    if (mode == cudaBoundaryModeZero) return nullptr;
    outside(std::string("a surface ") + (write ? "write" : "read") + " at byte " + std::to_string(x) +
                " of row " + std::to_string(y) + (t.depth > 1 ? " of layer " + std::to_string(z) : "") +
                ", outside of " + std::to_string(t.width) + " x " + std::to_string(t.height) +
                (t.depth > 1 ? " x " + std::to_string(t.depth) : ""),
            pc);
  }
  return const_cast<char*>(t.data) + size_t(z) * t.layer + size_t(y) * t.pitch + size_t(x);
}
}
