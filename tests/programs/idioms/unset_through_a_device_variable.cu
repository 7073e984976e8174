// wrong: the copy brings bytes 8 to 15 of __device__ results to the host
// A value that was never set goes through a function and a variable of the device to the host.
__device__ int results[4];
__device__ void put(const int* from, int* to) {
  for (int k = 0; k < 4; ++k) to[k] = from[k];
}
__global__ void fill() {
  int a[4];
  a[0] = a[1] = 1;
  put(a, results);
}
int main() {
  int h[4];
  fill<<<1, 1>>>();
  cudaMemcpyFromSymbol(h, results, sizeof h);  // found
  return h[3] == 5;
}
