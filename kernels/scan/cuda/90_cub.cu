// scan.cuda.90_cub: cub::DeviceScan, of NVIDIA's collection of parallel primitives.
//
// CHANGE    the library scans.
// EXPECT    one pass with look-back (Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back", NVIDIA 2016): 8
//           bytes an element, near the rate of a copy.
// NEEDS     a GPU: the host's executor does not compile CUB.
#include <stdexcept>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/scan/scan.h"

#if !KLAB_SIMT
#include <cub/device/device_scan.cuh>
#endif

namespace klab {
namespace {

#if KLAB_SIMT

void run(const Scan::Args<float>&) { throw std::logic_error("CUB runs on a GPU only"); }

#else

void run(const Scan::Args<float>& x) {
  if (x.shape.n == 0) return;
  const auto scan = [&](void* room, size_t& bytes) {
    KLAB_CUDA_CHECK(cub::DeviceScan::ExclusiveSum(room, bytes, x.x, x.y, x.shape.n, cuda::stream()));
  };
  size_t bytes = 0;
  scan(nullptr, bytes);
  const cuda::Scratch room(bytes);
  scan(room.as<void>(), bytes);
}

#endif

KLAB_VARIANT(Scan, {.run = run, .peer = true, .supported = [](const Scan::Shape&, const Host& host) {
                      return cuda::needs_gpu(host, 70);
                    }});

}  // namespace
}  // namespace klab
