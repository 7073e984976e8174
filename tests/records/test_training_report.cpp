// What a report reads of a training's folder.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "harness/report/training.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

class TrainingReport : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(folder / "result.json") << "{}"; }
  TrainingRun read(const std::string& metrics) {
    std::ofstream(folder / "metrics.csv") << metrics;
    return read_training(folder.string(), 0);
  }
  std::string refusal(const std::string& metrics) {
    try {
      read(metrics);
      return "";
    } catch (const std::runtime_error& e) {
      return e.what();
    }
  }
  const TempFolder own;
  const fs::path folder = own.path();
};

TEST_F(TrainingReport, ReadsTermsClippingAndTheFastestBatch) {
  const TrainingRun run = read(
      "seconds,loss,psnr_batch,loss_pixels,loss_depth,loss_distortion,gradient_norm,gradient_clipped,batch,"
      "samples_per_second,psnr_unseen,device_busy\n"
      "1,0.5,10,0.4,0.1,,2,1,512,1e6,,0.25\n"
      "2,nan,11,0.3,0.1,,2,2,512,3e6,,0\n"
      "3,0.2,12,0.15,0.05,,1,1,256,2.5e6,20,0.5\n"
      "4,0.2,12,0.15,0.05,,1,0.5,256,2.7e6,21,0.5\n");
  ASSERT_EQ(run.terms.size(), 2U);  // the one without a weight has no values
  EXPECT_EQ(run.terms[0].name, "depth");
  EXPECT_EQ(run.terms[1].name, "pixels");
  // A line whose loss is not a number is left out.
  EXPECT_EQ(run.terms[1].points, (std::vector<std::pair<double, double>>{{1, 0.4}, {3, 0.15}, {4, 0.15}}));
  EXPECT_EQ(run.clipped, 0.5);
  EXPECT_EQ(run.best_batch, 256);
  EXPECT_NEAR(run.best_rate, 2.6e6, 1);
  EXPECT_EQ(curve_of(run, "psnr_unseen").points, (std::vector<std::pair<double, double>>{{3, 20}, {4, 21}}));
  EXPECT_EQ(curve_of(run, "device_busy").points.front(), (std::pair<double, double>(1, 25)));
  EXPECT_EQ(curve_of(run, "batch").points.size(), 3U);
  EXPECT_TRUE(curve_of(run, "memory").points.empty());
}

TEST_F(TrainingReport, AFileOfAnOlderVersionHasFewerCurves) {
  const TrainingRun run = read("seconds,loss,psnr_batch,batch\n1,0.5,10,512\n2,0.4,11,512\n");
  EXPECT_TRUE(run.terms.empty());
  EXPECT_FALSE(run.clipped);
  EXPECT_FALSE(run.best_batch);
  EXPECT_EQ(curve_of(run, "loss").points.size(), 2U);
  EXPECT_TRUE(curve_of(run, "batch").points.empty()) << "a batch that stays as it is was drawn";
}

TEST_F(TrainingReport, KeepsAFewHundredPoints) {
  std::string text = "seconds,loss,psnr_batch\n";
  for (int i = 0; i < 5000; ++i) text += std::to_string(i) + ",0.5,10\n";
  const TrainingRun run = read(text);
  EXPECT_EQ(curve_of(run, "loss").points.size(), 250U);
  EXPECT_EQ(curve_of(run, "loss").points[1].first, 20);
}

TEST_F(TrainingReport, RefusesABrokenFileNamingTheLine) {
  EXPECT_NE(refusal("seconds,loss,psnr_batch\n1,0.5,10\n2,many,10\n")
                .find("metrics.csv:3: column 'loss' holds 'many'"),
            std::string::npos);
  EXPECT_NE(refusal("seconds,loss,psnr_batch\n1,0.5\n").find("metrics.csv:2: has 2 fields, and there are 3"),
            std::string::npos);
  EXPECT_NE(refusal("seconds,loss\n1,0.5\n").find("has no column 'psnr_batch'"), std::string::npos);
  EXPECT_NE(refusal("").find("is not there or empty"), std::string::npos);
}

}  // namespace
}  // namespace klab
