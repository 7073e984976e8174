// radix_sort.cuda.90_cub: cub::DeviceRadixSort, of NVIDIA's collection of parallel primitives.
//
// CHANGE    the library sorts pairs from bit 0 to the last one in use.
// EXPECT    one reading and writing a digit: where a digit begins is found on the way (Adinets, Merrill, "Onesweep: a faster
//           least significant digit radix sort for GPUs", 2022: arXiv 2206.01784).
// NUMERICS  copies.
// NEEDS     a GPU: the host's executor does not compile CUB.
#include <stdexcept>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/radix_sort/radix_sort.h"

#if !KLAB_SIMT
#include <cub/device/device_radix_sort.cuh>
#endif

namespace klab {
namespace {

#if KLAB_SIMT

void run(const RadixSort::Args<float>&) { throw std::logic_error("CUB runs on a GPU only"); }

#else

void run(const RadixSort::Args<float>& x) {
  const auto [n, bits] = x.shape;
  if (n == 0) return;
  const auto sort = [&](void* room, size_t& bytes) {
    KLAB_CUDA_CHECK(
        cub::DeviceRadixSort::SortPairs(room, bytes, reinterpret_cast<const unsigned long long*>(x.keys),
                                        reinterpret_cast<unsigned long long*>(x.sorted_keys), x.values,
                                        x.sorted_values, int(n), 0, int(bits), cuda::stream()));
  };
  size_t bytes = 0;
  sort(nullptr, bytes);
  const cuda::Scratch room(bytes);
  sort(room.as<void>(), bytes);
}

#endif

KLAB_VARIANT(RadixSort,
             {.run = run, .peer = true, .supported = [](const RadixSort::Shape&, const Host& host) {
                return cuda::needs_gpu(host, 70);
              }});

}  // namespace
}  // namespace klab
