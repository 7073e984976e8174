// refused: loop_in_a_graph.cu:9: cudaGraphConditionalHandleCreate of graphs with conditional nodes is not on the host
__global__ void body(cudaGraphConditionalHandle handle, int* n) {
  if (--*n == 0) cudaGraphSetConditional(handle, 0);
}
int main() {
  cudaGraph_t graph;
  cudaGraphConditionalHandle handle;
  cudaGraphCreate(&graph, 0);
  cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault);
  cudaGraphNodeParams parameters = {cudaGraphNodeTypeConditional};
  parameters.conditional.handle = handle;
  parameters.conditional.type = cudaGraphCondTypeWhile;
  cudaGraphNode_t node;
  cudaGraphAddNode(&node, graph, nullptr, 0, &parameters);
}
