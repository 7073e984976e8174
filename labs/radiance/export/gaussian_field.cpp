// Gaussians as splats.glsl reads them.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "labs/radiance/export/assets.h"
#include "labs/radiance/export/page.h"
#include "labs/radiance/splat/gaussian_model.h"
#include "reference/gs_project_fwd/gs_project_fwd.h"

namespace klab {

PageField page_field(const GaussianModel& model) {
  const GaussianSet& set = model.set;
  const auto n = size_t(set.n), basis = size_t(set.degree + 1) * size_t(set.degree + 1);
  std::vector<float> places, shapes, turns, coefficients;
  places.reserve(3 * n), shapes.reserve(4 * n), turns.reserve(4 * n), coefficients.reserve(3 * n * basis);
  for (size_t i = 0; i < n; ++i) {
    float length = 0;
    for (size_t k = 0; k < 4; ++k) length += set.quaternion[k * n + i] * set.quaternion[k * n + i];
    length = std::sqrt(length);
    for (size_t k = 0; k < 3; ++k) places.push_back(set.position[k * n + i]);
    for (size_t k = 0; k < 3; ++k) shapes.push_back(set.log_scale[k * n + i]);
    shapes.push_back(set.opacity_raw[i]);
    for (size_t k = 0; k < 4; ++k) turns.push_back(set.quaternion[k * n + i] / length);
    for (size_t b = 0; b < basis; ++b)  // red, green and blue of a function are one texel
      for (size_t k = 0; k < 3; ++k) coefficients.push_back(set.coefficients[(3 * b + k) * n + i]);
  }
  std::vector<uint8_t> place_bytes(places.size() * sizeof(float));
  std::memcpy(place_bytes.data(), places.data(), place_bytes.size());

  const auto whole = [](size_t v) { return fmt::format("{}", v); };
  const Camera any;  // every camera has the same nearest distance
  PageField field;
  field.shader = viewer::splat_shader();
  field.has_rays = false;
  field.settings["gaussians"] = set.n;
  field.settings["defines"] = {
      {"ANTIALIASED", set.antialiased ? "true" : "false"},
      {"BASIS", whole(basis)},
      {"HARMONICS", whole((basis + 3) / 4)},
      {"NEAREST", fmt::format("{:#.9g}", projection_of(any)[GsProjectFwd::Camera::near])}};
  field.settings["textures"] = {{{"name", "places"}, {"numbers", "float"}, {"channels", 3}},
                                {{"name", "shapes"}, {"numbers", "half"}, {"channels", 4}},
                                {{"name", "turns"}, {"numbers", "half"}, {"channels", 4}},
                                {{"name", "coefficients"}, {"numbers", "half"}, {"channels", 3}}};
  field.blocks = {{"places", place_bytes},
                  {"shapes", halves_in_page(shapes, "the shapes of Gaussians")},
                  {"turns", halves_in_page(turns, "the rotations of Gaussians")},
                  {"coefficients", halves_in_page(coefficients, "the coefficients of Gaussians")}};
  return field;
}

}  // namespace klab
