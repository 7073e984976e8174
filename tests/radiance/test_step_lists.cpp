// A step is a program of ops: the same on the processor with exact sizes, with padded ones, and with CUDA rungs on the
// host executor.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "harness/program/measure_ops.h"
#include "harness/simt/session.h"
#include "labs/radiance/evaluate/list_renderer.h"
#include "labs/radiance/train/backends.h"
#include "labs/radiance/train/trainer.h"
#include "reference/axpy/axpy.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

const Plan& tiny_plan(const Config& c, const std::string& ladder) {
  static std::map<std::string, Plan> plans;
  static CallTimes times;
  if (!plans.contains(ladder))
    plans.emplace(ladder, Plan::named("naive", training_calls(c, 1), times, ladder));
  return plans.at(ladder);
}

Trainer trainer_on(const std::string& backend, const Config& c, uint64_t seed) {
  const BackendChoice choice = backend_named(backend);
  CallTimes times;
  const Plan plan = choice.ladder == "cpu" ? tiny_plan(c, "cpu")
                                           : Plan::named("best", training_calls(c, 1), times, choice.ladder);
  return Trainer(small_scene(), c, plan, seed, choice.backend, choice.sizes);
}

double apart_step_lists(double a, double b) { return std::abs(a - b) / std::abs(a); }

/// Padding weighs nothing.
TEST(TrainStep, MaximalSizesGiveTheSameLosses) {
  for (const double terms : {0.0, 1e-2}) {
    Config c = tiny_config();
    weigh_all_terms(c, terms);
    CallTimes times;
    const Plan plan = Plan::named("naive", training_calls(c, 1), times);
    Backend padded = cpu_backend();
    padded.exact = false;
    Trainer one(small_scene(), c, plan, 5),
        other(small_scene(), c, plan, 5, padded, {.passes = {0}, .stretch = 0});
    for (int i = 0; i < 40; ++i) {
      const StepReport a = one.step(0), b = other.step(0);
      EXPECT_EQ(a.rays, b.rays) << "step " << i;
      EXPECT_EQ(a.samples, b.samples) << "step " << i;
      EXPECT_LE(apart_step_lists(a.loss, b.loss), i == 0 ? 1e-5 : 1e-3 * i) << "step " << i;
    }
    EXPECT_EQ(one.occupied_share(), other.occupied_share());
  }
}

constexpr int kStepsStepLists = 100;

/// The losses of a training whose parameters are moved by a rounding of single precision, up or down, after every step.
std::vector<double> nudged_losses(const Config& c, uint64_t seed, uint32_t nudges) {
  Trainer trainer = trainer_on("cpu", c, seed);
  std::mt19937 random(nudges);
  std::vector<double> losses;
  for (int i = 0; i < kStepsStepLists; ++i) {
    losses.push_back(trainer.step(0).loss);
    for (const Part part : kParts) {
      const Array<float>& now = trainer.model().of(part);
      std::vector<float> direction(size_t(now.size()));
      for (size_t k = 0; k < direction.size(); ++k)
        direction[k] = random() % 2 ? now[int64_t(k)] : -now[int64_t(k)];
      trainer.move(part, direction, 0x1p-24);
    }
  }
  return losses;
}

/// How far apart losses may be. Before the first update only the order of sums differs: in a sample's
/// networks and its ray's colors they have some 320 terms, of a rounding each. After it rounding is fed back
/// through the optimizer, which turns the sign of gradients near zero into whole steps; how fast that grows
/// is a property of the training, not of the backend, and is measured on the processor: by trainings that
/// differ by one rounding a step. A fifth such training almost never exceeds four times the largest
/// difference of four of them up to a step.
std::vector<double> bounds_of(const std::vector<double>& losses, const Config& c, uint64_t seed) {
  std::vector<double> bounds(losses.size(), 320 * 0x1p-24);
  for (uint32_t nudges = 1; nudges <= 4; ++nudges) {
    const std::vector<double> other = nudged_losses(c, seed, nudges);
    for (size_t i = 0; i < losses.size(); ++i)
      bounds[i] = std::max(bounds[i], 4 * apart_step_lists(losses[i], other[i]));
  }
  for (size_t i = 1; i < bounds.size(); ++i) bounds[i] = std::max(bounds[i], bounds[i - 1]);
  return bounds;
}

TEST(TrainStep, CudaRungsOnTheHostTrainLikeTheCpu) {
  const Config c = tiny_config();
  Trainer cpu = trainer_on("cpu", c, 9), simt = trainer_on("simt", c, 9);
  std::vector<StepReport> here, there;
  std::vector<double> losses;
  for (int i = 0; i < kStepsStepLists; ++i) {
    here.push_back(cpu.step(0));
    there.push_back(simt.step(0));
    losses.push_back(here.back().loss);
  }
  const std::vector<double> bounds = bounds_of(losses, c, 9);
  double worst = 0;
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_LE(apart_step_lists(losses[i], there[i].loss), bounds[i])
        << "step " << i << ": " << losses[i] << " and " << there[i].loss;
    worst = std::max(worst, apart_step_lists(losses[i], there[i].loss) / bounds[i]);
  }
  EXPECT_LE(bounds.back(), 0.5) << "a bound that holds nothing";
  RecordProperty("largest_share_of_the_bound", std::to_string(worst));
  RecordProperty("last_bound", std::to_string(bounds.back()));
  EXPECT_EQ(here[0].rays, there[0].rays);
  EXPECT_EQ(here[0].samples, there[0].samples);
  EXPECT_NEAR(cpu.occupied_share(), simt.occupied_share(), 0.02);
}

/// As a GPU's graphs do: a graph made once is repeated, and no wait is inside.
TEST(TrainStep, ARecordedStepIsTheSame) {
  const Config c = tiny_config();
  CallTimes times;
  const Plan plan = Plan::named("naive", training_calls(c, 1), times);
  Backend called = cpu_backend();
  called.exact = false;
  Backend recorded = called;
  recorded.stage = called.upload;
  const auto tape = std::make_shared<std::vector<std::function<void()>>>();
  const auto recording = std::make_shared<bool>(false);
  const auto later = [tape, recording](std::function<void()> work) {
    if (*recording)
      tape->push_back(std::move(work));
    else
      work();
  };
  recorded.bind = [later, bind = called.bind](const Variant& v, ShapeView shape,
                                              std::span<void* const> pointers) {
    return [later, work = bind(v, shape, pointers)] { later(work); };
  };
  recorded.fill = [later, fill = called.fill](void* p, uint8_t byte, size_t bytes) {
    later([=] { fill(p, byte, bytes); });
  };
  recorded.record = [tape, recording](const std::function<void()>& calls) -> std::function<void()> {
    tape->clear();
    *recording = true;
    calls();
    *recording = false;
    return [works = *tape] {
      for (const auto& work : works) work();
    };
  };
  const StepSizes whole = {.passes = {0}, .stretch = 0};
  Trainer one(small_scene(), c, plan, 5, called, whole), other(small_scene(), c, plan, 5, recorded, whole);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(one.step(0).loss, other.step(0).loss) << "step " << i;
  EXPECT_GT(other.host_counts().repeated, 50);  // the loss and the update of all steps but the first two
  EXPECT_LT(other.host_counts().calls, one.host_counts().calls / 4);
  EXPECT_LE(double(other.host_counts().waits) / 30, 5);
}

/// One program of ops makes the processor's pictures on the host executor, and no access of it is illegal.
TEST(TrainStep, APictureByAListIsTheSame) {
  const Config c = tiny_config();
  Trainer trainer = trainer_on("cpu", c, 9);
  for (int i = 0; i < 60; ++i) trainer.step(0);
  const Model model = trainer.averaged();
  CallTimes times;
  Renderer renderer(model, Plan::named("naive", render_calls(c, 1), times));
  BackendChoice where = backend_named("simt");
  where.picture_samples = 256;
  simt::Session session({.traced = true, .counts = false});
  ListRenderer lists(model, Plan::named("best", ListRenderer::calls(model, where), times, where.ladder),
                     where);
  const Camera camera = small_scene().test.front().camera.downscaled(2);
  const Picture a = renderer.render(camera), b = lists.render(camera);
  for (const simt::Finding& f : session.findings()) ADD_FAILURE() << f.describe();
  ASSERT_EQ(a.rgb.size(), b.rgb.size());
  double covered = 0;
  for (size_t i = 0; i < a.rgb.size(); ++i) {
    // A ray ends when it is opaque to early_stop: samples behind contribute no more than that.
    ASSERT_NEAR(a.rgb[i], b.rgb[i], 3 * c.early_stop + 1e-4) << i;
    covered += double(a.opacity[i / 3]);
  }
  EXPECT_GT(covered, 1) << "nothing to see";
}

/// No access of a step is out of bounds, unordered, or to unwritten memory.
TEST(TrainStep, ATracedStepHasNoFinding) {
  Config c = tiny_config();
  weigh_all_terms(c, 1e-3);
  simt::Session session({.traced = true, .counts = false});
  Trainer trainer = trainer_on("simt", c, 9);
  trainer.step(0);
  trainer.step(0);
  for (const simt::Finding& f : session.findings()) ADD_FAILURE() << f.describe();
  weigh_all_terms(c, 0);  // with the fused op
  Trainer fused = trainer_on("simt", c, 9);
  fused.step(0);
  for (const simt::Finding& f : session.findings()) ADD_FAILURE() << f.describe();
}

/// A run resumes where another backend left it.
TEST(TrainStep, CheckpointsMoveBetweenBackends) {
  const Config c = tiny_config();
  const TempFolder folder;
  const auto file = folder / "checkpoint.safetensors";
  Trainer simt = trainer_on("simt", c, 3);
  for (int i = 0; i < 6; ++i) simt.step(0);
  simt.save(file, {});
  Trainer cpu = trainer_on("cpu", c, 99);
  cpu.restore(TensorFile(file));
  EXPECT_EQ(cpu.steps_done(), 6);
  EXPECT_EQ(cpu.occupied_share(), simt.occupied_share());
  const StepReport a = cpu.loss_and_gradient(), b = simt.loss_and_gradient();
  EXPECT_EQ(a.rays, b.rays);
  EXPECT_LE(apart_step_lists(a.loss, b.loss), 1e-5);
}

/// The gradient of the whole step on the host executor, along itself, against differences of the loss.
TEST(TrainStep, GradientOnTheHostExecutor) {
  Config c = tiny_config();
  c.loss = "mse";
  Trainer trainer = trainer_on("simt", c, 11);
  for (int i = 0; i < 20; ++i) trainer.step(0);
  const TempFolder folder;
  const auto file = folder / "checkpoint.safetensors";
  trainer.save(file, {});
  for (const Part part : kParts) {
    trainer.restore(TensorFile(file));
    for (const Part other : kParts)
      std::fill(trainer.gradient(other).begin(), trainer.gradient(other).end(), 0.0F);
    trainer.restore(TensorFile(file));  // and with it the zeros
    trainer.loss_and_gradient();
    const Array<float>& g = trainer.gradient(part);
    const std::vector<float> gradient(g.begin(), g.end());
    double length = 0;
    for (const float v : gradient) length += double(v) * double(v);
    ASSERT_GT(length, 0) << int(part);
    constexpr double h = 2e-3;
    const auto loss_at = [&](double where) {
      trainer.restore(TensorFile(file));
      trainer.move(part, gradient, where / std::sqrt(length));
      return trainer.loss_and_gradient().loss;
    };
    const double measured = (loss_at(h) - loss_at(-h)) / (2 * h);
    EXPECT_NEAR(measured, std::sqrt(length), 0.03 * std::sqrt(length)) << int(part);
  }
}

TEST(TrainStep, MeasuringFindsCallsAndTensors) {
  const Config c = tiny_config();
  Memory memory;
  const TrainStep step(memory, c, 1, {.views = 3, .pixels = 1000}, {});
  MeasureOps measured(memory);
  step.loss_and_gradient(measured);
  const auto call = [&](const std::string& op) {
    const auto at = std::ranges::find(measured.calls(), op, &PlannedCall::op);
    return at == measured.calls().end() ? PlannedCall{} : *at;
  };
  const int64_t samples = c.batch_samples, rays = TrainStep::usual_rays(samples);
  EXPECT_EQ(call("draw_rays").shape, (std::vector<int64_t>{rays, 3, 1000, 0, 0, 1, 1}));
  // Both ways of computing the pixel loss are counted.
  EXPECT_EQ(call("composite_loss_bwd").shape, (std::vector<int64_t>{rays, samples, 1}));
  EXPECT_EQ(call("composite_bwd").shape, (std::vector<int64_t>{rays, samples}));
  // The first pass over rays and the samples that count are placed by equal calls.
  EXPECT_EQ(call("place_samples").times, 2);
  EXPECT_EQ(call("mlp_fwd").times, 3) << "one for each pass";
  const auto used = [&](const std::string& name) {
    for (size_t i = 0; i < memory.tensors().size(); ++i)
      if (memory.tensors()[i].name == name) return bool(measured.used()[i]);
    ADD_FAILURE() << "no tensor is called " << name;
    return false;
  };
  EXPECT_TRUE(used("table"));
  EXPECT_FALSE(used("table.m")) << "the optimizer is another program";
  EXPECT_LT(measured.bytes_used(), memory.bytes());
}

/// Rows of a tensor follow each other at the number of columns that an op has written, and a call gets that number.
TEST(Ops, HandlesAndCountsAreResolvedAtTheCall) {
  CallTimes times;
  const std::vector<PlannedCall> calls = {planned<Axpy>({.n = 8}, "8 numbers")};
  const Plan plan = Plan::named("naive", calls, times);
  Backend bounded = cpu_backend();
  bounded.exact = false;
  for (const Backend& backend : {cpu_backend(), bounded}) {
    Memory memory(backend);
    const Handle<int32_t> written = memory.tensor<int32_t>("written", 1, 2);
    const Count columns = memory.count("columns", written, 1, 8, 5);
    const Handle<float> x = memory.tensor<float>("x", 2, columns), y = memory.tensor<float>("y", 2, columns),
                        factor = memory.tensor<float>("factor", 1, 1);
    EXPECT_EQ(columns.usual(), 5);
    EXPECT_EQ(columns.now(), 5) << "before memory is allocated";
    EXPECT_EQ(memory.bytes(), 2 * 4 + 2 * 2 * 8 * 4 + 4) << "at the most columns";
    memory.allocate();
    const int32_t three[2] = {0, 3};
    memory.write(written, three, sizeof three);
    EXPECT_EQ(columns.now(), backend.exact ? 3 : 8);
    EXPECT_EQ(columns.part(2, 4).now(), backend.exact ? 1 : 4);
    EXPECT_EQ(columns.times(2).now(), 2 * columns.now());
    EXPECT_EQ(Count(6).times(2).now(), 12) << "a number is a size, too";
    EXPECT_EQ(Count(6).part(4, 4).now(), 2);
    EXPECT_EQ(static_cast<float*>(x.row(1)), static_cast<float*>(x) + columns.now());
    const float two = 2;
    memory.write(factor, &two, sizeof two);
    const std::vector<float> ones(16, 1.0F);
    memory.write(x, ones.data(), 16 * sizeof(float));
    Profile profile;
    RunOps(memory).run("add", plan, profile, [&](Ops& ops) {
      ops.call<Axpy>({.n = columns}, {.a = factor, .x = x, .y = y.row(1)});
    });
    std::vector<float> sums(16);
    memory.read(sums.data(), y, sums.size() * sizeof(float));
    for (int64_t i = 0; i < 16; ++i)
      EXPECT_EQ(sums[size_t(i)], i >= columns.now() && i < 2 * columns.now() ? 2 : 0) << i;
    EXPECT_EQ(profile.calls().at("axpy").shape, std::vector<int64_t>{columns.now()});
  }
}

TEST(Ops, ACallWithoutATensorIsRefusedByName) {
  CallTimes times;
  const std::vector<PlannedCall> calls = {planned<Axpy>({.n = 8}, "8 numbers")};
  const Plan plan = Plan::named("naive", calls, times);
  Memory memory(cpu_backend());
  const Handle<float> x = memory.tensor<float>("x", 1, 8);
  memory.allocate();
  Profile profile;
  try {
    RunOps(memory).run("add", plan, profile,
                       [&](Ops& ops) { ops.call<Axpy>({.n = 8}, {.a = x, .x = x, .y = Handle<float>()}); });
    FAIL() << "y was not given";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("the tensor y of 8 elements was not given"), std::string::npos)
        << e.what();
  }
  EXPECT_THROW(Memory().allocate(), std::logic_error);
}

TEST(Backends, AreRefusedByName) {
  EXPECT_THROW(backend_named("opencl"), std::runtime_error);
  try {
    backend_named("cuda");
  } catch (const std::runtime_error& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("--backend cuda: ")) << e.what();
  }
}

}  // namespace
}  // namespace klab
