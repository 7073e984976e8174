// The loss by which a network learns from another one's outputs: its gradient, and where it is none.
// ctest: sanitized-ops
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "labs/learning/network/loss.h"

namespace klab::learning {
namespace {

TEST(SoftTargets, GradientMatchesFiniteDifferences) {
  constexpr int64_t n = 2, classes = 3;
  std::vector<float> student = {0.5F, -1, 2, 30, 28, -4}, d(n * classes), unused(n * classes);
  const std::vector<float> teacher = {3, 1, -2, 5, 5.5F, 90};
  for (const double softening : {1.0, 4.0}) {
    soft_cross_entropy(n, classes, student.data(), teacher.data(), softening, d.data());
    for (size_t i = 0; i < student.size(); ++i) {
      const auto at = [&](float by) {
        std::vector<float> moved = student;
        moved[i] += by;
        return soft_cross_entropy(n, classes, moved.data(), teacher.data(), softening, unused.data());
      };
      // Steps of 1/64 are exact in these numbers; the error of a central difference is a third derivative times their square.
      EXPECT_NEAR(d[i], 32 * (at(1.0F / 64) - at(-1.0F / 64)), 1e-4) << i << " at " << softening;
    }
  }
}

TEST(SoftTargets, AStudentThatAgreesHasNoGradient) {
  const std::vector<float> outputs = {1, 2, -3, 0};
  std::vector<float> d(4, 1.0F);
  soft_cross_entropy(1, 4, outputs.data(), outputs.data(), 4, d.data());
  for (const float g : d) EXPECT_NEAR(g, 0, 1e-6);
}

}  // namespace
}  // namespace klab::learning
