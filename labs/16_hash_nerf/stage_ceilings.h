// How near the stages of a run come to what the machine can do.
#pragma once

#include <map>
#include <string>

#include "labs/16_hash_nerf/profile.h"

namespace klab {

struct StageCeiling {
  std::string name;  // "fma f32", "gather 8 B L3"
  double share = 0;  // of it that the stage reached, over all its calls
};

/// For each stage that is one op: the ceiling its lab names, measured now on `threads` threads, and the stage's share
/// of it. Takes some tenths of a second.
std::map<std::string, StageCeiling> ceilings_of_stages(const Profile& profile, int threads);

}  // namespace klab
