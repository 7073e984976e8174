// wrong: is freed a second time
// The program frees what the graph has freed already.
int main() {
  cudaStream_t s;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  float* x;
  cudaStreamCreate(&s);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  cudaMallocAsync(&x, 64, s);
  cudaMemsetAsync(x, 0, 64, s);
  cudaFreeAsync(x, s);
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, s);
  cudaStreamSynchronize(s);
  cudaFree(x);  // found
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(s);
}
