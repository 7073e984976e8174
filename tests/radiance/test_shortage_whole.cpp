// Two hundred allocations that fail, at the same places each time.
// ctest: long
#include "tests/radiance/shortage_runs.h"

namespace klab {
namespace {

using ShortagesWhole = shortage::Shortages;

TEST_F(ShortagesWhole, SurvivesTwoHundredFailures) { fail_at_random_places(200, 7); }

}  // namespace
}  // namespace klab
