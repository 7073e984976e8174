// right
// Buffers of which only a part was set, copied as a whole and read as far as they were set: texts, alone and in structures,
// structures with padding, memory that was filled in parts, and flags.
#include <cstdio>
#include <cstring>
struct Person {
  int id;
  char name[16];
  bool old;
};
struct Small {
  char kind;
  short size;
  char tail[3];
};
__device__ void set(char* to, const char* from) {
  while ((*to++ = *from++) != 0) {
  }
}
__global__ void make(Person* people, Small* small, char* lines) {
  const int t = threadIdx.x;
  __shared__ char text[32][20];
  Person p;
  Small s;
  char line[20], rest[7];
  p.id = t;
  set(p.name, t % 2 == 0 ? "ab" : "");
  p.old = t > 5;
  s.kind = 'k', s.size = 3;
  for (char& c : s.tail) c = 't';
  set(line, t % 2 == 0 ? "a line" : "");
  rest[0] = 'r', rest[1] = 0;
  people[t] = p;
  small[t] = s;
  for (int k = 0; k < 20; ++k) text[t][k] = line[k];
  __syncthreads();
  for (int k = 0; k < 20; ++k) lines[20 * t + k] = text[31 - t][k];
  if (rest[0] != 'r') lines[20 * t] = rest[1];
}
__global__ void reverse(const Person* from, Person* to, const Small* small, Small* to_small,
                        const char* lines, char* to_lines) {
  const int t = threadIdx.x;
  to[31 - t] = from[t];
  to_small[31 - t] = small[t];
  memcpy(to_lines + 20 * (31 - t), lines + 20 * t, 20);
}
__global__ void upper(const char* from, char* to) {
  to[threadIdx.x] = from[threadIdx.x] >= 'a' ? from[threadIdx.x] - 32 : 0;
}
__global__ void clear(short* parts) { memset(parts + 12 * threadIdx.x, 0, 24); }
__global__ void count(const bool* flags, const short* parts, int* sum) {
  bool mine[10];
  for (int k = 0; k < 10; ++k)
    if (k <= int(threadIdx.x)) mine[k] = flags[k];
  for (int k = 0; k < 10; ++k)
    if (k <= int(threadIdx.x)) atomicAdd(sum, mine[k] + parts[k]);
}
int main() {
  Person *a, *b, h[32];
  Small *c, *d, hs[32];
  char *lines, *to_lines, hl[640], *managed, *upped, hu[32];
  bool* flags;
  short* parts;
  int *sum, total, failures = 0;
  cudaMalloc(&a, sizeof h), cudaMalloc(&b, sizeof h), cudaMalloc(&c, sizeof hs), cudaMalloc(&d, sizeof hs);
  cudaMalloc(&lines, 640), cudaMalloc(&to_lines, 640), cudaMallocManaged(&managed, 32),
      cudaMalloc(&upped, 32);
  cudaMallocManaged(&flags, 32), cudaMalloc(&parts, 64), cudaMalloc(&sum, 4);
  make<<<1, 32>>>(a, c, lines);
  reverse<<<1, 32>>>(a, b, c, d, lines, to_lines);
  cudaMemcpy(h, b, sizeof h, cudaMemcpyDeviceToHost);
  cudaMemcpy(hs, d, sizeof hs, cudaMemcpyDeviceToHost);
  cudaMemcpy(hl, to_lines, sizeof hl, cudaMemcpyDeviceToHost);
  for (int k = 0; k < 32; ++k) {
    const Person one = h[k];
    const Small small = hs[k];
    char line[20];
    for (int i = 0; i < 20; ++i) line[i] = hl[20 * k + i];
    failures += one.id != 31 - k || std::strcmp(one.name, (31 - k) % 2 == 0 ? "ab" : "") != 0 ||
                one.old != (31 - k > 5);
    failures += small.kind != 'k' || small.size != 3 || small.tail[2] != 't';
    failures += std::strcmp(line, k % 2 == 0 ? "a line" : "") != 0;
  }
  std::strcpy(managed, "hello");
  upper<<<1, 32>>>(managed, upped);
  cudaMemcpy(hu, upped, 32, cudaMemcpyDeviceToHost);
  failures += std::strcmp(hu, "HELLO") != 0;
  char copied[32];
  for (int k = 0; k < 32; ++k) copied[k] = managed[k];
  failures += std::strcmp(copied, "hello") != 0;
  for (int k = 0; k < 10; ++k) flags[k] = k % 2 == 0;
  clear<<<1, 1>>>(parts);
  cudaMemset((char*)parts + 2, 0, 5);
  cudaMemset(sum, 0, 4);
  count<<<1, 32>>>(flags, parts, sum);
  cudaMemcpy(&total, sum, 4, cudaMemcpyDeviceToHost);
  failures += total != 1 + 1 + 2 + 2 + 3 + 3 + 4 + 4 + 5 + 23 * 5;
  for (void* p : {(void*)a, (void*)b, (void*)c, (void*)d, (void*)lines, (void*)to_lines, (void*)managed,
                  (void*)upped, (void*)flags, (void*)parts, (void*)sum})
    cudaFree(p);
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 3;
}
