// host_vector_add.cuda.03_two_streams: both directions of the bus at once.
//
// CHANGE    the vectors go in chunks of 2^20 elements, in turn on two streams. While one stream's result comes
//           back, the other's inputs are on their way, and a kernel adds in between.
// EXPECT    the bus carries as much in each direction at once: 8 bytes per element there, 4 back, so 8 count
//           where the parent's 12 did. At most 1.5 times; a little less, since the first chunk comes before
//           any goes back.
// NUMERICS  one addition an element.
// NEEDS     device memory for six chunks; the caller's vectors page-locked.
// TRIED     on paper only: chunks of 64 KB. Each copy takes some microseconds to begin; at 4 MB that is hidden.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/host_vector_add/host_vector_add.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kStreams = 2;
constexpr int64_t kChunk = 1 << 20;

__global__ void __launch_bounds__(kThreads)
    add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

void run(const HostVectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  // Small ones in chunks as well, so that both streams have work.
  const int64_t chunk = std::min(kChunk, (n + 2 * kStreams - 1) / (2 * kStreams));
  const size_t room = size_t(chunk) * sizeof(float);
  cuda::Scratch a(kStreams * room), b(kStreams * room), c(kStreams * room);
  cuda::Fork<kStreams> streams;
  for (int64_t begin = 0, turn = 0; begin < n; begin += chunk, ++turn) {
    const int stream = int(turn % kStreams);
    const int64_t count = std::min(chunk, n - begin), at = stream * chunk;
    const size_t bytes = size_t(count) * sizeof(float);
    float *own_a = a.as<float>() + at, *own_b = b.as<float>() + at, *own_c = c.as<float>() + at;
    streams.upload(stream, own_a, x.a + begin, bytes);
    streams.upload(stream, own_b, x.b + begin, bytes);
    streams.launch(stream, add, unsigned((count + kThreads - 1) / kThreads), kThreads, 0, own_a, own_b, own_c,
                   count);
    streams.download(stream, x.c + begin, own_c, bytes);
  }
  streams.join();
}

KLAB_VARIANT(HostVectorAdd, {.run = run,
                             .parent = "02_pinned",
                             .tiles = {kThreads, 2 * kStreams},
                             .expect = {.shape = {1 << 25}, .over_parent = 1.2},
                             .pinned = true});

}  // namespace
}  // namespace klab
