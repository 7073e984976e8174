// wrong: uninitialized memory in host code
// The host sets the first bytes of managed memory, and adds up all.
#include <cstdio>
int main() {
  unsigned char* x;
  cudaMallocManaged(&x, 64);
  for (int k = 0; k < 40; ++k) x[k] = (unsigned char)(k + 1);
  int sum = 0;
  for (int k = 0; k < 64; ++k) sum += x[k];  // found
  std::printf("%d\n", sum);
  cudaFree(x);
}
