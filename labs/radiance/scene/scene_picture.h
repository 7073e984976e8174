// A scene's box, cameras and points as a picture.
#pragma once

#include "labs/radiance/scene/scene.h"

namespace klab {

/// Two views side by side, each of `side` pixels: the scene from above and aside, and straight from above (x to the right, y up).
/// The box is black and its innermost unit cube gray; cameras for training are blue, those for testing orange, each a pyramid
/// that opens the way it looks, its upper edge doubled; points have their own colors, 20000 of them at most.
Image scene_picture(const Scene& scene, int side = 800);

}  // namespace klab
