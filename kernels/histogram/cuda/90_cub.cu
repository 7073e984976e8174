// histogram.cuda.90_cub: cub::DeviceHistogram, of NVIDIA's collection of parallel primitives.
//
// CHANGE    the library counts keys in 256 even bins from 0 to 256.
// EXPECT    a histogram a block in shared memory; a key's bin is computed, since bins may have any width.
// NUMERICS  whole numbers.
// NEEDS     a GPU: the host's executor does not compile CUB.
#include <stdexcept>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/histogram/histogram.h"

#if !KLAB_SIMT
#include <cub/device/device_histogram.cuh>
#endif

namespace klab {
namespace {

#if KLAB_SIMT

void run(const Histogram::Args<float>&) { throw std::logic_error("CUB runs on a GPU only"); }

#else

void run(const Histogram::Args<float>& x) {
  constexpr int kLevels = int(Histogram::bins) + 1;
  if (x.shape.n == 0) return cuda::fill_zero(x.counts, Histogram::bins * sizeof(uint32_t));
  const auto count = [&](void* room, size_t& bytes) {
    KLAB_CUDA_CHECK(cub::DeviceHistogram::HistogramEven(room, bytes, x.keys, x.counts, kLevels, uint32_t{0},
                                                        uint32_t{Histogram::bins}, x.shape.n,
                                                        cuda::stream()));
  };
  size_t bytes = 0;
  count(nullptr, bytes);
  const cuda::Scratch room(bytes);
  count(room.as<void>(), bytes);
}

#endif

KLAB_VARIANT(Histogram,
             {.run = run, .peer = true, .supported = [](const Histogram::Shape&, const Host& host) {
                return cuda::needs_gpu(host, 70);
              }});

}  // namespace
}  // namespace klab
