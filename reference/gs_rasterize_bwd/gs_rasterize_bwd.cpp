#include "reference/gs_rasterize_bwd/gs_rasterize_bwd.h"

#include "reference/generator.h"
#include "reference/gs_rasterize_bwd/pixel_gradients.h"

namespace klab {

void GsRasterizeBwd::arrange(const Args<float>& x, Generator& random) {
  GsRasterizeFwd::Args<float> forward{};
  forward.shape = x.shape;
  forward.mean = x.mean;
  forward.conic = x.conic;
  forward.opacity = x.opacity;
  forward.color = x.color;
  forward.tile_begin = x.tile_begin;
  forward.id = x.id;
  GsRasterizeFwd::arrange(forward, random);
}

void GsRasterizeBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  write_gradients(x, magnitude, raster_sums(x));
}

}  // namespace klab
