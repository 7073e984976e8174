// wrong: which has the value of a variable that was never set
// One member of a local structure is never set. It is stored with the others, copied once more, and read as a whole.
struct Particle {
  float position[3];
  char kind;
  double mass;
};
__global__ void place(Particle* p) {
  Particle mine;
  for (int k = 0; k < 3; ++k) mine.position[k] = k;
  mine.kind = 'p';
  p[threadIdx.x] = mine;
}
__global__ void reverse(const Particle* from, Particle* to) {
  to[31 - threadIdx.x] = from[threadIdx.x];  // found
}
int main() {
  Particle *a, *b;
  cudaMalloc(&a, 32 * sizeof(Particle));
  cudaMalloc(&b, 32 * sizeof(Particle));
  place<<<1, 32>>>(a);
  reverse<<<1, 32>>>(a, b);
  cudaDeviceSynchronize();
  cudaFree(a);
  cudaFree(b);
}
