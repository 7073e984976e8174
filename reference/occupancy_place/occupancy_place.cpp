#include "reference/occupancy_place/occupancy_place.h"

#include "reference/dropout_fwd/philox.h"
#include "reference/generator.h"

namespace klab {

void OccupancyPlace::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  for (int k = 0; k < 2; ++k) const_cast<uint32_t*>(x.seed)[k] = uint32_t(random());
  const_cast<uint32_t*>(x.step)[0] = uint32_t(random.widely ? random() : random() % 1000);
  if (random.widely) const_cast<uint32_t*>(x.step)[1] = uint32_t(random());
  const int64_t cells = s.cascades * s.grid * s.grid * s.grid - s.first;
  for (int64_t i = 0; i < s.samples; ++i)
    const_cast<int32_t*>(x.chosen)[i] = random() % 16 == 0 ? -1 : int32_t(random() % uint64_t(cells));
}

void OccupancyPlace::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  const int64_t cube = s.grid * s.grid * s.grid;
  for (int64_t i = 0; i < s.samples; ++i) {
    const int64_t cell = s.first + x.chosen[i];
    const auto words =
        dropout::random_words({uint32_t(cell), 4, x.step[0], x.step[1]}, {x.seed[0], x.seed[1]});
    for (int axis = 0; axis < 3; ++axis) {
      const double size = double(1 << (cell / cube)) / double(1 << (s.cascades - 1));
      const double unit = double(words[size_t(axis)] >> 8) * 0x1p-24;
      const double inside = (double(coordinate(uint32_t(cell % cube), axis)) + unit) / double(s.grid);
      const bool none = x.chosen[i] < 0;
      x.positions[axis * s.samples + i] = none ? 0.5 : 0.5 + size * (inside - 0.5);
      magnitude.positions[axis * s.samples + i] = none ? 0.5 : 1 + size;
    }
  }
}

}  // namespace klab
