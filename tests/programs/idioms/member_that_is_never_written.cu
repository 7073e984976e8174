// wrong: uninitialized memory
struct Hit {
  char kind;
  float t;
  double weight;
};
__global__ void fill(Hit* h) {
  h[threadIdx.x].kind = 'h';
  h[threadIdx.x].t = 1;
}
__global__ void copy(const Hit* from, Hit* to) {
  to[threadIdx.x] = from[threadIdx.x];  // found
}
int main() {
  Hit *a, *b;
  cudaMalloc(&a, 32 * sizeof(Hit));
  cudaMalloc(&b, 32 * sizeof(Hit));
  fill<<<1, 32>>>(a);
  copy<<<1, 32>>>(a, b);
  cudaDeviceSynchronize();
  cudaFree(a);
  cudaFree(b);
}
