// right
// Shared arrays of templates, inline functions, members and lambdas, next to a kernel's own.
__shared__ int of_the_file[32];
template <class T, int n>
__device__ T sum_of_block(T x) {
  __shared__ T part[n];
  part[threadIdx.x] = x;
  __syncthreads();
  for (int half = n / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  const T all = part[0];
  __syncthreads();
  return all;
}
inline __device__ int first_of_block(int x) {
  __shared__ int first;
  if (threadIdx.x == 0) first = x;
  __syncthreads();
  return first;
}
template <class T>
struct Exchange {
  struct Storage {
    T cells[64];
  };
  Storage& storage;
  __device__ explicit Exchange(Storage& s) : storage(s) {}
  __device__ T swapped(T x) {
    storage.cells[threadIdx.x] = x;
    __syncthreads();
    return storage.cells[63 - threadIdx.x];
  }
  __device__ static T of_member(T x) {
    __shared__ T own[64];
    own[threadIdx.x] = x;
    __syncthreads();
    return own[threadIdx.x ^ 1];
  }
};
__global__ void all_kinds(float* y) {
  __shared__ float mine;
  __shared__ Exchange<double>::Storage room;
  if (threadIdx.x == 0) mine = 0.5f;
  const int t = threadIdx.x;
  if (t < 32) of_the_file[t] = t;
  const float sum = sum_of_block<float, 64>(float(t)) + sum_of_block<int, 64>(1);
  const int first = first_of_block(t + 7);
  const double swapped = Exchange<double>(room).swapped(t);
  const int neighbor = Exchange<int>::of_member(t);
  auto from_lambda = [&](int x) {
    __shared__ int cell;
    if (x == 5) cell = x;
    __syncthreads();
    return cell;
  };
  y[t] = mine + sum + float(first) + float(swapped) + float(neighbor) + float(from_lambda(t)) +
         float(of_the_file[31 - t % 32]);
}
int main() {
  float *y, h[64];
  cudaMalloc(&y, sizeof h);
  all_kinds<<<1, 64>>>(y);
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(y);
  return h[0] == 0.5f + 2016 + 64 + 7 + 63 + 1 + 5 + 31 ? 0 : 3;
}
