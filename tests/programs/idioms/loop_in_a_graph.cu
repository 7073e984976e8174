// right
// Nodes of all kinds by one function; conditional nodes: a loop, if and else, switch, one in another, and values that every launch
// begins with.
#include <cstdio>
__global__ void count_down(cudaGraphConditionalHandle handle, int* n, int* rounds) {
  ++*rounds;
  if (--*n == 0) cudaGraphSetConditional(handle, 0);
}
__global__ void choose(cudaGraphConditionalHandle handle, const int* n, unsigned limit) {
  cudaGraphSetConditional(handle, *n > 0 ? limit : 0);
}
__global__ void add(int* to, int by) { *to += by; }

static cudaGraphNode_t kernel(cudaGraph_t graph, cudaGraphNode_t after, void* function, void** arguments) {
  cudaGraphNodeParams p = {cudaGraphNodeTypeKernel};
  p.kernel.func = function;
  p.kernel.gridDim = p.kernel.blockDim = dim3(1);
  p.kernel.kernelParams = arguments;
  cudaGraphNode_t node;
  cudaGraphAddNode(&node, graph, &after, after != nullptr, &p);
  return node;
}
static cudaGraph_t* conditional(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle handle,
                                cudaGraphConditionalNodeType type, unsigned size, cudaGraphNode_t* node) {
  cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};
  p.conditional.handle = handle;
  p.conditional.type = type;
  p.conditional.size = size;
  if (cudaGraphAddNode(node, graph, &after, after != nullptr, &p) != cudaSuccess) return nullptr;
  return p.conditional.phGraph_out;
}

int main() {
  cudaGraph_t graph;
  cudaGraphConditionalHandle loop, branch, which;
  cudaGraphNode_t copied, looped, chosen, branched, switched, last;
  int *n, start = 3, h[4];
  cudaMalloc(&n, sizeof h);
  int *rounds = n + 1, *branches = n + 2, *switches = n + 3;
  cudaMemset(n, 0, sizeof h);
  cudaGraphCreate(&graph, 0);
  cudaGraphConditionalHandleCreate(&loop, graph, 1, cudaGraphCondAssignDefault);
  cudaGraphConditionalHandleCreate(&branch, graph, 0, cudaGraphCondAssignDefault);

  cudaGraphNodeParams copy = {cudaGraphNodeTypeMemcpy};
  copy.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(&start, 4, 4, 1);
  copy.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(n, 4, 4, 1);
  copy.memcpy.copyParams.extent = make_cudaExtent(4, 1, 1);
  copy.memcpy.copyParams.kind = cudaMemcpyHostToDevice;
  cudaGraphAddNode(&copied, graph, nullptr, 0, &copy);

  cudaGraph_t body = *conditional(graph, copied, loop, cudaGraphCondTypeWhile, 1, &looped);
  void* of_count[] = {&loop, &n, &rounds};
  const cudaGraphNode_t counted = kernel(body, nullptr, (void*)count_down, of_count);
  // In the loop a switch by what is left: 2, then 1, then 0.
  cudaGraphConditionalHandleCreate(&which, body, 7, cudaGraphCondAssignDefault);
  unsigned two = 2;
  void* of_which[] = {&which, &n, &two};
  const cudaGraphNode_t decided = kernel(body, counted, (void*)choose, of_which);
  cudaGraph_t* cases = conditional(body, decided, which, cudaGraphCondTypeSwitch, 3, &switched);
  int one = 1, hundred = 100;
  void *of_zero[] = {&switches, &one}, *of_two[] = {&switches, &hundred};
  kernel(cases[0], nullptr, (void*)add, of_zero);
  kernel(cases[2], nullptr, (void*)add, of_two);

  unsigned limit = 1;
  void* of_choose[] = {&branch, &n, &limit};
  chosen = kernel(graph, looped, (void*)choose, of_choose);
  cudaGraph_t* sides = conditional(graph, chosen, branch, cudaGraphCondTypeIf, 2, &branched);
  int ten = 10;
  void *of_then[] = {&branches, &one}, *of_else[] = {&branches, &ten};
  kernel(sides[0], nullptr, (void*)add, of_then);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaStreamBeginCaptureToGraph(stream, sides[1], nullptr, nullptr, 0, cudaStreamCaptureModeGlobal);
  add<<<1, 1, 0, stream>>>(branches, ten);
  cudaStreamEndCapture(stream, &sides[1]);
  (void)of_else;
  cudaGraphNodeParams empty = {cudaGraphNodeTypeEmpty};
  cudaGraphAddNode(&last, graph, &branched, 1, &empty);

  cudaGraphNode_t again;
  const bool refused = conditional(graph, nullptr, loop, cudaGraphCondTypeWhile, 1, &again) == nullptr;
  cudaGetLastError();
  cudaGraphExec_t runnable;
  cudaGraphInstantiate(&runnable, graph, 0);
  for (int times = 0; times < 2; ++times) cudaGraphLaunch(runnable, stream);
  cudaStreamSynchronize(stream);
  cudaMemcpy(h, n, sizeof h, cudaMemcpyDeviceToHost);
  cudaGraphExecDestroy(runnable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  cudaFree(n);
  std::printf("%d %d %d %d\n", h[0], h[1], h[2], h[3]);
  return refused && h[0] == 0 && h[1] == 6 && h[2] == 20 && h[3] == 402 ? 0 : 3;
}
