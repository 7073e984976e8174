// wrong: cudaMemset failed with cudaErrorInvalidValue
int main() {
  int on_host[4], *x;
  cudaMalloc(&x, 16);
  if (x != nullptr) cudaMemset(on_host, 0, 16);  // found
  cudaFree(x);
}
__global__ void unused() {}
