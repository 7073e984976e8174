// A page to give away: one file that draws a trained field in a browser, without links.
//
//   viewer.html   the frame: a still picture, a canvas, a panel
//   viewer.js     camera, textures, pictures that get finer while nothing moves
//   common.glsl, harmonics.glsl, <field>.glsl   the field itself, as klab's renderer evaluates it
//   splats.js     Gaussians: their order, and the sums of their colors
//
// What a field's shader needs are blocks of bytes, in base64, and settings.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "labs/radiance/evaluate/renderer.h"
#include "labs/radiance/field/model.h"
#include "labs/radiance/field/voxels.h"

namespace klab {

struct GaussianModel;

/// A field as its shader reads it.
struct PageField {
  const char* shader = "";
  bool has_rays = true;     // false: Gaussians, which splats.js draws
  nlohmann::json settings;  // "defines" of the shader, and numbers that the script uploads
  std::vector<std::pair<std::string, std::vector<uint8_t>>> blocks;
};

/// Packs a hash field: table in float16, weights in blocks of 4x4 in float, occupancy bits. Throws
/// std::runtime_error for numbers that are too large for float16.
PageField page_field(const Model& model);
/// Packs voxels: which vertices have a row, one bit each, and the rows in the order of their vertices, in float16.
PageField page_field(const VoxelModel& model);
/// Packs Gaussians: positions in float, the rest in float16. Throws like the first.
PageField page_field(const GaussianModel& model);

/// Returns numbers as float16. Throws std::runtime_error, "<what> holds ...", for one that is too large.
std::vector<uint8_t> halves_in_page(std::span<const float> numbers, const char* what);

/// The first view: a camera of `klab render`, on a circle around the scene.
struct PageView {
  double height = 0.5, distance = 1.35, fov = 40;  // sine of the elevation, sides of the unit cube, degrees
  Camera camera(int side) const;
  nlohmann::json json() const;  // as viewer.js has it, angles in radians
};

struct PageText {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // of the panel
};

/// Returns the page. `still` is shown where the browser has no WebGL2.
std::string page_html(const PageField& field, const PageView& view, const Picture& still, bool black,
                      const PageText& text);

}  // namespace klab
