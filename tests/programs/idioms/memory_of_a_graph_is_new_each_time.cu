// wrong: uninitialized memory
// The second launch reads what the first has left in the memory of the graph: it is another allocation.
__global__ void add(int* x, int* sum, int* turn) {
  if (*turn == 0) x[threadIdx.x] = 1;
  sum[threadIdx.x] += x[threadIdx.x];  // found
  __syncthreads();
  if (threadIdx.x == 0) *turn = 1;
}
int main() {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t room, work, end;
  cudaGraphCreate(&graph, 0);
  cudaMemAllocNodeParams p{};
  p.bytesize = 128;
  p.poolProps.allocType = cudaMemAllocationTypePinned;
  p.poolProps.location.type = cudaMemLocationTypeDevice;
  cudaGraphAddMemAllocNode(&room, graph, nullptr, 0, &p);
  int *sum, *turn;
  cudaMalloc(&sum, 128);
  cudaMalloc(&turn, 4);
  cudaMemset(sum, 0, 128);
  cudaMemset(turn, 0, 4);
  void* arguments[] = {&p.dptr, &sum, &turn};
  cudaKernelNodeParams k{};
  k.func = reinterpret_cast<void*>(add);
  k.gridDim = dim3(1);
  k.blockDim = dim3(32);
  k.kernelParams = arguments;
  cudaGraphAddKernelNode(&work, graph, &room, 1, &k);
  cudaGraphAddMemFreeNode(&end, graph, &work, 1, p.dptr);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, 0);
  cudaGraphLaunch(exec, 0);
  cudaDeviceSynchronize();
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaFree(sum);
  cudaFree(turn);
}
