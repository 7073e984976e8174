// right
// Every way in which work of one stream may come behind that of another.
__global__ void fill(int* x, int v) { x[threadIdx.x] = v; }
__global__ void add(const int* x, int* y) { y[threadIdx.x] = x[threadIdx.x] + 1; }
__global__ void count(int* x) { atomicAdd(x, 1); }
__global__ void bytes(char* x, int from) { x[from + threadIdx.x] = char(threadIdx.x); }
int main() {
  int *x, *y, *sum, h[32];
  char* text;
  cudaMalloc(&x, 128), cudaMalloc(&y, 128), cudaMalloc(&sum, 4), cudaMalloc(&text, 64);
  cudaMemset(sum, 0, 4);
  cudaStream_t a, b, c;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaStreamCreate(&c);
  cudaEvent_t e, f;
  cudaEventCreate(&e), cudaEventCreate(&f);
  cudaDeviceSynchronize();
  fill<<<1, 32, 0, a>>>(x, 1);  // an event
  cudaEventRecord(e, a), cudaStreamWaitEvent(b, e, 0);
  add<<<1, 32, 0, b>>>(x, y);
  cudaEventRecord(f, b), cudaStreamWaitEvent(c, f, 0);  // by way of a third stream
  fill<<<1, 32, 0, c>>>(x, 2);
  cudaStreamSynchronize(c);  // the host
  add<<<1, 32, 0, a>>>(x, y);
  cudaEventRecord(e, a), cudaEventSynchronize(e);
  fill<<<1, 32>>>(x, 3);  // the legacy stream, before and behind one that blocks
  add<<<1, 32, 0, c>>>(x, y);
  fill<<<1, 32>>>(x, 4);
  count<<<1, 32, 0, a>>>(sum), count<<<1, 32, 0, b>>>(sum);  // atomics need no order
  bytes<<<1, 30, 0, a>>>(text, 0), bytes<<<1, 34, 0, b>>>(text, 30);
  cudaMemcpyAsync(h, y, 128, cudaMemcpyDeviceToHost, c);
  cudaDeviceSynchronize();
  cudaStreamDestroy(a), cudaStreamDestroy(b), cudaStreamDestroy(c), cudaEventDestroy(e), cudaEventDestroy(f);
  cudaFree(x), cudaFree(y), cudaFree(sum), cudaFree(text);
  return h[5] == 4 ? 0 : 3;
}
