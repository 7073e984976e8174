// A hundred broken scenes, models and clouds: each refusal names the file, the field and the remedy.
// ctest: sanitized
#include "tests/fuzz/refusals.h"

namespace klab {
namespace {

TEST_F(Refusals, NameFileFieldAndRemedy) { expect_complete(100); }

}  // namespace
}  // namespace klab
