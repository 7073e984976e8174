// The trainer on a scene small enough for a test: it learns, it repeats, it survives, it refuses.
// ctest: sanitized-ops
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/run/plan_ladder.h"
#include "labs/radiance/train/trainer.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

std::vector<float> all_parameters(const Model& model) {
  std::vector<float> all;
  for (const Part part : kParts) all.insert(all.end(), model.of(part).begin(), model.of(part).end());
  return all;
}

TEST(Trainer, LearnsTheBuiltInScene) {
  const Plan& plan = small_plan();
  Trainer trainer(small_scene(), small_config(), plan, 1);
  const double before = evaluate(trainer.averaged(), plan, small_scene().test).psnr;
  for (int i = 0; i < 400; ++i) trainer.step(i / 400.0);
  const double after = evaluate(trainer.averaged(), plan, small_scene().test).psnr;
  EXPECT_GT(after, before + 5);
  EXPECT_GT(after, 18);
  EXPECT_LT(trainer.occupied_share(), 0.9);
}

TEST(Trainer, SameSeedSameModel) {
  const Plan& plan = small_plan();
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

TEST(Trainer, LevelsLearnInTurnFromTheCoarsest) {
  Config c = small_config();
  c.open_until = 1;
  c.open_first = 2;
  Trainer trainer(small_scene(), c, small_plan(), 3);
  const std::vector<int64_t> sizes = trainer.model().sizes;
  const auto table = [&] {
    const Array<float>& t = trainer.model().of(Part::table);
    return std::vector<float>(t.begin(), t.end());
  };
  const std::vector<float> before = table();
  const auto levels_that_moved = [&] {
    const std::vector<float> now = table();
    int64_t moved = 0, begin = 0;
    for (const int64_t entries : sizes) {
      const int64_t end = begin + entries * c.features;
      moved += !std::equal(now.begin() + begin, now.begin() + end, before.begin() + begin);
      begin = end;
    }
    return moved;
  };
  trainer.step(0);
  EXPECT_EQ(levels_that_moved(), 2);
  trainer.step(0.5);
  EXPECT_EQ(levels_that_moved(), 4);
  trainer.step(1);
  EXPECT_EQ(levels_that_moved(), 6);
}

TEST(Trainer, PlansAgree) {
  Trainer best(small_scene(), small_config(), small_plan(), 3);
  Trainer naive(small_scene(), small_config(), small_plan("naive"), 3);
  for (int i = 0; i < 5; ++i) {
    const double a = best.step(0).loss, b = naive.step(0).loss;
    // Rounding differs, and Adam's first steps turn the sign of tiny gradients into whole steps.
    EXPECT_NEAR(a, b, 0.02 * a) << "step " << i;
  }
}

// The parameters of one part, moved by h times a direction and put back at the end.
class Moved {
 public:
  Moved(Array<float>& parameters, const std::vector<float>& direction, double h)
      : parameters_(parameters), kept_(parameters.begin(), parameters.end()) {
    for (size_t i = 0; i < direction.size(); ++i)
      parameters_[int64_t(i)] = float(double(kept_[i]) + h * double(direction[i]));
  }
  ~Moved() { std::copy(kept_.begin(), kept_.end(), parameters_.begin()); }
  Moved(const Moved&) = delete;
  Moved& operator=(const Moved&) = delete;

 private:
  Array<float>& parameters_;
  std::vector<float> kept_;
};

// Along several directions: the change of the loss against the gradient. All terms of the loss at once, then
// each by itself, so that none hides behind another.
TEST(Trainer, GradientOfTheWholeStep) {
  Config plain = small_config();
  plain.loss = "mse";
  const TempFolder folder;
  const fs::path learned = folder / "learned.safetensors";
  {
    Trainer trainer(small_scene(), plain, small_plan(), 11);
    for (int i = 0; i < 60; ++i) trainer.step(0);
    trainer.save(learned, {});
  }
  std::vector<std::string> cases = {"all", "pixels"};
  for (const LossTerm& each : loss_terms()) cases.emplace_back(each.term->name);
  for (const std::string& only : cases) {
    Config config = plain;
    for (const LossTerm& each : loss_terms())
      if (only == "all" || only == each.term->name)
        config.*each.weight = each.term->where == Term::on_own_points ? 0.1 : 1;
    Trainer trainer(small_scene(), config, small_plan(), 11);
    trainer.restore(TensorFile(learned));
    auto& model = const_cast<Model&>(trainer.model());
    trainer.loss_and_gradient();
    std::array<std::vector<float>, 3> gradients;
    for (const Part part : kParts) {
      Array<float>& g = trainer.gradient(part);
      gradients[size_t(part)].assign(g.begin(), g.end());
    }
    std::mt19937_64 random(3);
    for (const Part part : kParts) {
      const std::vector<float>& gradient = gradients[size_t(part)];
      double length = 0;
      for (const float g : gradient) length += double(g) * double(g);
      ASSERT_GT(length, 0) << only;
      for (int direction = 0; direction < 2; ++direction) {
        // Mostly along the gradient, so that the change of the loss stands out of the rounding.
        std::vector<float> d(gradient.size());
        double slope = 0;
        for (size_t i = 0; i < d.size(); ++i) {
          d[i] = gradient[i] * std::uniform_real_distribution<float>(0.2F, 1.8F)(random) /
                 float(std::sqrt(length));
          slope += double(gradient[i]) * double(d[i]);
        }
        constexpr double h = 2e-3;
        const auto loss_at = [&](double where) {
          const Moved moved(model.parameters[size_t(part)], d, where);
          return trainer.loss_and_gradient().loss;
        };
        const double measured = (loss_at(h) - loss_at(-h)) / (2 * h);
        EXPECT_NEAR(measured, slope, 0.02 * std::abs(slope)) << only << ", part " << int(part);
      }
    }
  }
}

TEST(Trainer, DropsCutRays) {
  const Config config = small_config();
  const Model model(config, {});
  RayBatch batch(model, 4, 20);
  batch.rays = 4;
  const auto marched = [&](std::array<int32_t, 5> begin) {
    std::copy(begin.begin(), begin.end(), batch.ray_begin.begin());
    batch.samples = begin[4];
  };
  marched({0, 5, 9, 9, 9});
  EXPECT_EQ(whole_rays(batch, 11), 4);  // there was room for a ray of 11: the empty ones are empty
  EXPECT_EQ(whole_rays(batch, 12), 2);  // a ray of 12 would not have fit
  marched({0, 0, 7, 7, 14});
  EXPECT_EQ(whole_rays(batch, 12), 4);  // rays before one with samples are whole
  for (int i = 0; i < 12; ++i) batch.origins[i] = float(i);
  keep_rays(batch, 2);
  EXPECT_EQ(batch.rays, 2);
  EXPECT_EQ(batch.samples, 7);
  EXPECT_EQ(std::vector<float>(batch.origins.begin(), batch.origins.begin() + 6),
            (std::vector<float>{0, 1, 4, 5, 8, 9}));

  // In a fully occupied grid the rays want more samples than there is room for. The remaining rays must reach
  // the end of the box: none may look like a ray through empty space.
  Config crowded = small_config();
  crowded.batch_samples = 1024;
  crowded.max_samples_per_ray = 128;
  crowded.first_rays = 512;
  crowded.grid_every = 1 << 20;
  Trainer trainer(small_scene(), crowded, small_plan(), 1);
  const StepReport first = trainer.loss_and_gradient();
  EXPECT_LT(first.rays, 512);
  EXPECT_GT(first.rays, 0);
  EXPECT_LE(first.marched, TrainStep::march_capacity(crowded));
  for (int i = 0; i < 3; ++i) trainer.step(0);
  const StepReport later = trainer.step(0);
  EXPECT_LT(later.marched, 2 * crowded.batch_samples) << "the number of rays did not adapt";
}

// A picture in pieces from the front is the picture of whole rays.
TEST(Trainer, PiecesMakeTheWholePicture) {
  const Plan& plan = small_plan();
  Config config = small_config();
  config.steps_per_diagonal = 256;  // rays of many pieces
  Trainer trainer(small_scene(), config, plan, 2);
  for (int i = 0; i < 60; ++i) trainer.step(0);
  const Model model = trainer.averaged();
  const Camera& camera = small_scene().test.front().camera;
  const Picture picture = Renderer(model, plan).render(camera);
  Profile profile;
  const int64_t pixels = int64_t(camera.width) * camera.height;
  RayBatch batch(model, pixels, 256 * pixels);
  Field field(model, plan, profile, batch.max_samples);
  batch.rays = pixels;
  for (int64_t i = 0; i < pixels; ++i) {
    const Ray ray = camera.ray(float(i % camera.width) + 0.5F, float(i / camera.width) + 0.5F);
    const float o[3] = {ray.origin.x, ray.origin.y, ray.origin.z};
    const float d[3] = {ray.direction.x, ray.direction.y, ray.direction.z};
    for (int64_t c = 0; c < 3; ++c) {
      batch.origins[c * pixels + i] = o[c];
      batch.directions[c * pixels + i] = d[c];
      batch.background[c * pixels + i] = 1;
    }
    batch.jitter[i] = 0.5F;
  }
  march(model, plan, profile, batch);
  ASSERT_EQ(whole_rays(batch, config.max_samples_per_ray), pixels);
  place_samples(model, batch);
  spread_directions(batch);
  field.density(model.of(Part::table).data(), model.of(Part::density).data(), batch.positions.data(),
                batch.samples);
  field.color(model.of(Part::color).data(), batch.sample_directions.data(), batch.samples);
  composite(plan, profile, field, batch);
  double covered = 0;
  for (int64_t i = 0; i < pixels; ++i) {
    covered += double(batch.opacity[i]);
    EXPECT_NEAR(picture.opacity[size_t(i)], batch.opacity[i], 3e-4);
    EXPECT_NEAR(picture.depth[size_t(i)], batch.depth[i], 2e-3);
    for (int64_t c = 0; c < 3; ++c)
      EXPECT_NEAR(picture.rgb[size_t(3 * i + c)], batch.color[c * pixels + i], 3e-4);
  }
  EXPECT_GT(covered, 0.05 * double(pixels));
}

TEST(PlanLadder, EveryRungReplacesOneOpAndAgrees) {
  Config config = small_config();
  config.batch_samples = 1024;
  int64_t steps = 0;  // of the trainer that is shown at the end
  const auto rungs = measure_plans(small_scene(), config, small_plan("naive"), small_plan(),
                                   {.warm_steps = 40, .steps = 2, .seconds = 0, .rounds = 2}, {.seed = 4},
                                   [&](const FieldTrainer& trainer) { steps = trainer.steps_done(); });
  EXPECT_EQ(steps, 40 + 1 + 2) << "the common steps, and the untimed and the timed ones of the last rung";
  const Plan &best = small_plan(), &naive = small_plan("naive");
  ASSERT_GT(rungs.size(), 5U);
  EXPECT_EQ(rungs.front().plan.ids(), naive.ids());
  for (size_t i = 1; i < rungs.size(); ++i) {
    int changed = 0;
    for (const auto& [op, choice] : rungs[i].plan.choices())
      changed += !rungs[i - 1].plan.contains(op) || choice.variant != rungs[i - 1].plan.variant(op);
    EXPECT_EQ(changed, 1) << rungs[i].name;
  }
  for (const PlanRung& rung : rungs) {
    EXPECT_EQ(rung.seconds.size(), 2U);
    EXPECT_EQ(rung.losses.size(), 3U);
    EXPECT_LE(disagreement(rung, rungs.front()), 1) << rung.name;
  }
  // Ops of the step end at their best rung; those of losses that this config leaves out stay as they are.
  for (const char* op : {"hashgrid_fwd", "hashgrid_bwd", "mlp_fwd", "mlp_bwd", "adam", "ray_march"})
    EXPECT_EQ(rungs.back().plan.variant(op), best.variant(op)) << op;
  PlanRung wrong = rungs.back();
  wrong.losses[0] *= 1.001;
  EXPECT_GT(disagreement(wrong, rungs.front()), 1);
  wrong.losses[0] = NAN;
  EXPECT_GT(disagreement(wrong, rungs.front()), 1);
}

TEST(Trainer, ResumesWhereItWas) {
  const Plan& plan = small_plan();
  const TempFolder folder;
  const fs::path file = folder / "checkpoint.safetensors";
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
}

TEST(Trainer, ModelFileSurvivesTheRoundTrip) {
  const Plan& plan = small_plan();
  const TempFolder folder;
  const fs::path file = folder / "model.safetensors";
  Trainer trainer(small_scene(), small_config(), plan, 5);
  trainer.step(0);
  const Model model = trainer.averaged();
  model.save(file);
  const Model loaded = Model::load(file);
  EXPECT_EQ(all_parameters(model), all_parameters(loaded));
  EXPECT_EQ(evaluate(model, plan, small_scene().test).psnr, evaluate(loaded, plan, small_scene().test).psnr);
}

TEST(Trainer, RefusesACheckpointCutAnywhere) {
  const TempFolder folder;
  const fs::path file = folder / "cut.safetensors";
  Config config = small_config();
  config.levels = 2;
  config.log2_table = 4;
  config.grid = 8;
  Trainer trainer(small_scene(), config, small_plan(), 5);
  trainer.step(0);
  trainer.save(file, {});
  const auto size = fs::file_size(file);
  std::string bytes(size, '\0');
  std::ifstream(file, std::ios::binary).read(bytes.data(), std::streamsize(size));
  for (size_t length = 0; length < size; length += 1 + size / 200) {
    std::ofstream(file, std::ios::binary | std::ios::trunc).write(bytes.data(), std::streamsize(length));
    EXPECT_THROW(TensorFile{file}, std::runtime_error) << "cut at " << length << " of " << size;
  }
}

TEST(Trainer, StopsAtNonFiniteValuesNamingStepAndTensor) {
  Trainer trainer(small_scene(), small_config(), small_plan(), 5);
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
