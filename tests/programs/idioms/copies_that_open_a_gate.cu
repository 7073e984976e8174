// right
// Kernels wait for copies and fills in other streams: of a flag behind its data, of a variable, in a stream that waits for an event. Work
// behind such a kernel comes when it has ended. A copy of the default stream does not wait for streams that do not block.
#include <cstdio>
__device__ int opened;
__global__ void after_flag(volatile int* flag, const int* data, int* out) {
  if (threadIdx.x == 0) {
    while (*flag == 0) {
    }
    __threadfence();
  }
  __syncthreads();
  out[threadIdx.x] = data[threadIdx.x] + 1;
}
__global__ void after_variable(int* out) {
  while (*(volatile int*)&opened == 0) {
  }
  *out = 7;
}
__global__ void add(int* out, int n) { out[threadIdx.x] += n; }
int main() {
  int *flag, *data, *out, *pinned, wrong = 0;
  cudaMalloc(&flag, sizeof(int));
  cudaMalloc(&data, 32 * sizeof(int));
  cudaMalloc(&out, 32 * sizeof(int));
  cudaMallocHost(&pinned, 64 * sizeof(int));
  cudaMemset(flag, 0, sizeof(int));
  cudaMemset(data, 0, 32 * sizeof(int));
  cudaDeviceSynchronize();
  cudaStream_t a, b, c;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&c, cudaStreamNonBlocking);
  cudaEvent_t ended, copied;
  cudaEventCreate(&ended);
  cudaEventCreate(&copied);
  const auto check = [&](const char* what, int got, int wanted) {
    wrong += got != wanted && std::printf("%s: %d, not %d\n", what, got, wanted);
  };

  for (int k = 0; k < 32; ++k) pinned[k] = 10 * k;
  after_flag<<<1, 32, 0, a>>>(flag, data, out);
  add<<<1, 32, 0, a>>>(out, 5);
  cudaEventRecord(ended, a);
  cudaMemcpyAsync(pinned + 32, out, 32 * sizeof(int), cudaMemcpyDeviceToHost, a);
  check("query", cudaStreamQuery(a), cudaErrorNotReady);
  check("query of an event", cudaEventQuery(ended), cudaErrorNotReady);
  check("query of another stream", cudaStreamQuery(b), cudaSuccess);
  cudaGetLastError();
  cudaMemcpyAsync(data, pinned, 32 * sizeof(int), cudaMemcpyHostToDevice, b);
  cudaEventRecord(copied, b);
  cudaStreamWaitEvent(c, copied, 0);
  cudaMemsetAsync(flag, 1, sizeof(int), c);
  cudaStreamSynchronize(a);
  check("behind a fill", pinned[32 + 3], 36);

  cudaDeviceSynchronize();
  after_variable<<<1, 1, 0, a>>>(out);
  const int one = 1;
  cudaMemcpyToSymbol(opened, &one, sizeof one);
  cudaMemcpyAsync(pinned, out, sizeof(int), cudaMemcpyDeviceToHost, a);
  cudaEventRecord(ended, a);
  cudaEventSynchronize(ended);
  check("behind a variable", pinned[0], 7);

  cudaMemset(flag, 0, sizeof(int));
  cudaDeviceSynchronize();
  after_flag<<<1, 32, 0, a>>>(flag, data, out);
  cudaMemcpy(flag, &one, sizeof one, cudaMemcpyHostToDevice);
  cudaDeviceSynchronize();
  cudaMemcpy(pinned, out, 32 * sizeof(int), cudaMemcpyDeviceToHost);
  check("behind a copy", pinned[2], 21);
  cudaStreamDestroy(a), cudaStreamDestroy(b), cudaStreamDestroy(c);
  cudaEventDestroy(ended), cudaEventDestroy(copied);
  cudaFree(flag), cudaFree(data), cudaFree(out), cudaFreeHost(pinned);
  return wrong == 0 ? 0 : 3;
}
