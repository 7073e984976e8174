// The convolutional network of klab classify by CUDA rungs on the host executor: a watched step, and nineteen more.
// ctest: long
#include "tests/learning/executor_steps.h"

namespace klab::learning {
namespace {

TEST(ClassifierOnTheExecutor, TheConvolutionalNetworkMakesTheProcessorsSteps) {
  const Dataset data{"glyphs", make_glyphs(160, 1), make_glyphs(8, 2)};
  const TrainerSettings settings{.model = "cnn",
                                 .schedule = "constant",
                                 .optimizer = {.name = "sgd", .rate = 0.01},
                                 .loader = {.batch = 8},
                                 .epochs = 1};
  expect_same_steps(data, settings, 19);
}

}  // namespace
}  // namespace klab::learning
