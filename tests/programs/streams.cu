// Streams, events, callbacks and graphs: captured from streams that fork and join, and built node by node.
#include "check.h"

__global__ void add_to(int* x, int by, int n) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < n) x[k] += by;
}
__global__ void multiply(int* x, int by, int n) {
  for (int k = threadIdx.x; k < n; k += blockDim.x) x[k] *= by;
}
void CUDART_CB note(void* data) { ++*static_cast<int*>(data); }

int main() {
  const int n = 256;
  int *host, *x, *y;
  CHECK(cudaMallocHost(&host, n * sizeof(int)));
  CHECK(cudaMalloc(&x, n * sizeof(int)));
  CHECK(cudaMalloc(&y, n * sizeof(int)));
  for (int k = 0; k < n; ++k) host[k] = k;
  cudaStream_t s, t;
  cudaEvent_t begin, middle, end;
  CHECK(cudaStreamCreate(&s));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  for (cudaEvent_t* e : {&begin, &middle, &end}) CHECK(cudaEventCreate(e));
  int notes = 0;
  CHECK(cudaEventRecord(begin, s));
  CHECK(cudaMemcpyAsync(x, host, n * sizeof(int), cudaMemcpyHostToDevice, s));
  add_to<<<2, 128, 0, s>>>(x, 1, n);
  CHECK(cudaEventRecord(middle, s));
  CHECK(cudaStreamWaitEvent(t, middle, 0));
  multiply<<<1, 64, 0, t>>>(x, 2, n);
  CHECK(cudaLaunchHostFunc(t, note, &notes));
  CHECK(cudaMemcpyAsync(host, x, n * sizeof(int), cudaMemcpyDeviceToHost, t));
  CHECK(cudaEventRecord(end, t));
  CHECK(cudaEventSynchronize(end));
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  if (ms < 0 || notes != 1) return 1;
  for (int k = 0; k < n; ++k) require_near(host[k], 2 * (k + 1), 0, "an element");

  // A graph of two streams: y = (x + 3) * 2 while x is left alone, then both back.
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  CHECK(cudaMemcpyAsync(y, x, n * sizeof(int), cudaMemcpyDeviceToDevice, s));
  CHECK(cudaEventRecord(begin, s));
  CHECK(cudaStreamWaitEvent(t, begin, 0));
  add_to<<<2, 128, 0, t>>>(y, 3, n);
  CHECK(cudaEventRecord(middle, t));
  CHECK(cudaStreamWaitEvent(s, middle, 0));
  multiply<<<1, 64, 0, s>>>(y, 2, n);
  CHECK(cudaMemcpyAsync(host, y, n * sizeof(int), cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamEndCapture(s, &graph));
  require_near(host[1], 4, 0, "an element before the graph ran");
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  require_near(double(nodes), 4, 0, "the number of nodes");
  CHECK(cudaGraphInstantiate(&ready, graph, 0));
  for (int turn = 0; turn < 3; ++turn) CHECK(cudaGraphLaunch(ready, s));
  CHECK(cudaStreamSynchronize(s));
  for (int k = 0; k < n; ++k) require_near(host[k], 2 * (2 * (k + 1) + 3), 0, "an element of the graph");
  CHECK(cudaGraphExecDestroy(ready));
  CHECK(cudaGraphDestroy(graph));

  // Node by node, added in another order than they run in.
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t clear, work;
  cudaMemsetParams zero = {x, 0, 0, 4, size_t(n), 1};
  int by = 5, many = n;
  void* args[] = {&x, &by, &many};
  cudaKernelNodeParams kernel = {(void*)add_to, dim3(2), dim3(128), 0, args, nullptr};
  CHECK(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &zero));
  CHECK(cudaGraphAddKernelNode(&work, graph, &clear, 1, &kernel));
  CHECK(cudaGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  CHECK(cudaGraphLaunch(ready, 0));
  CHECK(cudaMemcpy(host, x, n * sizeof(int), cudaMemcpyDeviceToHost));
  for (int k = 0; k < n; ++k) require_near(host[k], 5, 0, "an element of the graph of nodes");
  CHECK(cudaGraphExecDestroy(ready));
  CHECK(cudaGraphDestroy(graph));
  for (cudaEvent_t e : {begin, middle, end}) CHECK(cudaEventDestroy(e));
  CHECK(cudaStreamDestroy(s));
  CHECK(cudaStreamDestroy(t));
  CHECK(cudaFreeHost(host));
  CHECK(cudaFree(x));
  CHECK(cudaFree(y));
  std::printf("streams passed\n");
}
