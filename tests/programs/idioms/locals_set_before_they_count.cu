// right
// Locals that are declared without a value and set before anything is stored, and parts of arrays and structures that
// are stored only where they were set.
#include <cmath>
struct Node {
  int left, right;
  float box[4];
};
struct Padded {
  char kind;
  double weight;
};
template <class T, int n>
struct Row {
  T v[n];
};
template <class T>
__device__ T largest(const T* x, int n) {
  T best, next;
  best = x[0];
  for (int k = 1; k < n; ++k) {
    next = x[k];
    if (next > best) best = next;
  }
  return best;
}
__global__ void use(const float* x, Node* nodes, Padded* padded, Row<int, 3>* rows, float* y, int n) {
  const int t = threadIdx.x;
  float sum, part[4];
  float4 v;
  Node node;
  Row<int, 3> row, *all = rows;
  Padded p;
  unsigned long long a, b;
  if (t < n) sum = x[t];
  for (int k = 0; k < 4; ++k) part[k] = t < n ? sum + k : 0;
  v.x = part[0], v.y = part[1], v.z = part[2], v.w = part[3];
  node.left = t;
  node.right = -t;
  for (float& edge : node.box) edge = v.w;
  nodes[t] = node;
  for (int k = 0; k < 3; ++k) row.v[k] = k;
  all[t] = row;
  p.kind = 'p';
  p.weight = largest(part, 4);
  padded[t] = p;
  a = t, b = 2;
  y[t] = float(a * b) + v.x;
}
__global__ void again(const Node* nodes, const Padded* padded, const Row<int, 3>* rows, float* y) {
  const int t = threadIdx.x;
  const Node node = nodes[31 - t];
  const Padded p = padded[31 - t];
  const Row<int, 3> row = rows[31 - t];
  y[t] += node.box[3] + float(p.weight) + row.v[2] + node.left;
}
int main() {
  float *x, *y, h[32];
  Node* nodes;
  Padded* padded;
  Row<int, 3>* rows;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&y, sizeof h);
  cudaMalloc(&nodes, 32 * sizeof *nodes);
  cudaMalloc(&padded, 32 * sizeof *padded);
  cudaMalloc(&rows, 32 * sizeof *rows);
  for (float& v : h) v = 1;
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  use<<<1, 32>>>(x, nodes, padded, rows, y, 20);
  again<<<1, 32>>>(nodes, padded, rows, y);
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  for (void* p : {(void*)x, (void*)y, (void*)nodes, (void*)padded, (void*)rows}) cudaFree(p);
  return h[31] == 62 + 0 + 4 + 4 + 2 + 0 && h[0] == 1 + 0 + 0 + 2 + 31 ? 0 : 3;
}
