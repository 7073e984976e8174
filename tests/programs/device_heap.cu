// Objects that kernels make: new and delete, arrays, virtual functions, pointers to functions of the device.
#include <new>
#include <vector>

#include "check.h"

struct Shape {
  float a;
  __device__ explicit Shape(float size) : a(size) {}
  __device__ virtual ~Shape() {}
  __device__ virtual float area() const { return a * a; }
};
struct Circle : Shape {
  float pi;
  __device__ explicit Circle(float size) : Shape(size), pi(3) {}
  __device__ float area() const override { return pi * a * a; }
};

__global__ void areas(float* out) {
  const int t = threadIdx.x;
  Shape* shape = t % 2 == 0 ? new Shape(float(t)) : new Circle(float(t));
  out[t] = shape->area();
  delete shape;
}

/// One thread makes an array that all of the block use.
__global__ void shared_array(int* out) {
  __shared__ int* numbers;
  if (threadIdx.x == 0) numbers = new int[blockDim.x];
  __syncthreads();
  numbers[threadIdx.x] = int(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = numbers[blockDim.x - 1 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) delete[] numbers;
}

/// In memory that the host gave, made by one kernel, used by another.
__global__ void placed(void* where) { new (where) Circle(2); }
__global__ void used(const void* where, float* out) { *out = static_cast<const Shape*>(where)->area(); }

using Operation = int (*)(int, int);
__device__ int sum(int a, int b) { return a + b; }
__device__ int product(int a, int b) { return a * b; }
__device__ Operation chosen = product;
__device__ Operation operations[] = {sum, product};
__global__ void by_pointer(Operation given, int* out) {
  const int t = threadIdx.x;
  out[t] = given(t, 3) + operations[t % 2](t, 5);
}

int main() {
  float* f;
  int* n;
  CHECK(cudaMallocManaged(&f, 64 * sizeof(float)));
  CHECK(cudaMallocManaged(&n, 64 * sizeof(int)));
  areas<<<1, 64>>>(f);
  CHECK(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) require_near(f[t], (t % 2 == 0 ? 1 : 3) * t * t, 0, "an area");
  shared_array<<<1, 64>>>(n);
  CHECK(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) require_near(n[t], 63 - t, 0, "a number of a kernel's array");
  void* where;
  CHECK(cudaMalloc(&where, sizeof(Circle)));
  placed<<<1, 1>>>(where);
  used<<<1, 1>>>(where, f);
  CHECK(cudaDeviceSynchronize());
  require_near(f[0], 12, 0, "the area of an object that another kernel made");
  Operation given;
  CHECK(cudaMemcpyFromSymbol(&given, chosen, sizeof given));
  by_pointer<<<1, 64>>>(given, n);
  CHECK(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t)
    require_near(n[t], t * 3 + (t % 2 == 0 ? t + 5 : t * 5), 0, "a function's result");
  // The host's own heap works as before.
  std::vector<int*> list;
  for (int k = 0; k < 100; ++k) list.push_back(new int(k));
  int total = 0;
  for (int* p : list) {
    total += *p;
    delete p;
  }
  require_near(total, 4950, 0, "a sum of the host's");
  cudaFree(f), cudaFree(n), cudaFree(where);
  std::printf("device_heap passed\n");
}
