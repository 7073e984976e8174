// draw_rays.cuda.01_naive: one thread per ray.
//
// CHANGE   the loop over rays spread over threads.
// EXPECT   lanes read cameras and pixels of their own: 24 scattered requests a warp for the camera and four
//          for the bytes of a pixel, each of 32 sectors.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/philox.h"
#include "kernels/common/rays/camera.h"
#include "reference/draw_rays/draw_rays.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

#include "kernels/draw_rays/cuda/01_naive-inl.h"

__global__ void __launch_bounds__(kThreads) draw_rays(DrawRays::Args<float> x) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= x.shape.rays) return;
  if (r >= *x.count) return no_ray(x, r);
  const DrawRays::Shape& s = x.shape;
  const Draw drawn = draw(x, r);
  const int64_t* place = x.places + kPlace * drawn.view;
  const float* camera = x.cameras + 20 * drawn.view;
  const PixelRay ray = pixel_ray(camera, float(drawn.pixel % place[0]), float(drawn.pixel / place[0]),
                                 drawn.point, DrawRays::kLensSteps);
  PhiloxWords behind{};
  if (s.background == 2) behind = philox(uint64_t(r) | uint64_t{1} << 32, x.seed, x.step);
  const bool pictures = s.pixels > 0;
  uint8_t bytes[4] = {0, 0, 0, 0};
  if (pictures)
    for (int k = 0; k < 4; ++k) bytes[k] = x.image[4 * (place[2] + drawn.pixel) + k];
  const float alpha = float(bytes[3]) / 255.0F;
  for (int64_t c = 0; c < 3; ++c) {
    const int64_t at = c * s.rays + r;
    x.origins[at] = ray.origin[c];
    x.directions[at] = ray.direction[c];
    const float back = s.background == 2 ? float(behind.w[c] >> 8) * 0x1p-24F : float(s.background);
    x.backdrop[at] = back;
    x.color[at] = pictures ? alpha * float(bytes[c]) / 255.0F + (1 - alpha) * back : back;
  }
  x.jitter[r] = drawn.jitter;
  x.depth[r] = s.depths > 0 && place[3] >= 0 ? x.true_depth[place[3] + drawn.pixel] : 0.0F;
}

void run(const DrawRays::Args<float>& x) {
  if (x.shape.rays == 0) return;
  cuda::launch(draw_rays, dim3(unsigned((x.shape.rays + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(DrawRays, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
