#include "labs/radiance/field/placement.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/input.h"
#include "harness/records/numbers.h"

namespace klab {

Camera Placement::in_axes(const Camera& camera) const {
  Camera out = camera;
  if (yzx) std::rotate(out.pose.begin(), out.pose.begin() + 4, out.pose.end());  // rows of [R | t]
  return out;
}

std::string placement_to_json(const Placement& placement) {
  nlohmann::json place = {{"cascades", placement.cascades},
                          {"scale", placement.scale},
                          {"offset", {placement.offset.x, placement.offset.y, placement.offset.z}},
                          {"near", placement.near},
                          {"black", placement.black}};
  if (placement.yzx) place["yzx"] = true;
  if (placement.far < kNoFar) place["far"] = placement.far;
  return place.dump();
}

Placement placement_from(const TensorFile& file) {
  const std::string where = file.path().string() + ", its placement";
  const nlohmann::json place = parse_json(file.metadata("placement"), where);
  Placement p;
  p.cascades = number_in<int>(place, "cascades", range::cascades, where);
  p.scale = float(number_in<double>(place, "scale", range::scale, where));
  p.near = float(number_in<double>(place, "near", range::near, where));
  if (place.contains("far")) p.far = float(number_in<double>(place, "far", range::near, where));
  const auto offset = place.find("offset");
  if (offset == place.end() || !offset->is_array() || offset->size() != 3)
    throw std::runtime_error(where + ": \"offset\" must be three numbers");
  const auto element = [&](size_t i) {
    return float(number_of<double>((*offset)[i], "offset", range::offset, where));
  };
  p.offset = {element(0), element(1), element(2)};
  const auto black = place.find("black");
  if (black == place.end() || !black->is_boolean())
    throw std::runtime_error(where + ": \"black\" must be true or false");
  p.black = black->get<bool>();
  if (const auto yzx = place.find("yzx"); yzx != place.end()) {
    if (!yzx->is_boolean()) throw std::runtime_error(where + ": \"yzx\" must be true or false");
    p.yzx = yzx->get<bool>();
  }
  return p;
}

}  // namespace klab
