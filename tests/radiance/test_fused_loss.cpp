// The op that brings loss and gradients of samples at once, in the place of four: the same step, where the losses allow it.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "labs/radiance/train/trainer.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

// The best plan's composite_loss_bwd does the work of four separate ops.
TEST(Trainer, FusedLossMatchesTheSeparateOps) {
  const std::string fused = variants_of("composite_loss_bwd", "cpu").back()->id;
  const Plan best = plan_with({{"composite_loss_bwd", fused}}),
             separate = plan_with({{"composite_loss_bwd", ""}});
  ASSERT_TRUE(best.contains("composite_loss_bwd"));
  ASSERT_FALSE(separate.contains("composite_loss_bwd"));
  for (const char* loss : {"mse", "huber", "smooth_l1"})
    for (const double distortion : {0.0, 1e-2}) {
      Config config = small_config();
      config.loss = loss;
      config.distortion = distortion;
      config.background = "random";
      Trainer one(small_scene(), config, best, 3), four(small_scene(), config, separate, 3);
      for (int i = 0; i < 20; ++i) four.step(0);
      const TempFolder folder;
      const fs::path start = folder / "start.safetensors";
      four.save(start, {});
      one.restore(TensorFile(start));
      const double a = one.loss_and_gradient().loss, b = four.loss_and_gradient().loss;
      EXPECT_NEAR(a, b, 1e-5 * b) << loss;
      EXPECT_NEAR(one.batch_psnr(), four.batch_psnr(), 1e-4) << loss;
      EXPECT_EQ(one.profile().seconds().count("composite_bwd"), 0U);
      EXPECT_EQ(four.profile().seconds().count("composite_loss_bwd"), 0U);
      for (const Part part : kParts) {
        double apart = 0, size = 0;
        for (int64_t i = 0; i < one.gradient(part).size(); ++i) {
          const double p = double(one.gradient(part)[i]), q = double(four.gradient(part)[i]);
          apart += (p - q) * (p - q);
          size += q * q;
        }
        EXPECT_GT(size, 0) << loss;
        EXPECT_LE(std::sqrt(apart), 1e-4 * std::sqrt(size)) << loss << ", " << int(part);
      }
    }
}

// Opacities and depths have no gradient in the fused op: a loss that needs one takes the separate ops.
TEST(Trainer, TermsOfOpacityAndDepthKeepTheSeparateOps) {
  for (double Config::*term : {&Config::opacity_entropy, &Config::depth}) {
    Config config = small_config();
    config.*term = 1e-3;
    Plan plan = small_plan();  // of every term
    plan.choose(
        "composite_loss_bwd",
        plan_with({{"composite_loss_bwd", "composite_loss_bwd.cpu.02_one_pass"}}).at("composite_loss_bwd"));
    Trainer trainer(small_scene(), config, plan, 3);
    trainer.step(0);
    EXPECT_EQ(trainer.profile().seconds().count("composite_loss_bwd"), 0U);
    EXPECT_EQ(trainer.profile().seconds().count("composite_bwd"), 1U);
  }
}

TEST(Plan, NamingAPartOfTheFusedOpKeepsTheParts) {
  const auto calls = training_calls(small_config(), 1);
  const auto times_where = [](double fused) {
    return [fused](const std::string& op, const auto&, auto variants) -> CallTimes::Measured {
      return std::vector<double>(variants.size(), op == "composite_loss_bwd" ? fused : 1.0);
    };
  };
  const auto plan_of = [&](const char* text, double fused = 1) {
    CallTimes times({}, times_where(fused));
    const TempFolder folder;
    const fs::path file = folder / "parts.json";
    std::ofstream(file) << text;
    return Plan::named(file.string(), calls, times);
  };
  CallTimes quick({}, times_where(1));
  EXPECT_FALSE(Plan::named("naive", calls, quick).contains("composite_loss_bwd"));
  EXPECT_TRUE(plan_of(R"({"adam": "adam.cpu.01_naive"})").contains("composite_loss_bwd"));
  EXPECT_FALSE(plan_of(R"({"adam": "adam.cpu.01_naive"})", 100).contains("composite_loss_bwd")) << "slower";
  EXPECT_FALSE(plan_of(R"({"composite_loss_bwd": null})").contains("composite_loss_bwd"));
  EXPECT_FALSE(plan_of(R"({"composite_bwd": "composite_bwd.cpu.01_serial"})").contains("composite_loss_bwd"));
  const Plan both = plan_of(R"({"composite_bwd": "composite_bwd.cpu.01_serial",
                                "composite_loss_bwd": "composite_loss_bwd.cpu.02_one_pass"})");
  EXPECT_EQ(both.variant("composite_loss_bwd")->id, "composite_loss_bwd.cpu.02_one_pass");
  EXPECT_THROW(plan_of(R"({"composite_bwd": null})"), std::runtime_error);
}

}  // namespace
}  // namespace klab
