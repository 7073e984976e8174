// wrong: sum, which nothing sets, is part of a computation
// An array of sums, of a type that a template names.
template <class T>
__global__ void totals(const T* x, T* y, int n) {
  T sum[2];
  for (int k = 0; k < n; ++k) sum[k % 2] += x[k];  // found
  y[0] = sum[0];
  y[1] = sum[1];
}
int main() {
  long long *x, *y;
  cudaMalloc(&x, 80);
  cudaMalloc(&y, 16);
  cudaMemset(x, 0, 80);
  totals<<<1, 1>>>(x, y, 10);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
}
