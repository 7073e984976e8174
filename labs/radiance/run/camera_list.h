// cameras.json of a run: where its views were taken from, for the plot of the report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "labs/radiance/evaluate/evaluate.h"

namespace klab {

/// Lists position and viewing direction of each training and test view, in grid space, rounded to 1e-5 sides of the unit cube,
/// which is the box. Test views have the PSNR of their score, null without one or of an equal
/// picture, and if they are among the first of the run's `scored` views the file with their pictures.
std::string cameras_json(const Scene& scene, const std::vector<int64_t>& scored,
                         const std::vector<ViewScore>& scores);

}  // namespace klab
