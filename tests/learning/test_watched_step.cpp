// A step of a convolutional network by CUDA rungs on the host executor, every access watched, and two more next to the processor's.
#include "tests/learning/executor_steps.h"

namespace klab::learning {
namespace {

TEST(WatchedStep, FindsNothingInConvolutions) {
  const Dataset data{"glyphs", make_glyphs(40, 1), make_glyphs(8, 2)};
  TrainerSettings s;
  s.model = "conv 3 5 stride 2, batchnorm, pool, conv 4 3, dropout 0.2, 10";
  s.optimizer = {.name = "sgd", .rate = 0.01, .clip = 1};
  s.loader.batch = 8;
  expect_same_steps(data, s, 2);
}

}  // namespace
}  // namespace klab::learning
