// right
// The buffer is larger than what is in it; the program reads the filled part, then uses its memory for something else.
#include <cstdlib>
__global__ void keep_even(const int* x, int n, int* y, int* count) {
  for (int k = 0; k < n; ++k)
    if (x[k] % 2 == 0) y[(*count)++] = x[k];
}
int main() {
  int h[100], *x, *y, *count, many = 0;
  for (int k = 0; k < 100; ++k) h[k] = 3 * k;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&y, sizeof h);
  cudaMalloc(&count, 4);
  cudaMemset(count, 0, 4);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  keep_even<<<1, 1>>>(x, 100, y, count);
  int* result = static_cast<int*>(std::malloc(sizeof h));
  cudaMemcpy(result, y, sizeof h, cudaMemcpyDeviceToHost);
  cudaMemcpy(&many, count, 4, cudaMemcpyDeviceToHost);
  int wrong = many != 50;
  for (int k = 0; k < many; ++k) wrong += result[k] != 6 * k;
  for (int k = 0; k < 100; ++k) result[k] = k;
  for (int k = 0; k < 100; ++k) wrong += result[k] != k;
  std::free(result);
  cudaFree(x);
  cudaFree(y);
  cudaFree(count);
  return wrong == 0 ? 0 : 3;
}
