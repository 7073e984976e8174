#include "reference/voxel_sh_narrow_fwd/voxel_sh_narrow_fwd.h"

#include <vector>

namespace klab {

void VoxelShNarrowFwd::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  VoxelShFwd::arrange({.shape = s.voxels(),
                       .positions = x.positions,
                       .directions = x.directions,
                       .links = x.links,
                       .empty = x.empty,
                       .density = nullptr,
                       .coefficients = nullptr,
                       .raw = nullptr,
                       .rgb = nullptr},
                      random);
  draw_narrow(narrow_format::f16, s.rows, const_cast<uint16_t*>(x.density), nullptr, 0, nullptr, 3, random);
  draw_narrow(s.format, s.numbers(), const_cast<uint16_t*>(x.halves), const_cast<int8_t*>(x.bytes),
              s.factors(), const_cast<float*>(x.factors), 1, random);
}

// Computes what voxel_sh_fwd's reference does from the numbers' exact values.
void VoxelShNarrowFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  std::vector<double> density(size_t(s.rows)), coefficients(size_t(s.numbers()));
  for (int64_t i = 0; i < s.rows; ++i) density[size_t(i)] = double(float_from_half(x.density[i]));
  for (int64_t i = 0; i < s.numbers(); ++i) {
    const auto number = double(narrow_number(s.format, x.halves, x.bytes, i));
    coefficients[size_t(i)] =
        s.format == narrow_format::int8 ? number * x.factors[i % (3 * s.basis)] : number;
  }
  VoxelShFwd::reference({.shape = s.voxels(),
                         .positions = x.positions,
                         .directions = x.directions,
                         .links = x.links,
                         .empty = x.empty,
                         .density = density.data(),
                         .coefficients = coefficients.data(),
                         .raw = x.raw,
                         .rgb = x.rgb},
                        {.shape = s.voxels(),
                         .positions = nullptr,
                         .directions = nullptr,
                         .links = nullptr,
                         .empty = nullptr,
                         .density = nullptr,
                         .coefficients = nullptr,
                         .raw = magnitude.raw,
                         .rgb = magnitude.rgb});
}

}  // namespace klab
