// The hash table of a config: which op looks it up, and how its levels lie.
//
// With the recipe's hash function, linear interpolation and levels of fixed sizes it is hashgrid_fwd's; else hashtable_fwd's,
// which has the layout as data.
#pragma once

#include <string>
#include <vector>

#include "harness/program/plan.h"
#include "labs/radiance/field/config.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"

namespace klab {

/// Whether hashgrid_fwd and hashgrid_bwd do it.
bool has_plain_table(const Config& config);
inline bool has_adaptive_table(const Config& config) { return config.table == "adaptive"; }

/// What the ops call "primes", "morton", "pcg" and "tiled", and "linear", "nearest" and "smoothstep".
int64_t hash_kind(std::string_view hash);
int64_t blend_kind(std::string_view interpolation);

/// Shapes for n points; `cascades` of the scene set the finest level.
HashgridShape hash_shape(const Config& config, int cascades, int64_t n);
HashtableShape table_shape(const Config& config, int cascades, int64_t n);

/// Scales of the levels, as both ops have them.
std::vector<float> table_scales(const Config& config, int cascades);
/// Entries of each level: of a fixed table all there are, of an adaptive one to begin with.
std::vector<int64_t> table_sizes(const Config& config, int cascades);
/// Most entries that a level of an adaptive table may have: as many as of a fixed one, and never so many that it had a place for
/// each point, as values would have to move then.
std::vector<int64_t> largest_table_sizes(const Config& config, int cascades);
/// Fewest: a level that is dense stays as it is.
std::vector<int64_t> smallest_table_sizes(const Config& config, int cascades);
/// Entries that there is room for in all levels together, a multiple of 8.
int64_t table_room(const Config& config, int cascades);

/// The call that looks up n points, and the one that adds gradients, for a plan.
PlannedCall planned_lookup(const Config& config, int cascades, int64_t n, const std::string& what,
                           double times = 1);
PlannedCall planned_scatter(const Config& config, int cascades, int64_t n, const std::string& what,
                            double times = 1);

}  // namespace klab
