// right
// Decoupled look-back: each block adds the numbers of its tile, passes the sum on in a word with its status, and looks back over the
// words of earlier tiles, a warp's width at a time, until one has the whole sum. Words of 8 and of 16 bytes by vectors in PTX, relaxed
// or volatile; status and sums apart, by release and acquire or by fences.
#include <cstdio>
constexpr int kTile = 64, kBlocks = 90, kPad = 32, n = kTile * kBlocks;
constexpr unsigned kInvalid = 99, kPartial = 100, kWhole = 101;
__device__ unsigned tickets[5];

struct Pair {  // v2.u32
  using Word = uint2;
  Word* words;
  __device__ static Word load(const Word* p) {
    Word w;
    asm volatile("ld.relaxed.gpu.v2.u32 {%0, %1}, [%2];" : "=r"(w.x), "=r"(w.y) : "l"(p) : "memory");
    return w;
  }
  __device__ void set(int tile, unsigned status, unsigned sum) {
    asm volatile("st.relaxed.gpu.v2.u32 [%0], {%1, %2};" ::"l"(words + kPad + tile), "r"(status), "r"(sum)
                 : "memory");
  }
  __device__ void get(int tile, unsigned& status, unsigned& sum) {
    Word w = load(words + kPad + tile);
    while (__any_sync(~0u, w.x == kInvalid)) {
      __threadfence_block();
      w = load(words + kPad + tile);
    }
    status = w.x, sum = w.y;
  }
};
struct Wide {  // v2.u64
  using Word = ulonglong2;
  Word* words;
  __device__ static Word load(const Word* p) {
    Word w;
    asm volatile("ld.relaxed.gpu.v2.u64 {%0, %1}, [%2];" : "=l"(w.x), "=l"(w.y) : "l"(p) : "memory");
    return w;
  }
  __device__ void set(int tile, unsigned status, unsigned sum) {
    const unsigned long long a = status, b = sum;
    asm volatile("st.relaxed.gpu.v2.u64 [%0], {%1, %2};" ::"l"(words + kPad + tile), "l"(a), "l"(b)
                 : "memory");
  }
  __device__ void get(int tile, unsigned& status, unsigned& sum) {
    Word w = load(words + kPad + tile);
    while (__any_sync(~0u, w.x == kInvalid)) w = load(words + kPad + tile);
    status = unsigned(w.x), sum = unsigned(w.y);
  }
};
struct Four {  // v4.u32, volatile
  using Word = uint4;
  Word* words;
  __device__ static Word load(const Word* p) {
    Word w;
    asm volatile("ld.volatile.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w)
                 : "l"(p));
    return w;
  }
  __device__ void set(int tile, unsigned status, unsigned sum) {
    asm volatile("st.volatile.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(words + kPad + tile), "r"(status),
                 "r"(sum), "r"(0), "r"(0));
  }
  __device__ void get(int tile, unsigned& status, unsigned& sum) {
    Word w;
    do w = load(words + kPad + tile);
    while (__any_sync(~0u, w.x == kInvalid));
    status = w.x, sum = w.y;
  }
};
struct Released {  // status and sums apart
  using Word = unsigned;
  Word* words;
  unsigned *partial, *whole;
  __device__ void set(int tile, unsigned status, unsigned sum) {
    unsigned* const at = (status == kPartial ? partial : whole) + kPad + tile;
    asm volatile("st.cg.u32 [%0], %1;" ::"l"(at), "r"(sum));
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(words + kPad + tile), "r"(status) : "memory");
  }
  __device__ void get(int tile, unsigned& status, unsigned& sum) {
    do {
      asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(status) : "l"(words + kPad + tile) : "memory");
      __threadfence();
    } while (__any_sync(~0u, status == kInvalid));
    sum = 0;
    if (status == kPartial) asm volatile("ld.cg.u32 %0, [%1];" : "=r"(sum) : "l"(partial + kPad + tile));
    if (status == kWhole) asm volatile("ld.cg.u32 %0, [%1];" : "=r"(sum) : "l"(whole + kPad + tile));
  }
};
struct Fenced {  // the same by volatile and fences
  using Word = unsigned;
  Word* words;
  unsigned *partial, *whole;
  __device__ void set(int tile, unsigned status, unsigned sum) {
    (status == kPartial ? partial : whole)[kPad + tile] = sum;
    __threadfence();
    *static_cast<volatile unsigned*>(words + kPad + tile) = status;
  }
  __device__ void get(int tile, unsigned& status, unsigned& sum) {
    do status = *static_cast<volatile unsigned*>(words + kPad + tile);
    while (__any_sync(~0u, status == kInvalid));
    __threadfence();
    sum = status == kPartial ? partial[kPad + tile] : status == kWhole ? whole[kPad + tile] : 0;
  }
};

template <class State>
__global__ void begin(State state) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kPad + kBlocks) return;
  typename State::Word w{};
  reinterpret_cast<unsigned&>(w) = i < kPad ? kWhole : kInvalid;
  state.words[i] = w;
}
template <class State>
__global__ void scan(State state, int which, const unsigned* x, unsigned* y) {
  __shared__ unsigned sums[kTile], before;
  __shared__ int tile;
  const int t = threadIdx.x;
  if (t == 0) tile = int(atomicAdd(&tickets[which], 1));
  __syncthreads();
  sums[t] = x[tile * kTile + t];
  __syncthreads();
  for (int by = 1; by < kTile; by *= 2) {
    const unsigned v = t >= by ? sums[t - by] : 0;
    __syncthreads();
    sums[t] += v;
    __syncthreads();
  }
  if (t < 32) {
    const unsigned own = sums[kTile - 1];
    if (t == 0 && tile > 0) state.set(tile, kPartial, own);
    unsigned all = 0;
    for (int at = tile - 1 - t; tile > 0; at -= 32) {
      unsigned status, sum;
      state.get(at, status, sum);
      const unsigned whole = __ballot_sync(~0u, status == kWhole);
      const int last = whole != 0 ? __ffs(int(whole)) - 1 : 31;
      unsigned part = t <= last ? sum : 0;
      for (int by = 16; by > 0; by /= 2) part += __shfl_xor_sync(~0u, part, by);
      all += part;
      if (whole != 0) break;
    }
    if (t == 0) {
      state.set(tile, kWhole, all + own);
      before = all;
    }
  }
  __syncthreads();
  y[tile * kTile + t] = sums[t] + before;
}

int main() {
  unsigned *x, *y, *partial, *whole, h[n], wrong = 0;
  void* words;
  cudaMalloc(&x, sizeof h), cudaMalloc(&y, sizeof h), cudaMalloc(&words, (kPad + kBlocks) * 16);
  cudaMalloc(&partial, (kPad + kBlocks) * 4), cudaMalloc(&whole, (kPad + kBlocks) * 4);
  cudaMemset(whole, 0, kPad * 4);
  for (int k = 0; k < n; ++k) h[k] = k % 11;
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  const auto check = [&](const char* what) {
    cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
    cudaMemset(y, 0, sizeof h);
    unsigned sum = 0;
    for (int k = 0; k < n; ++k)
      if (h[k] != (sum += k % 11)) {
        ++wrong, std::printf("%s: number %d is %u, not %u\n", what, k, h[k], sum);
        break;
      }
  };
#define RUN(State, which, ...)                              \
  begin<<<1, kPad + kBlocks>>>(State __VA_ARGS__);          \
  scan<<<kBlocks, kTile>>>(State __VA_ARGS__, which, x, y); \
  check(#State)
  RUN(Pair, 0, {static_cast<uint2*>(words)});
  RUN(Wide, 1, {static_cast<ulonglong2*>(words)});
  RUN(Four, 2, {static_cast<uint4*>(words)});
  RUN(Released, 3, {static_cast<unsigned*>(words), partial, whole});
  RUN(Fenced, 4, {static_cast<unsigned*>(words), partial, whole});
  cudaFree(x), cudaFree(y), cudaFree(words), cudaFree(partial), cudaFree(whole);
  return wrong == 0 ? 0 : 3;
}
