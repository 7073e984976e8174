// Gaussians that begin where a scene's points are.
#pragma once

#include <span>

#include "labs/radiance/scene/points.h"
#include "labs/radiance/splat/gaussians.h"

namespace klab {

/// One round Gaussian a point, in the point's color, as large as the three nearest points are away on average, and of opacity 0.1;
/// of more than `most` points, so many drawn without repetition. (Kerbl et al. 2023, section 5.1, and the program's
/// create_from_pcd; it takes the root of the mean of squares.) Points in one place are at least 1e-5 large. Throws
/// std::invalid_argument for no points at all.
GaussianSet gaussians_from_points(std::span<const ScenePoint> points, int64_t most, int degree,
                                  uint64_t seed);

/// The mean distance from each point to its three nearest, or to as many as there are; 0 for one alone. By a k-d tree.
std::vector<float> mean_distance_to_three(std::span<const Vec3> points);

}  // namespace klab
