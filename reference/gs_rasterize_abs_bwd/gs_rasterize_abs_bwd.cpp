#include "reference/gs_rasterize_abs_bwd/gs_rasterize_abs_bwd.h"

#include "reference/generator.h"
#include "reference/gs_rasterize_bwd/pixel_gradients.h"

namespace klab {
namespace {

template <class T>
GsRasterizeBwd::Args<T> without_pull(const GsRasterizeAbsBwd::Args<T>& x) {
  return {x.shape, x.mean,    x.conic,  x.opacity, x.color,     x.tile_begin, x.id,
          x.image, x.d_image, x.d_mean, x.d_conic, x.d_opacity, x.d_color};
}

}  // namespace

void GsRasterizeAbsBwd::arrange(const Args<float>& x, Generator& random) {
  GsRasterizeBwd::arrange(without_pull(x), random);
}

void GsRasterizeAbsBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const GsRasterizeBwd::Args<double> gradients = without_pull(x);
  const std::vector<RasterSum> sums = raster_sums(gradients);
  write_gradients(gradients, without_pull(magnitude), sums);
  // An absolute value errs no more than the value does.
  for (int64_t g = 0; g < x.shape.n; ++g)
    for (size_t j = 0; j < 2; ++j) {
      const int64_t at = int64_t(j) * x.shape.n + g;
      x.pull[at] = sums[size_t(g)].sizes[j];
      magnitude.pull[at] = sums[size_t(g)].bound(j);
    }
}

}  // namespace klab
