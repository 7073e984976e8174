// The trainer on a scene small enough for a test: it learns, it repeats, it survives, it refuses.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "labs/16_hash_nerf/evaluate.h"
#include "labs/16_hash_nerf/trainer.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

Config small_config() {
  Config c;
  c.levels = 6;
  c.log2_table = 12;
  c.finest_resolution = 128;
  c.batch_samples = 4096;
  c.first_rays = 64;
  c.grid = 32;
  c.steps_per_diagonal = 128;
  c.width = 16;
  return c;
}

const Scene& small_scene() {
  static const Scene scene = built_in_scene({.downscale = 16});
  return scene;
}

fs::path temporary(const std::string& name) {
  return fs::temp_directory_path() / ("klab_" + std::to_string(::getpid()) + "_" + name);
}

std::vector<float> all_parameters(const Model& model) {
  std::vector<float> all;
  for (const Part part : kParts) all.insert(all.end(), model.of(part).begin(), model.of(part).end());
  return all;
}

TEST(Trainer, LearnsTheBuiltInScene) {
  const Plan plan = Plan::named("best");
  Trainer trainer(small_scene(), small_config(), plan, 1);
  const double before = evaluate(trainer.averaged(), plan, small_scene().test).psnr;
  for (int i = 0; i < 400; ++i) trainer.step(i / 400.0);
  const double after = evaluate(trainer.averaged(), plan, small_scene().test).psnr;
  EXPECT_GT(after, before + 5);
  EXPECT_GT(after, 18);
  EXPECT_LT(trainer.occupied_share(), 0.9);
}

TEST(Trainer, SameSeedSameModel) {
  const Plan plan = Plan::named("best");
  std::vector<float> first;
  for (int run = 0; run < 2; ++run) {
    Trainer trainer(small_scene(), small_config(), plan, 7);
    for (int i = 0; i < 20; ++i) trainer.step(i / 20.0);
    if (run == 0)
      first = all_parameters(trainer.model());
    else
      EXPECT_EQ(first, all_parameters(trainer.model()));
  }
}

TEST(Trainer, PlansAgree) {
  Trainer best(small_scene(), small_config(), Plan::named("best"), 3);
  Trainer naive(small_scene(), small_config(), Plan::named("naive"), 3);
  for (int i = 0; i < 5; ++i) {
    const double a = best.step(0).loss, b = naive.step(0).loss;
    // Rounding differs, and Adam's first steps turn the sign of tiny gradients into whole steps.
    EXPECT_NEAR(a, b, 0.02 * a) << "step " << i;
  }
}

TEST(Trainer, ResumesWhereItWas) {
  const Plan plan = Plan::named("best");
  const fs::path file = temporary("checkpoint.safetensors");
  Trainer whole(small_scene(), small_config(), plan, 5);
  for (int i = 0; i < 12; ++i) whole.step(i / 30.0);
  whole.save(file, {});
  Trainer resumed(small_scene(), small_config(), plan, 99);
  resumed.restore(TensorFile(file));
  EXPECT_EQ(resumed.steps_done(), 12);
  for (int i = 12; i < 30; ++i) {
    whole.step(i / 30.0);
    resumed.step(i / 30.0);
  }
  EXPECT_EQ(all_parameters(whole.model()), all_parameters(resumed.model()));
  EXPECT_EQ(all_parameters(whole.averaged()), all_parameters(resumed.averaged()));
  fs::remove(file);
}

TEST(Trainer, ModelFileSurvivesTheRoundTrip) {
  const Plan plan = Plan::named("best");
  const fs::path file = temporary("model.safetensors");
  Trainer trainer(small_scene(), small_config(), plan, 5);
  trainer.step(0);
  const Model model = trainer.averaged();
  model.save(file);
  const Model loaded = Model::load(file);
  EXPECT_EQ(all_parameters(model), all_parameters(loaded));
  EXPECT_EQ(evaluate(model, plan, small_scene().test).psnr, evaluate(loaded, plan, small_scene().test).psnr);
  fs::remove(file);
}

TEST(Trainer, ACheckpointCutAnywhereIsRefused) {
  const fs::path file = temporary("cut.safetensors");
  Config config = small_config();
  config.levels = 2;
  config.log2_table = 4;
  config.grid = 8;
  Trainer trainer(small_scene(), config, Plan::named("best"), 5);
  trainer.step(0);
  trainer.save(file, {});
  const auto size = fs::file_size(file);
  std::string bytes(size, '\0');
  std::ifstream(file, std::ios::binary).read(bytes.data(), std::streamsize(size));
  for (size_t length = 0; length < size; length += 1 + size / 200) {
    std::ofstream(file, std::ios::binary | std::ios::trunc).write(bytes.data(), std::streamsize(length));
    EXPECT_THROW(TensorFile{file}, std::runtime_error) << "cut at " << length << " of " << size;
  }
  fs::remove(file);
}

TEST(Trainer, NotFiniteStopsNamingStepAndTensor) {
  Trainer trainer(small_scene(), small_config(), Plan::named("best"), 5);
  trainer.step(0);
  const_cast<Model&>(trainer.model()).of(Part::color)[3] = NAN;
  try {
    trainer.step(0);
    FAIL() << "a NaN in the weights went unnoticed";
  } catch (const NotFinite& e) {
    EXPECT_NE(std::string(e.what()).find("step 1"), std::string::npos) << e.what();
  }
}

TEST(Config, RoundTripAndErrors) {
  Config c = small_config();
  c.loss = "mse";
  const Config back = config_from_json(config_to_json(c), "text");
  EXPECT_EQ(config_to_json(c), config_to_json(back));
  const auto message = [](const std::string& text) {
    try {
      config_from_json(text, "my.json");
    } catch (const std::exception& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(message(R"({"leranig_rate": 1})").find("did you mean \"learning_rate\""), std::string::npos);
  EXPECT_NE(message(R"({"levels": "many"})").find("\"levels\" must be a whole number"), std::string::npos);
  EXPECT_NE(message(R"({"levels": 1.5})").find("whole"), std::string::npos);
  EXPECT_NE(message(R"({"levels": 99})").find("from 1 to 32"), std::string::npos);
  EXPECT_NE(message(R"({"loss": "l3"})").find("mse huber smooth_l1"), std::string::npos);
  EXPECT_NE(message(R"({"levels": 4)").find("my.json"), std::string::npos);
  EXPECT_NE(message("[1]").find("object"), std::string::npos);
  EXPECT_NE(message(R"({"features": 3})").find("1, 2, 4 or 8"), std::string::npos);
}

TEST(Plan, RefusesWhatDoesNotExist) {
  const fs::path file = temporary("plan.json");
  const auto message = [&](const std::string& text) {
    std::ofstream(file) << text;
    try {
      Plan::named(file.string());
    } catch (const std::exception& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(message(R"({"conv": "x"})").find("no op of the trainer"), std::string::npos);
  EXPECT_NE(message(R"({"adam": "sh_fwd.cpu.01_naive"})").find("no variant of it"), std::string::npos);
  EXPECT_NE(message("{").find("not valid JSON"), std::string::npos);
  EXPECT_EQ(message(R"({"adam": "adam.cpu.01_naive"})"), "accepted");
  EXPECT_THROW(Plan::named("no/such/plan.json"), std::runtime_error);
  fs::remove(file);
}

TEST(Metrics, PsnrAndSsimOfKnownPictures) {
  std::vector<float> a(3 * 16 * 16, 0.5F), b(a);
  EXPECT_TRUE(std::isinf(psnr(a, b)));
  for (float& v : b) v = 0.5F + 10.0F / 255.0F;
  // Every value differs by ten steps of 1/255.
  EXPECT_NEAR(psnr(a, b), -20 * std::log10(10.0 / 255.0), 1e-6);
  EXPECT_NEAR(ssim(a, a, 16, 16), 1, 1e-12);
  // Constant pictures: only the luminance term differs from 1.
  const double x = 128 / 255.0, y = 138 / 255.0;
  EXPECT_NEAR(ssim(a, b, 16, 16), (2 * x * y + 1e-4) / (x * x + y * y + 1e-4), 1e-6);
  EXPECT_THROW(ssim(a, b, 10, 10), std::invalid_argument);
}

}  // namespace
}  // namespace klab
