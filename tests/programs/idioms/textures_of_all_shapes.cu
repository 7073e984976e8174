// right
// Layers, cubes, mipmaps, gathers and surfaces of all shapes, with values that are known.
#include <cstdio>
#include <vector>

__device__ int failures;
#define IS(condition)                              \
  if (!(condition)) {                              \
    printf("line %d: %s\n", __LINE__, #condition); \
    atomicAdd(&failures, 1);                       \
  }

cudaTextureObject_t texture_of(cudaArray_t array, cudaMipmappedArray_t mipmap, bool linear, bool normalized) {
  cudaResourceDesc resource = {};
  resource.resType = array != nullptr ? cudaResourceTypeArray : cudaResourceTypeMipmappedArray;
  if (array != nullptr)
    resource.res.array.array = array;
  else
    resource.res.mipmap.mipmap = mipmap;
  cudaTextureDesc how = {};
  how.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
  how.mipmapFilterMode = how.filterMode;
  how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = cudaAddressModeClamp;
  how.normalizedCoords = normalized;
  how.maxMipmapLevelClamp = 9;
  cudaTextureObject_t t = 0;
  cudaCreateTextureObject(&t, &resource, &how, nullptr);
  return t;
}
cudaArray_t array_of(cudaExtent extent, unsigned flags, const std::vector<float>& values) {
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaMalloc3DArray(&array, &format, extent, flags);
  cudaMemcpy3DParms copy = {};
  const size_t rows = extent.height > 0 ? extent.height : 1;
  copy.srcPtr = make_cudaPitchedPtr(const_cast<float*>(values.data()), extent.width * sizeof(float),
                                    extent.width, rows);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(extent.width, rows, extent.depth > 0 ? extent.depth : 1);
  copy.kind = cudaMemcpyHostToDevice;
  cudaMemcpy3D(&copy);
  return array;
}

__global__ void layers(cudaTextureObject_t rows, cudaTextureObject_t pictures) {
  IS(tex1DLayered<float>(rows, 2.5f, 1) == 12 && tex1DLayered<float>(rows, 9.5f, 7) == 13);
  IS(tex2DLayered<float>(pictures, 1.5f, 0.5f, 2) == 201 &&
     tex2DLayeredLod<float>(pictures, 0.5f, 1.5f, 0, 0) == 10);
  float value = 0;
  tex2DLayered(&value, pictures, 1.5f, 1.5f, 1);
  IS(value == 111);
}
__global__ void cubes(cudaTextureObject_t cube, cudaTextureObject_t several) {
  const float3 axes[6] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
  for (int face = 0; face < 6; ++face) {
    const float3 d = axes[face];
    IS(int(texCubemap<float>(cube, 2 * d.x, 2 * d.y, 2 * d.z)) / 10 == face);
    IS(int(texCubemapLayered<float>(several, d.x, d.y, d.z, 1)) == 60 + 10 * face + 3);
  }
  // On the face of +x, s runs against z and t against y; element 1 is the right one of the upper row.
  IS(texCubemap<float>(cube, 1, 0.5f, -0.5f) == 1 && texCubemap<float>(cube, 1, -0.5f, 0.5f) == 2);
  IS(texCubemapLod<float>(cube, -1, 0.5f, 0.5f, 0) == 11 && texCubemap<float>(cube, 0.5f, 1, 0.5f) == 23);
}
__global__ void gathers(cudaTextureObject_t ramp) {
  const float4 four = tex2Dgather<float4>(ramp, 2.0f, 3.0f);
  IS(four.x == 31 && four.y == 32 && four.z == 22 && four.w == 21);
  const float4 corner = tex2Dgather<float4>(ramp, 0.0f, 0.0f, 0);
  IS(corner.x == 0 && corner.y == 0 && corner.z == 0 && corner.w == 0);
}
__global__ void mipmaps(cudaTextureObject_t point, cudaTextureObject_t linear) {
  IS(tex2D<float>(point, 0.5f, 0.5f) == 1 && tex2DLod<float>(point, 0.5f, 0.5f, 1.2f) == 2);
  IS(tex2DLod<float>(point, 0.5f, 0.5f, 50) == 3 && tex2DLod<float>(point, 0.5f, 0.5f, -4) == 1);
  IS(tex2DLod<float>(linear, 0.3f, 0.9f, 0.5f) == 1.5f &&
     tex2DLod<float>(linear, 0.3f, 0.9f, 1.75f) == 2.75f);
  IS(tex2DGrad<float>(point, 0.5f, 0.5f, make_float2(0.5f, 0), make_float2(0, 0.25f)) == 2);
  IS(tex2DGrad<float>(point, 0.5f, 0.5f, make_float2(0.1f, 0), make_float2(0, 0)) == 1);
}
__global__ void surfaces(cudaSurfaceObject_t row, cudaSurfaceObject_t pictures) {
  surf1Dwrite(5.0f, row, 3 * sizeof(float));
  IS(surf1Dread<float>(row, 3 * sizeof(float)) == 5);
  surf1Dwrite(9.0f, row, 4 * sizeof(float), cudaBoundaryModeZero);
  IS(surf1Dread<float>(row, -4, cudaBoundaryModeZero) == 0 &&
     surf1Dread<float>(row, 400, cudaBoundaryModeClamp) == 5);
  surf2DLayeredwrite(7.0f, pictures, sizeof(float), 1, 2);
  float value = 0;
  surf2DLayeredread(&value, pictures, sizeof(float), 1, 2);
  IS(value == 7);
}

int main() {
  std::vector<float> rows, pictures, faces, ramp;
  for (int layer = 0; layer < 2; ++layer)
    for (int x = 0; x < 4; ++x) rows.push_back(float(10 * layer + x));
  for (int layer = 0; layer < 3; ++layer)
    for (int k = 0; k < 4; ++k) pictures.push_back(float(100 * layer + 10 * (k / 2) + k % 2));
  for (int face = 0; face < 12; ++face)
    for (int k = 0; k < 4; ++k) faces.push_back(float(10 * face + k));
  for (int k = 0; k < 16; ++k) ramp.push_back(float(10 * (k / 4) + k % 4));
  cudaArray_t arrays[] = {
      array_of(make_cudaExtent(4, 0, 2), cudaArrayLayered, rows),
      array_of(make_cudaExtent(2, 2, 3), cudaArrayLayered | cudaArraySurfaceLoadStore, pictures),
      array_of(make_cudaExtent(2, 2, 6), cudaArrayCubemap, faces),
      array_of(make_cudaExtent(2, 2, 12), cudaArrayCubemap | cudaArrayLayered, faces),
      array_of(make_cudaExtent(4, 4, 0), cudaArrayTextureGather, ramp),
      array_of(make_cudaExtent(4, 0, 0), cudaArraySurfaceLoadStore, rows)};
  cudaMipmappedArray_t mipmap = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaMallocMipmappedArray(&mipmap, &format, make_cudaExtent(4, 4, 0), 3);
  for (int level = 0; level < 3; ++level) {
    const std::vector<float> values(16, float(level + 1));
    cudaArray_t one = nullptr;
    cudaGetMipmappedArrayLevel(&one, mipmap, unsigned(level));
    const size_t side = size_t(4 >> level);
    cudaMemcpy2DToArray(one, 0, 0, values.data(), side * sizeof(float), side * sizeof(float), side,
                        cudaMemcpyHostToDevice);
  }
  const cudaTextureObject_t textures[] = {
      texture_of(arrays[0], nullptr, false, false), texture_of(arrays[1], nullptr, false, false),
      texture_of(arrays[2], nullptr, false, true),  texture_of(arrays[3], nullptr, false, true),
      texture_of(arrays[4], nullptr, false, false), texture_of(nullptr, mipmap, false, true),
      texture_of(nullptr, mipmap, true, true)};
  cudaSurfaceObject_t written[2];
  for (int k = 0; k < 2; ++k) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = arrays[k == 0 ? 5 : 1];
    cudaCreateSurfaceObject(&written[k], &resource);
  }
  layers<<<1, 1>>>(textures[0], textures[1]);
  cubes<<<1, 1>>>(textures[2], textures[3]);
  gathers<<<1, 1>>>(textures[4]);
  mipmaps<<<1, 1>>>(textures[5], textures[6]);
  surfaces<<<1, 1>>>(written[0], written[1]);
  int failed = 0;
  cudaMemcpyFromSymbol(&failed, failures, sizeof failed);
  for (cudaTextureObject_t t : textures) cudaDestroyTextureObject(t);
  for (cudaSurfaceObject_t s : written) cudaDestroySurfaceObject(s);
  for (cudaArray_t a : arrays) cudaFreeArray(a);
  cudaFreeMipmappedArray(mipmap);
  return failed != 0;
}
