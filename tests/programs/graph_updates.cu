// Graphs whose nodes get other parameters after they have been instantiated, and that take those of another graph.
#include "check.h"

__global__ void add(int* x, int value) { x[threadIdx.x] += value; }
__global__ void multiply(int* x, int value) { x[threadIdx.x] *= value; }

int first_of(const int* x) {
  int value = 0;
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

int main() {
  int* x;
  CHECK(cudaMalloc(&x, 32 * sizeof(int)));
  CHECK(cudaMemset(x, 0, 32 * sizeof(int)));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  int value = 3;
  void* arguments[] = {&x, &value};
  cudaKernelNodeParams parameters{};
  parameters.func = reinterpret_cast<void*>(add);
  parameters.gridDim = dim3(1);
  parameters.blockDim = dim3(32);
  parameters.kernelParams = arguments;
  cudaGraph_t graph;
  cudaGraphNode_t first, second;
  cudaGraphExec_t exec;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &parameters));
  value = 10;
  CHECK(cudaGraphAddKernelNode(&second, graph, &first, 1, &parameters));
  CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  require_near(first_of(x), 13, 0, "what a graph makes");
  // Parameters of the instantiated graph: the second kernel multiplies by 2. The graph itself stays as it
  // was.
  value = 2;
  parameters.func = reinterpret_cast<void*>(multiply);
  CHECK(cudaGraphExecKernelNodeSetParams(exec, second, &parameters));
  CHECK(cudaGraphLaunch(exec, stream));
  require_near(first_of(x), 32, 0, "what it makes with another node");
  // Parameters of the graph: seen by graphs instantiated or updated after that.
  value = 5;
  CHECK(cudaGraphKernelNodeSetParams(first, &parameters));
  CHECK(cudaGraphLaunch(exec, stream));
  require_near(first_of(x), 70, 0, "what it makes before it is updated");
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(exec, graph, &info));
  require_near(info.result, cudaGraphExecUpdateSuccess, 0, "the result of an update");
  CHECK(cudaGraphLaunch(exec, stream));
  require_near(first_of(x), 360, 0, "what it makes after it");
  // A graph of another shape is refused, and changes nothing.
  cudaGraph_t other;
  CHECK(cudaGraphCreate(&other, 0));
  if (cudaGraphExecUpdate(exec, other, &info) != cudaErrorGraphExecUpdateFailure) return 4;
  if (cudaGetLastError() != cudaErrorGraphExecUpdateFailure) return 5;
  require_near(info.result, cudaGraphExecUpdateErrorTopologyChanged, 0, "the result of an update that fails");
  CHECK(cudaGraphLaunch(exec, stream));
  require_near(first_of(x), 1810, 0, "what it makes after an update that failed");
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(other));
  CHECK(cudaStreamDestroy(stream));
  cudaFree(x);
  std::printf("graph_updates passed\n");
}
