// A batch in parts: one trainer that computes all of them, and several that add up, make the same step.
// test_ranks.sh tests it between processes.
#include <gtest/gtest.h>

#include <barrier>
#include <cmath>
#include <mutex>
#include <thread>

#include "labs/radiance/ranks/ranks.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

/// Threads in the place of processes: each has a trainer, and they add up their gradients.
class Meeting {
 public:
  explicit Meeting(int size) : size_(size), barrier_(size) {}

  void sum(std::span<const SharedGradient> gradients, std::span<double> numbers, float scale) {
    {
      const std::scoped_lock lock(mutex_);
      if (++here_ % size_ == 1 || size_ == 1) {
        for (size_t p = 0; p < 3; ++p) sums_[p].assign(gradients[p].values.size(), 0.0F);
        numbers_.assign(numbers.size(), 0.0);
      }
      for (size_t p = 0; p < 3; ++p)
        for (size_t i = 0; i < sums_[p].size(); ++i) sums_[p][i] += gradients[p].values[i];
      for (size_t i = 0; i < numbers.size(); ++i) numbers_[i] += numbers[i];
    }
    barrier_.arrive_and_wait();
    for (size_t p = 0; p < 3; ++p)
      for (size_t i = 0; i < sums_[p].size(); ++i) gradients[p].values[i] = scale * sums_[p][i];
    std::copy(numbers_.begin(), numbers_.end(), numbers.begin());
    barrier_.arrive_and_wait();
  }

 private:
  int size_, here_ = 0;
  std::mutex mutex_;
  std::barrier<> barrier_;
  std::array<std::vector<float>, 3> sums_;
  std::vector<double> numbers_;
};

std::vector<float> gradient_of_ranks(Trainer& trainer) {
  std::vector<float> all;
  for (const Part part : kParts) {
    const Array<float>& g = trainer.gradient(part);
    all.insert(all.end(), g.begin(), g.end());
  }
  return all;
}

/// Bound for sums of the same terms in another order: N parts with some thousand terms an entry differ by at
/// most this many roundings of single precision of the largest.
constexpr double kBound = 64 * 0x1p-24;

TEST(BatchShare, OneTrainerAndSeveralComputeTheSameGradient) {
  const Plan& plan = small_plan("naive");
  for (const int ranks : {2, 4}) {
    Trainer one(small_scene(), small_config(), plan, 5, cpu_backend(), {}, nullptr,
                {.parts = ranks, .first = 0, .own = ranks});
    EXPECT_EQ(one.batch_samples(), small_config().batch_samples);
    const StepReport alone = one.shared_loss_and_gradient();
    const std::vector<float> expected = gradient_of_ranks(one);
    Meeting meeting(ranks);
    std::vector<std::vector<float>> got(static_cast<size_t>(ranks));
    std::vector<StepReport> reports(static_cast<size_t>(ranks));
    {
      std::vector<std::jthread> threads;
      for (int r = 0; r < ranks; ++r)
        threads.emplace_back([&, r] {
          Trainer mine(small_scene(), small_config(), plan, 5, cpu_backend(), {}, nullptr,
                       {.parts = ranks, .first = r, .own = 1, .sum = [&](auto g, auto n, float scale) {
                          meeting.sum(g, n, scale);
                        }});
          reports[size_t(r)] = mine.shared_loss_and_gradient();
          got[size_t(r)] = gradient_of_ranks(mine);
        });
    }
    double largest = 0;
    for (const float g : expected) largest = std::max(largest, std::abs(double(g)));
    ASSERT_GT(largest, 0);
    for (int r = 0; r < ranks; ++r) {
      EXPECT_EQ(got[size_t(r)], got[0]) << "ranks go by one gradient";
      EXPECT_EQ(reports[size_t(r)].samples, alone.samples);
      EXPECT_NEAR(reports[size_t(r)].loss, alone.loss, 1e-6 * alone.loss);
      double apart = 0;
      for (size_t i = 0; i < expected.size(); ++i)
        apart = std::max(apart, std::abs(double(expected[i]) - double(got[size_t(r)][i])));
      // Two numbers have one sum, in whichever order they are added.
      EXPECT_LE(apart, ranks == 2 ? 0 : kBound * largest) << ranks << " ranks";
    }
  }
}

TEST(BatchShare, PartsDrawOtherRays) {
  Trainer first(small_scene(), small_config(), small_plan("naive"), 5, cpu_backend(), {}, nullptr,
                {.parts = 2, .first = 0});
  Trainer second(small_scene(), small_config(), small_plan("naive"), 5, cpu_backend(), {}, nullptr,
                 {.parts = 2, .first = 1});
  EXPECT_NE(first.shared_loss_and_gradient().loss, second.shared_loss_and_gradient().loss);
  EXPECT_NE(gradient_of_ranks(first), gradient_of_ranks(second));
}

TEST(BatchShare, TrainingInPartsLearnsAsWellAsInOne) {
  const auto loss_after = [](int64_t parts) {
    Trainer trainer(small_scene(), small_config(), small_plan("naive"), 6, cpu_backend(), {}, nullptr,
                    {.parts = parts, .first = 0, .own = parts});
    double sum = 0;
    for (int i = 0; i < 60; ++i) {
      const double loss = trainer.step(0).loss;
      if (i >= 40) sum += loss / 20;
    }
    return sum;
  };
  const double whole = loss_after(1), parts = loss_after(4);
  EXPECT_NEAR(parts, whole, 0.25 * whole);
}

TEST(Ranks, ASingleProcessExchangesNothing) {
  Ranks& ranks = Ranks::here();
  ASSERT_EQ(ranks.size(), 1);
  std::vector<float> values = {1, 2, 3};
  ranks.sum(values);
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(ranks.gather("x"), std::vector<std::string>{"x"});
  ranks.wait_for_all();
  EXPECT_NO_THROW(require_alike(ranks, {{"scene", "a"}}));
}

}  // namespace
}  // namespace klab
