// right
// Kernels that wait for memory which host code writes after the launch: from the thread that launched, from another one, in
// pinned and managed memory and a managed variable, by volatile reads and by atomics, with work queued behind them.
#include <cstdio>
#include <thread>
#include <vector>

__managed__ int gate;

/// Waits for the flag, then doubles what the host has written before it.
__global__ void after_flag(const volatile int* flag, const int* from, int* to, int n) {
  if (threadIdx.x == 0)
    while (*flag == 0) {
    }
  __syncthreads();
  __threadfence_system();
  if (int(threadIdx.x) < n) to[threadIdx.x] = 2 * ((const volatile int*)from)[threadIdx.x];
}
__global__ void after_gate(int* to) {
  while (atomicAdd_system(&gate, 0) < 3) __nanosleep(100);
  *to = 7;
}
/// Answers requests one after the other until it is told to end.
__global__ void server(volatile int* request, volatile int* answer, int* log) {
  for (int last = 0;;) {
    const int now = *request;
    if (now == last) {
      log[0] = last;  // other work between two looks
      continue;
    }
    if (now < 0) return;
    log[now] = now;
    __threadfence_system();
    *answer = now * now;
    last = now;
  }
}
__global__ void add(int* x, int v) { *x += v; }
__global__ void fill(int* x, int v) { x[threadIdx.x] = v; }

int failures = 0;
void good(const char* what, bool is) {
  if (!is) std::printf("%s is wrong\n", what), ++failures;
}

int main() {
  const int n = 64;
  int *flag, *from, *to, *x, *managed;
  cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped);
  cudaHostAlloc(&from, n * sizeof *from, cudaHostAllocMapped);
  cudaMalloc(&to, n * sizeof *to), cudaMalloc(&x, sizeof *x);
  cudaMallocManaged(&managed, 1024);
  cudaStream_t stream, other;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
      cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaEvent_t event;
  cudaEventCreate(&event);
  std::vector<int> result(n);

  // The thread that launched writes the flag, after it has queued more work and used another stream.
  *flag = 0;
  cudaMemset(x, 0, sizeof *x);
  cudaDeviceSynchronize();
  after_flag<<<1, n, 0, stream>>>(flag, from, to, n);
  good("a stream that waits", cudaStreamQuery(stream) == cudaErrorNotReady);
  add<<<1, 1, 0, stream>>>(to, 1);
  cudaMemcpyAsync(result.data(), to, n * sizeof(int), cudaMemcpyDeviceToHost, stream);
  cudaEventRecord(event, stream);
  good("an event behind it", cudaEventQuery(event) == cudaErrorNotReady);
  add<<<1, 1, 0, other>>>(x, 5);
  good("another stream", cudaStreamSynchronize(other) == cudaSuccess);
  for (int k = 0; k < n; ++k) from[k] = k + 1;
  *flag = 1;
  cudaEventSynchronize(event);
  good("the stream is done", cudaStreamQuery(stream) == cudaSuccess);
  for (int k = 0; k < n; ++k) good("a number", result[k] == 2 * (k + 1) + (k == 0));

  // Another thread writes it while this one waits for the kernel.
  managed[0] = 0;
  std::thread writer([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    *(volatile int*)managed = 1;
  });
  after_flag<<<1, 32>>>(managed, from, to, 32);
  cudaDeviceSynchronize();
  writer.join();

  // Several threads open a gate.
  gate = 0;
  after_gate<<<1, 1>>>(to);
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k) threads.emplace_back([] { __atomic_fetch_add(&gate, 1, __ATOMIC_SEQ_CST); });
  for (std::thread& t : threads) t.join();
  cudaMemcpy(result.data(), to, sizeof(int), cudaMemcpyDeviceToHost);
  good("the gate", result[0] == 7);

  // A kernel that serves requests, while kernels in another stream run.
  int* words;
  cudaHostAlloc(&words, 2 * sizeof(int), cudaHostAllocMapped);
  words[0] = words[1] = 0;
  volatile int *request = words, *answer = words + 1;
  int* log;
  cudaMalloc(&log, 64 * sizeof(int));
  server<<<1, 1, 0, stream>>>(words, words + 1, log);
  for (int k = 1; k <= 5; ++k) {
    fill<<<1, 32, 0, other>>>(to, k);
    *request = k;
    while (*answer != k * k) {
    }
  }
  *request = -1;
  good("the server ends", cudaStreamSynchronize(stream) == cudaSuccess);
  cudaStreamSynchronize(other);

  // Many blocks wait for one flag.
  *flag = 0;
  cudaDeviceSynchronize();
  after_flag<<<8, 64, 0, stream>>>(flag, from, to, n);
  *flag = 1;
  good("many blocks", cudaStreamSynchronize(stream) == cudaSuccess);

  cudaEventDestroy(event), cudaStreamDestroy(stream), cudaStreamDestroy(other);
  cudaFree(to), cudaFree(x), cudaFree(managed), cudaFree(log);
  cudaFreeHost(flag), cudaFreeHost(from), cudaFreeHost(words);
  return failures != 0;
}
