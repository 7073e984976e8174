// Initial Gaussians at a scene's points.
#pragma once

#include <span>

#include "labs/radiance/scene/points.h"
#include "labs/radiance/splat/gaussians.h"

namespace klab {

/// Returns one round Gaussian for each point: in the point's color, as large as the mean distance of the
/// three nearest points, and of opacity 0.1. If there are more than `most` points, draws `most` of them
/// without repetition. (Kerbl et al. 2023, section 5.1, and the program's create_from_pcd, which takes the
/// root of the mean of squares.) Coinciding points are at least 1e-5 large. Throws std::invalid_argument if
/// there are no points.
GaussianSet gaussians_from_points(std::span<const ScenePoint> points, int64_t most, int degree,
                                  uint64_t seed);

/// Returns the mean distance from each point to its three nearest, or to all others if there are fewer; 0 for
/// a single point. Uses a k-d tree.
std::vector<float> mean_distance_to_three(std::span<const Vec3> points);

}  // namespace klab
