// reduce.cuda.90_cub: cub::DeviceReduce, of NVIDIA's collection of parallel primitives.
//
// CHANGE    the library adds up.
// EXPECT    blocks with 16-byte loads leave their sums, one block of a second launch adds these: the rate at which memory is read.
// NUMERICS  sums in float, in an order that follows from n and the GPU.
// NEEDS     a GPU: the host's executor does not compile CUB.
#include <stdexcept>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/reduce/reduce.h"

#if !KLAB_SIMT
#include <cub/device/device_reduce.cuh>
#endif

namespace klab {
namespace {

#if KLAB_SIMT

void run(const Reduce::Args<float>&) { throw std::logic_error("CUB runs on a GPU only"); }

#else

void run(const Reduce::Args<float>& x) {
  const auto add_up = [&](void* room, size_t& bytes) {
    KLAB_CUDA_CHECK(cub::DeviceReduce::Sum(room, bytes, x.x, x.sum, x.shape.n, cuda::stream()));
  };
  size_t bytes = 0;
  add_up(nullptr, bytes);
  const cuda::Scratch room(bytes);
  add_up(room.as<void>(), bytes);
}

#endif

KLAB_VARIANT(Reduce, {.run = run, .peer = true, .supported = [](const Reduce::Shape&, const Host& host) {
                        return cuda::needs_gpu(host, 70);
                      }});

}  // namespace
}  // namespace klab
