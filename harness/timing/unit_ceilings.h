// What the processor's units for products of 16 and 8 bits can do at most: instructions of vectors that multiply and add in
// pairs or fours ("dot bf16", "dot int8"), and tiles ("tiles bf16", "tiles int8"). Rates count the op's own operations: a product
// and an addition are two, of whatever width.
#pragma once

#include <string>
#include <vector>

#include "harness/timing/bench.h"

namespace klab {

enum class Factors { bf16, int8 };
enum class ProductUnit { dot, tiles };

struct UnitCeiling {
  Factors factors = Factors::bf16;
  ProductUnit unit = ProductUnit::dot;
  int threads = 1;
  double per_second = 0;  // operations; 0: not measured
  std::string method;     // the instruction: "VPDPBUSD"
  std::string missing;    // why it was not measured; empty where it was
};

/// "dot bf16", "tiles int8".
std::string name_of(const UnitCeiling& ceiling);
/// Returns whether a ceiling has such a name.
bool is_unit_ceiling(const std::string& ceiling);

/// Measured at the first call of the process for that number of threads: the best of several samples, since it is not sampled in
/// the rounds.
UnitCeiling unit_ceiling(Factors factors, ProductUnit unit, int threads);

/// Measures again what was measured for that number of threads, and keeps the higher rates. Called before a time is reported as
/// above its ceiling: other work may have held up the first samples.
void raise_unit_ceilings(int threads);

/// Those that this process has asked for.
std::vector<UnitCeiling> known_unit_ceilings();

/// Replaces the measured ceilings while it lives, for tests. Others are then not measured.
class GivenUnitCeilings {
 public:
  explicit GivenUnitCeilings(std::vector<UnitCeiling> list);
  ~GivenUnitCeilings();
  GivenUnitCeilings(const GivenUnitCeilings&) = delete;
  GivenUnitCeilings& operator=(const GivenUnitCeilings&) = delete;

 private:
  std::vector<UnitCeiling> before_;
};

/// Names of ceilings of rows whose unit is unknown begin with this: "unknown: above dot int8".
inline constexpr const char* kUnknownCeiling = "unknown: above ";

/// The least time of a call of one variant.
struct Bound {
  std::string ceiling;          // of the resource that binds
  double per_second = 0;        // median, in unit_of(ceiling)
  std::vector<double> seconds;  // one entry per round of the ladder; empty where it has no ceiling
  std::vector<Resource> resources;
  /// False for a library whose unit is not known: a shorter time shows that it uses another one, and is no error.
  bool known_unit = true;
};

/// Which units a variant may use.
enum class MayUse {
  own,  // a rung: tiles if its id says amx, else vectors; a library: any, and not known which
  any,  // a learner's file
};

/// Holds a variant (nullptr: of the op's own format) against the ceiling of the format and unit that it may use.
Bound bound_of(const Ladder& ladder, const Variant* variant, MayUse may = MayUse::own);

/// Factors of the op's contract or of the variant's numerics; false where they are float's, or of a format that no processor
/// multiplies.
bool has_narrow_factors(const Ladder& ladder, const Variant* variant, Factors& factors);

}  // namespace klab
