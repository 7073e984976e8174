// The hash table of a config: which op looks it up, and the layout of its levels.
//
// With the recipe's hash function, linear interpolation and fixed level sizes it is hashgrid_fwd; else
// hashtable_fwd, which takes the layout as data. A table in fewer bits is hashtable_narrow_fwd's, whatever its layout.
#pragma once

#include <string>
#include <vector>

#include "harness/program/plan.h"
#include "labs/radiance/field/config.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"
#include "reference/hashtable_narrow_fwd/hashtable_narrow_fwd.h"

namespace klab {

/// Returns whether hashgrid_fwd and hashgrid_bwd support the table.
bool has_plain_table(const Config& config);
inline bool has_adaptive_table(const Config& config) { return config.table == "adaptive"; }

/// Converts names to the ops' numbers: "primes", "morton", "pcg" and "tiled"; "linear", "nearest" and
/// "smoothstep".
int64_t hash_kind(std::string_view hash);
int64_t blend_kind(std::string_view interpolation);

/// Returns shapes for n points; `cascades` of the scene set the finest level.
HashgridShape hash_shape(const Config& config, int cascades, int64_t n);
HashtableShape table_shape(const Config& config, int cascades, int64_t n);
HashtableNarrowFwd::Shape narrow_table_shape(const Config& config, int cascades, int64_t n, int64_t format);

/// Returns the scales of the levels, the same for both ops.
std::vector<float> table_scales(const Config& config, int cascades);
/// Returns the entries of each level: all of a fixed table, the initial ones of an adaptive table.
std::vector<int64_t> table_sizes(const Config& config, int cascades);
/// Returns the most entries that each level of an adaptive table may have: as many as in a fixed table, but
/// always fewer than its points. A level with an entry for each point would become dense, and its values
/// would have to move.
std::vector<int64_t> largest_table_sizes(const Config& config, int cascades);
/// Returns the fewest entries of each level; a level that is dense keeps its size.
std::vector<int64_t> smallest_table_sizes(const Config& config, int cascades);
/// Returns the room for entries in all levels together, a multiple of 8.
int64_t table_room(const Config& config, int cascades);

/// Returns the call that looks up n points, for a plan; `narrow` is the format of a
/// table in fewer bits (reference/narrow_numbers.h), -1 of floats.
PlannedCall planned_lookup(const Config& config, int cascades, int64_t n, const std::string& what,
                           double times = 1, int64_t narrow = -1);

}  // namespace klab
