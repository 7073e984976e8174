// The part of compact.cuda.02_rows that 03_shared_tile takes over as it is.

constexpr int kLanes = 32, kRows = 8, kEach = 4;  // lanes and rows of a block, elements of a thread

/// A view in 32 bits: lengths and strides.
struct View {
  int d0, d1, d2, s0, s1, s2;
};

__global__ void __launch_bounds__(kLanes* kRows)
    rows(View v, const float* __restrict__ base, float* __restrict__ out) {
  const int k0 = int(blockIdx.x) * kLanes * kEach + int(threadIdx.x);
  for (int i = int(blockIdx.z); i < v.d0; i += int(gridDim.z))
    for (int j = int(blockIdx.y) * kRows + int(threadIdx.y); j < v.d1; j += int(gridDim.y) * kRows) {
      const float* const from = base + int64_t(i) * v.s0 + int64_t(j) * v.s1;
      float* const to = out + (int64_t(i) * v.d1 + j) * v.d2;
      float value[kEach] = {};
#pragma unroll
      for (int e = 0; e < kEach; ++e)
        if (k0 + kLanes * e < v.d2) value[e] = from[int64_t(k0 + kLanes * e) * v.s2];
#pragma unroll
      for (int e = 0; e < kEach; ++e)
        if (k0 + kLanes * e < v.d2) to[k0 + kLanes * e] = value[e];
    }
}

unsigned blocks(int64_t count, int64_t each) {
  const int64_t whole = (count + each - 1) / each;
  return unsigned(whole < 65535 ? whole : 65535);
}

/// Copies row by row; grid dimensions y and z have at most 65,535 blocks, which take later rows in turn.
void copy_rows(const View& v, const float* base, float* out) {
  const dim3 grid((unsigned(v.d2) + kLanes * kEach - 1) / (kLanes * kEach), blocks(v.d1, kRows),
                  blocks(v.d0, 1));
  cuda::launch(rows, grid, dim3(kLanes, kRows), 0, v, base, out);
}

View view_of(const Compact::Shape& s) {
  return {int(s.d0), int(s.d1), int(s.d2), int(s.s0), int(s.s1), int(s.s2)};
}
std::string supported(const Compact::Shape& s, const Host&) {
  for (const int64_t v : {s.d0, s.d1, s.d2, s.s0, s.s1, s.s2})
    if (v >= 1 << 30) return "a length or a stride of 2^30 or more";
  return "";
}
