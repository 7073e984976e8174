// Voxels as voxels.glsl reads them.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "labs/radiance/export/assets.h"
#include "labs/radiance/export/page.h"
#include "reference/graded_grid.h"

namespace klab {

PageField page_field(const VoxelModel& model) {
  const VoxelConfig& c = model.config;
  const int64_t basis = c.basis();
  // Rows in the order of their vertices: a row's number is the number of vertices with a row before it. A row that two
  // vertices share is there twice.
  std::vector<uint32_t> bits(size_t(model.links.size() + 31) / 32, 0);
  std::vector<float> density, coefficients;
  density.reserve(size_t(model.rows()));
  coefficients.reserve(size_t(model.rows() * 3 * basis));
  for (int64_t v = 0; v < model.links.size(); ++v) {
    const int32_t row = model.links[v];
    if (row < 0) continue;
    bits[size_t(v / 32)] |= uint32_t(1) << (v % 32);
    density.push_back(model.density[row]);
    for (int64_t b = 0; b < basis; ++b)  // red, green and blue of a function are one texel
      for (int64_t k = 0; k < 3; ++k) coefficients.push_back(model.coefficients[(row * 3 + k) * basis + b]);
  }
  std::vector<uint8_t> vertices(4 * bits.size());
  std::memcpy(vertices.data(), bits.data(), vertices.size());

  const auto real = [](double v) { return fmt::format("{:#.9g}", v); };
  const auto whole = [](int64_t v) { return fmt::format("{}", v); };
  const float side = model.placement.side();
  PageField field;
  field.shader = viewer::voxel_shader();
  field.settings["defines"] = {{"GRID", whole(model.grid)},
                               {"CASCADES", "1"},
                               {"SIDE", real(side)},
                               {"SHELLS", whole(GradedGrid::of(double(side), model.is_graded()).shells)},
                               {"NEAR", real(model.placement.near)},
                               {"FAR", real(model.placement.far)},
                               {"EARLY_STOP", real(c.early_stop)},
                               {"EMPTY", real(c.empty)},
                               {"BASIS", whole(basis)},
                               {"HARMONICS", whole((basis + 3) / 4)}};
  field.settings["layers"] = nlohmann::json::array();
  field.settings["textures"] = {{{"name", "vertices"}, {"numbers", "bits"}, {"channels", 1}},
                                {{"name", "density"}, {"numbers", "half"}, {"channels", 1}},
                                {{"name", "coefficients"}, {"numbers", "half"}, {"channels", 3}}};
  field.blocks = {{"vertices", vertices},
                  {"density", halves_in_page(density, "the density")},
                  {"coefficients", halves_in_page(coefficients, "the coefficients")},
                  {"occupancy", {model.occupancy.data(), model.occupancy.data() + model.occupancy.size()}}};
  return field;
}

}  // namespace klab
