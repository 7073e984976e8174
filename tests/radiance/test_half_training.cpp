// Training a field with tensors in half precision: the effect of rounding, the purpose of a loss scale, and
// the cost of an overflow.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "labs/radiance/run/precision.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

const StepPrecision kHalf = {.formats = half_formats(), .scale = LossScaleSettings{}};

const Plan& half_plan() {
  static CallTimes times = later_is_faster();
  static const Plan plan = Plan::named("best", training_calls(small_config(), 1, half_formats()), times);
  return plan;
}

Trainer half_trainer(const StepPrecision& precision = kHalf) {
  return Trainer(small_scene(), small_config(), half_plan(), 1, cpu_backend(), {}, nullptr, {}, precision);
}

std::vector<float> trained_parameters(const Trainer& t) {
  std::vector<float> all;
  for (const Part part : kParts) all.insert(all.end(), t.model().of(part).begin(), t.model().of(part).end());
  return all;
}

/// Everything that a checkpoint has, as bytes.
std::string bytes_of(const Trainer& t) {
  const TempFolder folder;
  const auto file = folder / "checkpoint.safetensors";
  t.save(file, {});
  const TensorFile read(file);
  std::string all;
  for (const TensorView& tensor : read.tensors()) {
    int64_t n = tensor.dtype == "U8" ? 1 : 4;
    for (const int64_t d : tensor.shape) n *= d;
    all.append(static_cast<const char*>(tensor.data), size_t(n));
  }
  return all;
}

TEST(HalfTraining, GradientsIntoTheNetworksAreHalves) {
  Trainer t = half_trainer();
  for (int i = 0; i < 20; ++i) t.step(0);
  for (const char* name : {"d_rgb", "d_raw"}) {
    const std::vector<float> g = t.tensor(name);
    ASSERT_GT(g.size(), 100U);
    for (const float x : g) ASSERT_EQ(x, float_from_half(half_from_float(x))) << name;
  }
  for (const float x : t.tensor("density in fewer bits")) ASSERT_EQ(x, float_from_half(half_from_float(x)));
  EXPECT_GT(t.lost().numbers, 0);
  EXPECT_THROW(t.tensor("nothing"), std::out_of_range);
}

/// The same gradient as in float, up to the rounding of halves, after unscaling.
TEST(HalfTraining, GradientsAreUnscaledBeforeTheOptimizer) {
  Trainer floats(small_scene(), small_config(), small_plan(), 1);
  Trainer halves = half_trainer();
  floats.loss_and_gradient();
  halves.loss_and_gradient();
  for (const Part part : kParts) {
    double difference = 0, size = 0;
    const Array<float>& a = floats.gradient(part);
    const Array<float>& b = halves.gradient(part);
    for (int64_t i = 0; i < a.size(); ++i) {
      difference += (double(a[i]) - double(b[i])) * (double(a[i]) - double(b[i]));
      size += double(a[i]) * double(a[i]);
    }
    EXPECT_LT(std::sqrt(difference / size), 0.02) << int(part);
    EXPECT_GT(difference, 0) << int(part);
  }
}

TEST(HalfTraining, AnOverflowSkipsOnlyItsStep) {
  for (const Part part : {Part::density, Part::color}) {
    Trainer t = half_trainer();
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(t.step(0).finite);
    const std::string before = bytes_of(t);
    t.gradient(part)[3] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(t.step(0).finite);
    EXPECT_EQ(bytes_of(t), before);  // no parameter, moment, average or step count
    EXPECT_EQ(t.loss_scale()->value(), 32768);
    EXPECT_EQ(t.loss_scale()->state().skipped, 1);
    for (const Part each : kParts)
      for (const float g : t.gradient(each)) ASSERT_EQ(g, 0);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(t.step(0).finite);
    EXPECT_EQ(t.steps_done(), 11);
    EXPECT_EQ(t.loss_scale()->state().skipped, 1);
    EXPECT_NE(bytes_of(t), before);
    for (const float p : trained_parameters(t)) ASSERT_TRUE(std::isfinite(p));
  }
}

/// Far too large a scale: gradients of halves overflow by themselves until it has come down.
TEST(HalfTraining, HalvesATooLargeScale) {
  Trainer t =
      half_trainer({.formats = half_formats(), .scale = LossScaleSettings{.start = 0x1p40, .most = 0x1p41}});
  const std::vector<float> before = trained_parameters(t);
  int64_t skipped = 0;
  while (!t.step(0).finite) {
    EXPECT_EQ(trained_parameters(t), before);
    ASSERT_LT(++skipped, 40);
  }
  EXPECT_GT(skipped, 5);
  EXPECT_EQ(t.loss_scale()->value(), std::ldexp(1.0, 40 - int(skipped)));
  EXPECT_NE(trained_parameters(t), before);
}

TEST(HalfTraining, ATooLargeStaticScaleEndsTheRunWithAReason) {
  Trainer t = half_trainer(
      {.formats = half_formats(), .scale = LossScaleSettings{.dynamic = false, .start = 0x1p40}});
  try {
    for (int64_t i = 0; i <= LossScale::kMostSkipped; ++i) t.step(0);
    FAIL() << "goes on without a finite gradient";
  } catch (const NotFinite& e) {
    EXPECT_NE(std::string(e.what()).find("64 steps in a row"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("--loss-scale dynamic"), std::string::npos) << e.what();
  }
}

/// Without a scale a non-finite value ends the run, as in float.
TEST(HalfTraining, WithoutAScaleAnOverflowEndsTheRun) {
  Trainer t = half_trainer({.formats = half_formats()});
  t.gradient(Part::density)[3] = std::numeric_limits<float>::infinity();
  EXPECT_THROW(t.step(0), NotFinite);
}

/// A loss of a thousandth, as of a batch a thousand times as large: with scale 1 the table's gradient is gone, with the dynamic one
/// it is that of floats.
TEST(HalfTraining, SmallGradientsVanishWithScaleOneButNotWithADynamicScale) {
  const auto share_of_table = [](double scale) {
    Trainer t = half_trainer(
        {.formats = half_formats(), .scale = LossScaleSettings{.dynamic = false, .start = scale}});
    t.loss_and_gradient();
    double sum = 0;
    for (const float g : t.gradient(Part::table)) sum += std::fabs(double(g));
    return std::pair{sum, t.lost().share()};
  };
  const auto [right, kept] = share_of_table(65536);
  const auto [one, lost] = share_of_table(1);
  const auto [least, gone] = share_of_table(0x1p-10);
  EXPECT_LT(std::fabs(one / right - 1), 0.5);
  EXPECT_LT(kept, lost);
  EXPECT_LT(lost, gone);
  EXPECT_GT(gone, 0.9);
  EXPECT_LT(least, 0.1 * right);
}

TEST(HalfTraining, ResumesToTheBit) {
  const TempFolder folder;
  const auto file = folder / "checkpoint.safetensors";
  const StepPrecision grows = {.formats = half_formats(),
                               .scale = LossScaleSettings{.start = 0x1p20, .grow_after = 4}};
  Trainer whole = half_trainer(grows), before = half_trainer(grows), after = half_trainer(grows);
  for (int i = 0; i < 14; ++i) whole.step(0);
  for (int i = 0; i < 9; ++i) before.step(0);
  before.save(file, {});
  {
    const TensorFile saved(file);
    after.restore(saved);
    EXPECT_EQ(after.loss_scale()->value(), before.loss_scale()->value());
    EXPECT_EQ(after.loss_scale()->state().good, before.loss_scale()->state().good);
    EXPECT_EQ(after.loss_scale()->state().skipped, before.loss_scale()->state().skipped);
    Trainer floats(small_scene(), small_config(), small_plan(), 1);  // parameters are float in both
    floats.restore(saved);
    EXPECT_EQ(floats.loss_scale(), nullptr);
    EXPECT_EQ(trained_parameters(floats), trained_parameters(before));
  }
  for (int i = 9; i < 14; ++i) after.step(0);
  EXPECT_EQ(trained_parameters(after), trained_parameters(whole));
  EXPECT_EQ(after.loss_scale()->value(), whole.loss_scale()->value());
}

TEST(Precision, AnotherOneKeepsTheRungsThatServeBoth) {
  const VariantIds both = {{"adam", "adam.cpu.01_naive"}, {"composite_fwd", "composite_fwd.cpu.01_serial"}};
  VariantIds plan = both;
  plan["mlp_fwd"] = "mlp_fwd.cpu.08_bfloat16";
  plan["mlp_bwd"] = "mlp_bwd.cpu.01_naive";  // bfloat16 has one of its own, which may be faster
  plan["hashgrid_fwd"] = "hashgrid_fwd.cpu.04_half_table";
  EXPECT_EQ(plan_for_any_precision(plan, "cpu"), both);
}

TEST(Precision, IsRefusedForFieldsWithoutIt) {
  FieldSettings hash, voxels;
  voxels.field = "voxels";
  for (const char* backend : {"cpu", "simt"}) {
    EXPECT_NO_THROW(require_precision("f16", hash, backend));
    EXPECT_NO_THROW(require_precision("bf16", hash, backend));
    EXPECT_NO_THROW(require_precision("f32", voxels, backend));
    const auto refused = [&](const char* precision, const std::string& words) {
      try {
        require_precision(precision, voxels, backend);
        ADD_FAILURE() << precision << " is ignored";
      } catch (const std::runtime_error& e) {
        EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
      }
    };
    refused("f16", "this is voxels; take f32");
    refused("bf16", std::string("has a rung with bfloat16 factors on --backend ") + backend + "; take f32");
  }
}

}  // namespace
}  // namespace klab
