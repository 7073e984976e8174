// Two kernels of a merge sort whose counts on GPUs are public (docs/cuda-on-the-host.md): runs of 1,024 keys
// sorted in shared memory by doubling merges, and the first merge of such runs in intervals that a sample of
// every 128th key bounds. Keys and values of 32 bits. The host computes the ranks in between, which the
// sample finds with its own kernels.
//
// merge_sort [KEYS [sort | merge]]: a multiple of 2,048, at most 2^22; which of the two kernels; both by
// default.
#include <algorithm>
#include <vector>

#include "../check.h"

constexpr unsigned kRun = 1024, kSample = 128, kMerged = 1024;

/// How many of n sorted keys come before `key`; those equal to it do where `after_equal`. `step`: a power of two, at least n.
static __device__ unsigned rank_among(unsigned key, const unsigned* keys, unsigned n, unsigned step,
                                      bool after_equal) {
  if (n == 0) return 0;
  unsigned rank = 0;
  for (; step > 0; step >>= 1) {
    const unsigned next = umin(rank + step, n);
    if (after_equal ? keys[next - 1] <= key : keys[next - 1] < key) rank = next;
  }
  return rank;
}

__global__ void sort_runs(unsigned* to_keys, unsigned* to_values, const unsigned* from_keys,
                          const unsigned* from_values) {
  __shared__ unsigned keys[kRun];
  __shared__ unsigned values[kRun];
  const unsigned t = threadIdx.x, at = blockIdx.x * kRun + t;
  keys[t] = from_keys[at];
  values[t] = from_values[at];
  keys[t + kRun / 2] = from_keys[at + kRun / 2];
  values[t + kRun / 2] = from_values[at + kRun / 2];
  for (unsigned half = 1; half < kRun; half <<= 1) {
    const unsigned own = t & (half - 1);
    unsigned* const run = keys + 2 * (t - own);
    unsigned* const with = values + 2 * (t - own);
    __syncthreads();
    const unsigned key_a = run[own], value_a = with[own];
    const unsigned key_b = run[own + half], value_b = with[own + half];
    const unsigned to_a = rank_among(key_a, run + half, half, half, false) + own;
    const unsigned to_b = rank_among(key_b, run, half, half, true) + own;
    __syncthreads();
    run[to_a] = key_a;
    with[to_a] = value_a;
    run[to_b] = key_b;
    with[to_b] = value_b;
  }
  __syncthreads();
  to_keys[at] = keys[t];
  to_values[at] = values[t];
  to_keys[at + kRun / 2] = keys[t + kRun / 2];
  to_values[at + kRun / 2] = values[t + kRun / 2];
}

/// One interval a block: at most kSample keys of either run.
__global__ void merge_intervals(unsigned* to_keys, unsigned* to_values, const unsigned* from_keys,
                                const unsigned* from_values, const unsigned* limits_a,
                                const unsigned* limits_b, unsigned run, unsigned n) {
  __shared__ unsigned keys[2 * kSample];
  __shared__ unsigned values[2 * kSample];
  __shared__ unsigned begin_a, begin_b, many_a, many_b, to_a, to_b;
  const unsigned t = threadIdx.x;
  const unsigned interval = blockIdx.x & (2 * run / kSample - 1), pair = (blockIdx.x - interval) * kSample;
  from_keys += pair;
  from_values += pair;
  to_keys += pair;
  to_values += pair;
  if (t == 0) {
    const unsigned in_b = umin(run, n - pair - run), intervals = run / kSample + in_b / kSample;
    begin_a = limits_a[blockIdx.x];
    begin_b = limits_b[blockIdx.x];
    const unsigned end_a = interval + 1 < intervals ? limits_a[blockIdx.x + 1] : run;
    const unsigned end_b = interval + 1 < intervals ? limits_b[blockIdx.x + 1] : in_b;
    many_a = end_a - begin_a;
    many_b = end_b - begin_b;
    to_a = begin_a + begin_b;
    to_b = to_a + many_a;
  }
  __syncthreads();
  if (t < many_a) {
    keys[t] = from_keys[begin_a + t];
    values[t] = from_values[begin_a + t];
  }
  if (t < many_b) {
    keys[t + kSample] = from_keys[run + begin_b + t];
    values[t + kSample] = from_values[run + begin_b + t];
  }
  __syncthreads();
  unsigned key_a, value_a, rank_a, key_b, value_b, rank_b;
  const unsigned own_a = many_a, own_b = many_b;
  if (t < own_a) {
    key_a = keys[t];
    value_a = values[t];
    rank_a = rank_among(key_a, keys + kSample, own_b, kSample, false) + t;
  }
  if (t < own_b) {
    key_b = keys[t + kSample];
    value_b = values[t + kSample];
    rank_b = rank_among(key_b, keys, own_a, kSample, true) + t;
  }
  __syncthreads();
  if (t < own_a) {
    keys[rank_a] = key_a;
    values[rank_a] = value_a;
  }
  if (t < own_b) {
    keys[rank_b] = key_b;
    values[rank_b] = value_b;
  }
  __syncthreads();
  if (t < many_a) {
    to_keys[to_a + t] = keys[t];
    to_values[to_a + t] = values[t];
  }
  if (t < many_b) {
    to_keys[to_b + t] = keys[many_a + t];
    to_values[to_b + t] = values[many_a + t];
  }
}

/// Where intervals begin in both runs of each pair: ranks of each run's samples in itself and in the other, in order.
static void limits_of(const std::vector<unsigned>& keys, std::vector<unsigned>& a, std::vector<unsigned>& b) {
  for (size_t pair = 0; pair < keys.size(); pair += 2 * kMerged) {
    const auto first = keys.begin() + long(pair), second = first + kMerged, end = second + kMerged;
    std::vector<unsigned> in_a, in_b;
    for (unsigned k = 0; k < kMerged; k += kSample) {
      in_a.push_back(k);
      in_b.push_back(unsigned(std::lower_bound(second, end, first[k]) - second));
      in_b.push_back(k);
      in_a.push_back(unsigned(std::upper_bound(first, second, second[k]) - first));
    }
    std::sort(in_a.begin(), in_a.end());
    std::sort(in_b.begin(), in_b.end());
    a.insert(a.end(), in_a.begin(), in_a.end());
    b.insert(b.end(), in_b.begin(), in_b.end());
  }
}

int main(int argc, char** argv) {
  const unsigned n = argc > 1 ? unsigned(std::atoi(argv[1])) : 16 * kRun;
  const bool sort = argc < 3 || argv[2][0] == 's', merge = argc < 3 || argv[2][0] == 'm';
  std::vector<unsigned> keys(n), out(n);
  srand(2009);
  for (unsigned& k : keys) k = unsigned(rand()) % 65536;
  unsigned *from, *from_values, *to, *to_values, *limits_a, *limits_b;
  for (unsigned** p : {&from, &from_values, &to, &to_values, &limits_a, &limits_b})
    CHECK(cudaMalloc(p, n * 4));
  CHECK(cudaMemset(from_values, 0, n * 4));
  CHECK(cudaMemcpy(from, keys.data(), n * 4, cudaMemcpyHostToDevice));
  if (sort) {
    sort_runs<<<n / kRun, kRun / 2>>>(to, to_values, from, from_values);
    CHECK(cudaMemcpy(out.data(), to, n * 4, cudaMemcpyDeviceToHost));
  }
  for (unsigned k = 0; k < n; k += kRun) std::sort(keys.begin() + k, keys.begin() + k + kRun);
  for (unsigned k = 0; sort && k < n; ++k) require_near(out[k], keys[k], 0, "a key of a run");

  for (unsigned k = 0; k < n; k += kMerged) std::sort(keys.begin() + k, keys.begin() + k + kMerged);
  std::vector<unsigned> a, b;
  limits_of(keys, a, b);
  CHECK(cudaMemcpy(from, keys.data(), n * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(limits_a, a.data(), a.size() * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(limits_b, b.data(), b.size() * 4, cudaMemcpyHostToDevice));
  if (merge) {
    merge_intervals<<<n / kSample, kSample>>>(to, to_values, from, from_values, limits_a, limits_b, kMerged,
                                              n);
    CHECK(cudaMemcpy(out.data(), to, n * 4, cudaMemcpyDeviceToHost));
    for (unsigned k = 0; k < n; k += 2 * kMerged) std::sort(keys.begin() + k, keys.begin() + k + 2 * kMerged);
    for (unsigned k = 0; k < n; ++k) require_near(out[k], keys[k], 0, "a merged key");
  }
  for (unsigned* p : {from, from_values, to, to_values, limits_a, limits_b}) cudaFree(p);
  std::printf("merge_sort passed\n");
}
