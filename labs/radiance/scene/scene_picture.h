// Draws a scene's box, cameras and points.
#pragma once

#include "labs/radiance/scene/scene.h"

namespace klab {

/// Draws two views of `side` pixels next to each other: the scene obliquely from above, and straight from
/// above (x to the right, y up). The box is black and its innermost unit cube gray. Cameras for training are
/// blue, those for testing orange; each is a pyramid that opens in its viewing direction, with a double upper
/// edge. Points have their own colors; at most 20000 are drawn.
Image scene_picture(const Scene& scene, int side = 800);

}  // namespace klab
