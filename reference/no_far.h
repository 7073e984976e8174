// The distance at which rays end that are not to end before they leave the box.
#pragma once

namespace klab {

/// Farther than any box reaches, and finite.
inline constexpr float kNoFar = 1e30F;

}  // namespace klab
