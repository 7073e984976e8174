// wrong: which has the value of a variable that was never set
// An array of bytes that is no multiple of a word is never set in some threads. It is stored byte by byte, at any alignment.
__global__ void pack(const int* x, unsigned char* packed) {
  unsigned char mine[6];
  if (x[threadIdx.x] > 0)
    for (int k = 0; k < 6; ++k) mine[k] = (unsigned char)(x[threadIdx.x] >> k);
  for (int k = 0; k < 6; ++k) packed[6 * threadIdx.x + k] = mine[k];
}
__global__ void add(const unsigned char* packed, int* sum) {
  int mine = 0;
  for (int k = 0; k < 6; ++k) mine += packed[6 * threadIdx.x + k];  // found
  atomicAdd(sum, mine);
}
int main() {
  int h[32], *x, *sum;
  unsigned char* packed;
  for (int k = 0; k < 32; ++k) h[k] = k == 17 ? -1 : k + 1;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&packed, 6 * 32);
  cudaMalloc(&sum, 4);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(sum, 0, 4);
  pack<<<1, 32>>>(x, packed);
  add<<<1, 32>>>(packed, sum);
  cudaDeviceSynchronize();
  for (void* p : {(void*)x, (void*)packed, (void*)sum}) cudaFree(p);
}
