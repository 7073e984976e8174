#!/usr/bin/env bash
# ctest: slow
# cuda::barrier, cuda::pipeline and the copies that they wait for: the examples of CUDA's programming guide run without a finding; a wait, a
# release or an init() that is missing, an arrival too many or too few is found, with its line.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
[[ -x $build/klab-nvcc ]] || { echo "this build has no host executor"; exit 77; }
export NO_COLOR=1
count_failures
cd "$tmp"

"$klab" trace "$root/tests/programs/barriers.cu" >out 2>&1 || { tail -n 25 out; fail "barriers.cu: exit code $?"; }
grep -qF "barriers passed" out || fail "barriers.cu does not say that it passed"
grep -E "FINDING|  note" out && fail "barriers.cu has findings"

# Kernels of one block of 64 threads over x and y, 256 numbers each, parts of one program that is compiled once. Each is wrong in the
# third line behind its name, and that line is looked for.
names=() kernels='' wanted=()
wrong() {  # name, text of the kernel, words in the report... ("@K": line K behind the kernel's name)
  local name=$1 text=$2; shift 2
  kernels+="__global__ void $name(int* y, const int* x) { const int t = threadIdx.x; auto block = cg::this_thread_block();
$text
}
"
  names+=("$name")
  wanted+=("$(printf '%s\n' "$@")")
}
set_up='  __shared__ barrier b; __shared__ int s[64]; if (t == 0) init(&b, 64); block.sync();'
wrong no_wait "$set_up"'
  cuda::memcpy_async(block, s, x, sizeof s, b); (void)b.arrive();
  y[t] = s[63 - t];' "missing wait in kernel no_wait" "wrongs.cu:@3" "asynchronous copy"
wrong no_wait_for_others "$set_up"'
  s[t] = x[t]; (void)b.arrive();
  y[t] = s[63 - t];' "wrongs.cu:@3"
wrong one_too_many '  __shared__ barrier b; if (t == 0) init(&b, 65); block.sync();
  y[t] = x[t];
  b.arrive_and_wait();' "deadlock in kernel one_too_many" "wrongs.cu:@3" "of which 1 of 65 arrivals are missing"
wrong one_has_left "$set_up"'
  if (t == 5) return;
  b.wait(b.arrive());' "deadlock in kernel one_has_left" "wrongs.cu:@3" "1 of 64 arrivals are missing" "1 threads have ended"
wrong two_ways "$set_up"'
  if (t < 32) __syncthreads();
  else b.arrive_and_wait();' "deadlock in kernel two_ways" "wrongs.cu:@3" "waits in __syncthreads at line @2"
wrong no_init '  __shared__ barrier b;
  block.sync();
  b.arrive_and_wait();' "uninitialized memory in kernel no_init" "wrongs.cu:@3" "no init() has set up"
wrong no_sync_behind_init '  __shared__ barrier b;
  if (t == 0) init(&b, 64);
  if (t >= 0) b.arrive_and_wait();' "wrongs.cu:@3"
wrong arrives_too_often "$set_up"'
  y[t] = x[t];
  auto token = b.arrive(48);' "barrier divergence in kernel arrives_too_often" "wrongs.cu:@3" "arrives 48 times" "waits for 16 of 64"
wrong copies_of_groups '  __shared__ int s[64];
  cg::memcpy_async(block, s, x, sizeof s); block.sync();
  y[t] = s[63 - t]; cg::wait(block);' "missing wait in kernel copies_of_groups" "wrongs.cu:@3"
wrong two_copies_at_once '  __shared__ int s[64]; auto pipe = cuda::make_pipeline(); cuda::memcpy_async(s + t, x + t, 4, pipe); pipe.producer_commit();
  const int other = 64 + t;
  cuda::memcpy_async(s + t, x + other, 4, pipe); pipe.producer_commit();
  pipe.consumer_wait(); y[t] = s[t]; pipe.consumer_wait();' "missing wait in kernel two_copies_at_once" "wrongs.cu:@3" "another one is still in flight"
stages='  __shared__ int s[2][64]; __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state; auto pipe = cuda::make_pipeline(block, &state);'
copy='cuda::memcpy_async(block, s[k % 2], x + 64 * k, sizeof s[0], pipe); pipe.producer_commit();'
wrong no_consumer_wait "$stages"'
  int k = 0; pipe.producer_acquire(); '"$copy"'
  y[t] = s[0][63 - t]; pipe.consumer_wait(); pipe.consumer_release();' "missing wait in kernel no_consumer_wait" "wrongs.cu:@3"
wrong no_release "$stages"'
  for (int k = 0; k < 4; ++k) {
    pipe.producer_acquire();
    '"$copy"' pipe.consumer_wait(); y[t] = s[k % 2][63 - t]; }' "deadlock in kernel no_release" "wrongs.cu:@3" "64 of 64 arrivals are missing"
wrong no_acquire "$stages"'
  for (int k = 0; k < 4; ++k) {
    '"$copy"'
    pipe.consumer_wait(); y[t] = s[k % 2][63 - t]; if (k > 0) pipe.consumer_release(); }' "race on shared memory in kernel no_acquire" "wrongs.cu:@3"

{
  cat <<'P'
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cstring>
namespace cg = cooperative_groups;
using barrier = cuda::barrier<cuda::thread_scope_block>;
P
  printf '%s' "$kernels"
  echo 'int main(int, char** argv) { int *x, *y; cudaMalloc(&x, 1024); cudaMalloc(&y, 1024); cudaMemset(x, 0, 1024);'
  for name in "${names[@]}"; do echo "  if (std::strcmp(argv[1], \"$name\") == 0) $name<<<1, 64>>>(y, x);"; done
  echo '  cudaDeviceSynchronize(); cudaFree(x); cudaFree(y); }'
} >wrongs.cu
"$build/klab-nvcc" wrongs.cu -o wrongs || fail "wrongs.cu cannot be compiled"
for k in "${!names[@]}"; do
  name=${names[k]} code=0
  at=$(grep -n "^__global__ void $name(" wrongs.cu | cut -d: -f1)
  "$klab" trace ./wrongs --seconds 20 -- "$name" >out 2>&1 || code=$?
  [[ $code -eq 1 ]] || { tail -n 25 out; fail "$name: exit code $code, not 1"; }
  while IFS= read -r word; do
    for behind in 2 3; do word=${word//@$behind/$((at + behind))}; done
    grep -qF -e "$word" out || { grep -A3 FINDING out; fail "$name: no '$word'"; }
  done <<<"${wanted[k]}"
done

[[ $failures -eq 0 ]] && echo "all as it should be"
exit $((failures > 0))
