// Three thousand broken scenes, models and clouds, as test_refusals.cpp.
// ctest: long
#include "tests/fuzz/refusals.h"

namespace klab {
namespace {

using ManyRefusals = Refusals;

TEST_F(ManyRefusals, NameFileFieldAndRemedy) { expect_complete(3000); }

}  // namespace
}  // namespace klab
