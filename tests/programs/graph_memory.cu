// Graphs that allocate and free memory, by nodes and by captured calls, and that copy to and from variables.
#include "check.h"

__device__ int offset;

__global__ void square(int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = i * i + offset;
}

cudaMemAllocNodeParams parameters_of(size_t bytes) {
  cudaMemAllocNodeParams p{};
  p.bytesize = bytes;
  p.poolProps.allocType = cudaMemAllocationTypePinned;
  p.poolProps.location.type = cudaMemLocationTypeDevice;
  return p;
}

int main() {
  constexpr int n = 100;
  int result[n] = {}, shift = 7, back = 0;
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams p = parameters_of(sizeof result);
  cudaGraphNode_t room, set, kernel, copy, read, end;
  CHECK(cudaGraphAddMemAllocNode(&room, graph, nullptr, 0, &p));
  CHECK(cudaGraphAddMemcpyNodeToSymbol(&set, graph, &room, 1, offset, &shift, sizeof shift, 0,
                                       cudaMemcpyHostToDevice));
  int* x = static_cast<int*>(p.dptr);
  int count = n;
  void* arguments[] = {&x, &count};
  cudaKernelNodeParams k{};
  k.func = reinterpret_cast<void*>(square);
  k.gridDim = dim3(4);
  k.blockDim = dim3(32);
  k.kernelParams = arguments;
  CHECK(cudaGraphAddKernelNode(&kernel, graph, &set, 1, &k));
  CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, result, x, sizeof result, cudaMemcpyDeviceToHost));
  CHECK(cudaGraphAddMemcpyNodeFromSymbol(&read, graph, &kernel, 1, &back, offset, sizeof back, 0,
                                         cudaMemcpyDeviceToHost));
  CHECK(cudaGraphAddMemFreeNode(&end, graph, &copy, 1, x));
  void* freed = nullptr;
  CHECK(cudaGraphMemFreeNodeGetParams(end, &freed));
  CHECK(cudaGraphMemAllocNodeGetParams(room, &p));
  require_near(freed == x && p.dptr == x && p.bytesize == sizeof result, 1, 0, "what the nodes say");
  cudaGraph_t clone;
  if (cudaGraphClone(&clone, graph) != cudaErrorNotSupported) return 4;
  if (cudaGetLastError() != cudaErrorNotSupported) return 5;
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (shift = 7; shift < 10; ++shift) {
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaDeviceSynchronize());
    require_near(result[n - 1], (n - 1) * (n - 1) + shift, 0, "what a launch brings back");
    require_near(back, shift, 0, "the variable");
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));

  // Captured calls. The graph does not free what it allocates, so only one launch may do so, until the program frees it or
  // the graph does at its next launch.
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMallocAsync(&x, sizeof result, stream));
  square<<<4, 32, 0, stream>>>(x, n);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  if (cudaGraphLaunch(exec, stream) != cudaErrorInvalidValue) return 6;
  if (cudaGetLastError() != cudaErrorInvalidValue) return 7;
  CHECK(cudaMemcpyAsync(result, x, sizeof result, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaFreeAsync(x, stream));
  CHECK(cudaStreamSynchronize(stream));
  require_near(result[3], 9 + 9, 0, "what outlives a launch");
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaFree(x));
  cudaGraphExec_t frees;
  CHECK(cudaGraphInstantiate(&frees, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  for (int launch = 0; launch < 3; ++launch) CHECK(cudaGraphLaunch(frees, stream));
  unsigned long long used = 0;
  CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
  require_near(double(used), sizeof result, 0, "memory in use");
  CHECK(cudaFreeAsync(x, stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphExecDestroy(frees));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  std::printf("graph_memory passed\n");
}
