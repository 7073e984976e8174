// wrong: use after free
// A graph frees what it has allocated, and a kernel behind the launch reads it.
__global__ void count(int* x) { x[threadIdx.x] = threadIdx.x; }
__global__ void twice(const int* x, int* y) {
  y[threadIdx.x] = 2 * x[threadIdx.x];  // found
}
int main() {
  cudaStream_t s;
  cudaStreamCreate(&s);
  int *x, *y;
  cudaMalloc(&y, 128);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  cudaMallocAsync(&x, 128, s);
  count<<<1, 32, 0, s>>>(x);
  cudaFreeAsync(x, s);
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, s);
  twice<<<1, 32, 0, s>>>(x, y);
  cudaStreamSynchronize(s);
  cudaFree(y);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(s);
}
