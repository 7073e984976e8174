// The library of layers: data as it is read and refused, batches, gradients through every layer, and training
// that can be repeated and resumed to the bit.
// ctest: sanitized-ops
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "harness/core/registry.h"
#include "harness/records/tensor_file.h"
#include "labs/learning/data/loader.h"
#include "labs/learning/network/loss.h"
#include "labs/learning/network/models.h"
#include "labs/learning/network/schedule.h"
#include "labs/learning/train/trainer.h"
#include "labs/radiance/train/backends.h"
#include "tests/core/message_of.h"
#include "tests/core/temp_folder.h"
#include "tests/learning/naive_plan.h"

namespace klab::learning {
namespace {

namespace fs = std::filesystem;

class DataFolder : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
  }
  void write_gz(const std::string& name, const std::string& bytes) const {
    gzFile out = gzopen((path / name).c_str(), "wb");
    ASSERT_EQ(gzwrite(out, bytes.data(), unsigned(bytes.size())), int(bytes.size()));
    gzclose(out);
  }
  std::string load() const {
    return message_of([&] { load_dataset(path.string(), 1, 0, 0); });
  }
  const TempFolder temp_;
  const fs::path path = temp_.path();
};

std::string word(uint32_t v) {
  return {char(v >> 24), char(v >> 16 & 255), char(v >> 8 & 255), char(v & 255)};
}
std::string idx_images(uint32_t n, const std::string& pixels) {
  return word(0x803) + word(n) + word(2) + word(3) + pixels;
}
std::string idx_labels(uint32_t n, const std::string& labels) { return word(0x801) + word(n) + labels; }

TEST_F(DataFolder, ReadsIdxPlainAndCompressed) {
  std::string pixels, labels;
  for (int i = 0; i < 10 * 6; ++i) pixels += char(4 * i);
  for (int i = 0; i < 10; ++i) labels += char(i % 3);
  write_gz("t10k-images-idx3-ubyte.gz", idx_images(10, pixels));
  write("t10k-labels.idx1-ubyte", idx_labels(10, labels));
  const Dataset set = load_dataset(path.string(), 1, 0, 0);
  EXPECT_EQ(set.train.count(), 8);  // the last fifth is the test
  EXPECT_EQ(set.test.count(), 2);
  EXPECT_EQ(set.train.dims, (Dims{1, 2, 3}));
  EXPECT_FLOAT_EQ(set.train.values[7], 28 / 255.0F);
  EXPECT_EQ(set.test.labels[0], 8 % 3);
  EXPECT_EQ(load_dataset(path.string(), 1, 5, 1).train.count(), 5);
  write("train-images-idx3-ubyte", idx_images(10, pixels));
  write("train-labels-idx1-ubyte", idx_labels(10, labels));
  EXPECT_EQ(load_dataset(path.string(), 1, 0, 0).train.count(), 10);
}

TEST_F(DataFolder, RefusesBadIdxFiles) {
  EXPECT_TRUE(has(load(), "holds no data set")) << load();
  const std::string pixels(4 * 6, 'x'), labels(4, 1);
  write("t10k-images-idx3-ubyte", idx_images(4, pixels));
  EXPECT_TRUE(has(load(), "without the labels")) << load();
  write("t10k-labels-idx1-ubyte", idx_labels(4, labels));
  EXPECT_EQ(load(), "");
  const auto with = [&](const std::string& images, const std::string& l) {
    write("t10k-images-idx3-ubyte", images);
    write("t10k-labels-idx1-ubyte", l);
    return load();
  };
  EXPECT_TRUE(has(with(idx_labels(4, labels), idx_labels(4, labels)), "magic number is 0x00000801"))
      << load();
  EXPECT_TRUE(has(with("ab", idx_labels(4, labels)), "magic number is missing")) << load();
  EXPECT_TRUE(has(with(idx_images(4, pixels), idx_labels(3, std::string(3, 1))), "has 3 labels")) << load();
  EXPECT_TRUE(has(with(idx_images(5, pixels), idx_labels(4, labels)), "is cut short")) << load();
  EXPECT_TRUE(has(with(idx_images(4, pixels + "y"), idx_labels(4, labels)), "1 bytes behind")) << load();
  EXPECT_TRUE(has(with(idx_images(4, pixels).substr(0, 9), idx_labels(4, labels)), "inside its header"))
      << load();
  EXPECT_TRUE(
      has(with(idx_images(4, pixels), idx_labels(4, std::string("\1\1\x0b\1"))), "label 11 of example 2"))
      << load();
  write_gz("whole.gz", idx_images(4, std::string(100000, 'z')));
  fs::copy_file(path / "whole.gz", path / "x.gz");
  fs::resize_file(path / "x.gz", fs::file_size(path / "whole.gz") - 9);
  EXPECT_TRUE(
      has(message_of([&] { read_idx(path / "x.gz", path / "t10k-labels-idx1-ubyte"); }), "is cut short"));
  EXPECT_TRUE(has(message_of([&] { load_dataset("nowhere", 1, 0, 0); }), "is no folder"));
}

TEST_F(DataFolder, ReadsCifarAndTensors) {
  std::string record(3073, '\2');
  write("data_batch_1.bin", record + record + record + record + record);
  EXPECT_EQ(load_dataset(path.string(), 1, 0, 0).train.count(), 4);
  write("test_batch.bin", record);
  EXPECT_EQ(load_dataset(path.string(), 1, 0, 0).train.count(), 5);
  write("test_batch.bin", record + "x");
  EXPECT_TRUE(has(load(), "no multiple of 3073")) << load();
  record[0] = 10;
  write("test_batch.bin", record);
  EXPECT_TRUE(has(load(), "label 10 of example 0")) << load();

  std::vector<float> x(20, 1.5F);
  std::vector<int32_t> labels = {0, 1, 2, 0, 1};
  const fs::path file = path / "set.safetensors";
  const auto save = [&] {
    save_tensors(
        file, std::vector<TensorView>{{"x", "F32", {5, 4}, x.data()}, {"labels", "I32", {5}, labels.data()}},
        {});
  };
  save();
  EXPECT_EQ(load_dataset(file.string(), 1, 0, 0).train.dims, (Dims{4}));
  x[9] = NAN;
  save();
  EXPECT_TRUE(has(message_of([&] { read_tensors(file); }), "holds nan in example 2"));
  x[9] = 0;
  labels[3] = -1;
  save();
  EXPECT_TRUE(has(message_of([&] { read_tensors(file); }), "label -1 of example 3"));
  save_tensors(file, std::vector<TensorView>{{"x", "F32", {5, 4}, x.data()}}, {});
  EXPECT_TRUE(has(message_of([&] { read_tensors(file); }), "no tensor \"labels\""));
}

TEST(Loader, ShowsEveryExampleOnceAnEpochWhetherPrefetchedOrNot) {
  Examples e{.dims = {1}, .classes = 10, .values = {}, .labels = {}};
  for (int i = 0; i < 40; ++i) e.values.push_back(float(i)), e.labels.push_back(i % 10);
  Loader ahead(e, {.batch = 8, .seed = 3, .prefetch = true}, 0, 1),
      plain(e, {.batch = 8, .seed = 3, .prefetch = false}, 0, 1);
  std::vector<float> first, second;
  for (int64_t step = 0; step < 10; ++step) {
    const Batch& a = ahead.at(step);
    const Batch& b = plain.at(step);
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(a.values[i], b.values[i]);
      EXPECT_EQ(a.labels[i], int32_t(a.values[i]) % 10);
      (step < 5 ? first : second).push_back(a.values[i]);
    }
  }
  EXPECT_EQ(std::set<float>(first.begin(), first.end()).size(), 40U);
  EXPECT_NE(first, second);
  EXPECT_EQ(ahead.at(0).values[0], first[0]);  // back to the beginning
  EXPECT_EQ(ahead.at(0).values[0], first[0]);  // and the same step once more
  EXPECT_TRUE(
      has(message_of([&] { Loader(e, {.batch = 41}, 0, 1); }), "--batch 41 is larger than the set of 40"));
}

/// All kinds of layers, on images of 8x8.
std::unique_ptr<Network> every_layer() {
  auto net = std::make_unique<Network>(Dims{2, 8, 8});
  net->add<Convolution>("conv", int64_t{3}, int64_t{3}, int64_t{1})
      .add<BatchNorm>("norm")
      .add<Activation>("gelu", activation::gelu);
  net->add<MaxPool>("pool", int64_t{2}).add<Linear>("hidden", int64_t{12}).add<LayerNorm>("layernorm");
  net->add<Activation>("tanh", activation::tanh)
      .add<Dropout>("dropout", 0.3)
      .add<Linear>("output", int64_t{5});
  return net;
}

TEST(Network, GradientsOfEveryLayerMatchFiniteDifferences) {
  constexpr int64_t n = 6;
  auto net = every_layer();
  net->build(n, 7);
  Step step(*net, {});
  const Plan plan = naive_plan(step.calls());
  Profile profile;
  RunOps ops(step.memory());
  Array<float> x(n * volume(net->in()));
  Array<int32_t> labels(n);
  const Draws draws(5, 0, 0);
  for (int64_t i = 0; i < x.size(); ++i) x[i] = 2 * draws.unit(uint64_t(i)) - 1;
  for (int64_t i = 0; i < n; ++i) labels[i] = int32_t(i % 5);
  step.write(x.data(), labels.data(), 7, 0);
  const auto value = [&] {
    ops.run("loss", plan, profile, [&](Ops& o) {
      step.forward(o, true);
      step.loss(o);
    });
    return step.mean_loss();
  };
  ops.run("gradient", plan, profile, [&](Ops& o) { step.loss_and_gradient(o); });
  int looked = 0;
  for (const Tensor& t : net->parameters().tensors()) {
    const std::vector<float> gradient(t.gradient, t.gradient + t.size());
    double largest = 0;
    for (const float g : gradient) largest = std::max(largest, std::abs(double(g)));
    for (int64_t i = 0; i < t.size(); i += std::max<int64_t>(1, t.size() / 5)) {
      constexpr float h = 1e-2F;
      const float at = t.value[i];
      t.value[i] = at + h;
      const double after = value();
      t.value[i] = at - h;
      const double before = value();
      t.value[i] = at;
      // A kink of the maximum may lie between; the bound is of the tensor's largest, and rounding of the loss.
      EXPECT_NEAR((after - before) / (2 * double(h)), double(gradient[size_t(i)]), 0.05 * largest + 2e-4)
          << t.name << " " << i;
      ++looked;
    }
  }
  EXPECT_GT(looked, 40);
}

TEST(Network, NamesTheLayerThatDoesNotFit) {
  const std::string points = message_of([] { make_model("cnn", {2}, 3); });
  EXPECT_TRUE(has(points, "layer conv1") && has(points, "given [2]")) << points;
  const std::string small = message_of([] { make_model("cnn", {1, 6, 6}, 3); });
  EXPECT_TRUE(has(small, "layer conv2") && has(small, "given [16,3,3]")) << small;
  EXPECT_TRUE(has(message_of([] { make_model("lenet", {2}, 3); }), "softmax, mlp or cnn"));
  EXPECT_TRUE(has(message_of([] { schedule_factor("cosin", 0); }), "cosine"));
}

TEST(Step, ClipsByNormAndKnowsItsOptimizers) {
  Network net({2});
  net.add<Linear>("linear", int64_t{2});
  net.build(1, 1);
  Step sgd(net, {.optimizer = {.name = "sgd", .rate = 1, .decay = 0, .clip = 2}});
  const Tensor &weight = net.parameters().tensors()[0], &bias = net.parameters().tensors()[1];
  std::fill_n(weight.value, 4, 0.0F);
  std::fill_n(weight.gradient, 4, 2.0F);
  bias.gradient[0] = 3;
  const std::vector<float> nothing(2);
  const int32_t label = 0;
  sgd.write(nothing.data(), &label, 1, 0);
  sgd.write_rate(1);
  Profile profile;
  RunOps ops(sgd.memory());
  ops.run("update", naive_plan(sgd.calls()), profile, [&](Ops& o) { sgd.update(o); });
  EXPECT_EQ(sgd.numbers().norm, 5);
  EXPECT_NEAR(weight.value[0], -2 * 2 / 5.0, 1e-6);
  EXPECT_NEAR(bias.value[0], -3 * 2 / 5.0, 1e-6);
  EXPECT_TRUE(has(message_of([&] { Step(net, {.optimizer = {.name = "adan"}}); }), "adam"));
}

TrainerSettings small(const std::string& model, const std::string& optimizer) {
  TrainerSettings s{.model = model,
                    .schedule = "cosine",
                    .optimizer = {.name = optimizer, .rate = 5e-3},
                    .loader = {.batch = 20},
                    .epochs = 2};
  s.loader.shift = 1;
  return s;
}

std::vector<float> weights_of(Trainer& t) {
  std::vector<float> all;
  for (const Tensor& p : t.network().parameters().tensors())
    all.insert(all.end(), p.value, p.value + p.size());
  for (const Kept& k : t.network().kept()) all.insert(all.end(), k.values, k.values + volume(k.dims));
  return all;
}

TEST_F(DataFolder, TrainingRepeatsAndResumesToTheBit) {
  Dataset data{"glyphs", make_glyphs(80, 1), make_glyphs(20, 2)};
  for (const char* optimizer : {"sgd", "momentum", "nesterov", "adam", "adamw", "nadam"}) {
    const TrainerSettings s = small(std::string(optimizer) == "adamw" ? "cnn" : "mlp", optimizer);
    Trainer whole(data, s), again(data, s), before(data, s), after(data, s);
    const Plan plan = naive_plan(whole.calls());
    for (Trainer* t : {&whole, &again, &before, &after}) t->use(plan);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(whole.step(), again.step()) << optimizer;
    EXPECT_EQ(weights_of(whole), weights_of(again)) << optimizer;
    for (int i = 0; i < 2; ++i) before.step();
    before.save(path / "checkpoint", {{"curve", "[]"}});
    std::map<std::string, std::string> words = {{"curve", ""}};
    after.restore(path / "checkpoint", words);
    EXPECT_EQ(words["curve"], "[]");
    for (int i = 0; i < 3; ++i) after.step();
    EXPECT_EQ(weights_of(whole), weights_of(after)) << optimizer;
    EXPECT_EQ(after.steps_done(), 5);
  }
}

TEST_F(DataFolder, RefusesACheckpointOfAnotherModel) {
  const Dataset data{"glyphs", make_glyphs(80, 1), make_glyphs(20, 2)};
  Trainer mlp(data, small("mlp", "adamw")), cnn(data, small("cnn", "adamw"));
  mlp.save(path / "checkpoint", {});
  std::map<std::string, std::string> words;
  EXPECT_TRUE(has(message_of([&] { cnn.restore(path / "checkpoint", words); }),
                  "its model is mlp, and this run's is cnn"));
  Trainer sgd(data, small("mlp", "sgd"));
  EXPECT_TRUE(has(message_of([&] { sgd.restore(path / "checkpoint", words); }), "its optimizer is adamw"));
  EXPECT_TRUE(has(message_of([&] { mlp.restore(path / "nothing", words); }), "nothing: no such file"));
  const float one = 1;
  save_tensors(path / "other", std::vector<TensorView>{{"x", "F32", {1}, &one}}, {});
  EXPECT_TRUE(has(message_of([&] { mlp.restore(path / "other", words); }), "no checkpoint of klab classify"));
}

/// As a GPU's graphs do: a program recorded once is repeated, and gives the same bits, though rates, masks and batches change.
TEST(Trainer, ARecordedStepIsTheSame) {
  const Dataset data{"glyphs", make_glyphs(80, 1), make_glyphs(20, 2)};
  const auto tape = std::make_shared<std::vector<std::function<void()>>>();
  const auto recording = std::make_shared<bool>(false);
  Backend recorded = cpu_backend();
  recorded.exact = false;
  recorded.bind = [tape, recording, bind = recorded.bind](const Variant& v, ShapeView shape,
                                                          std::span<void* const> pointers) {
    return
        [tape, recording, work = bind(v, shape, pointers)] { *recording ? tape->push_back(work) : work(); };
  };
  recorded.fill = [tape, recording, fill = recorded.fill](void* p, uint8_t byte, size_t bytes) {
    const auto work = [=] { fill(p, byte, bytes); };
    *recording ? tape->push_back(work) : work();
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
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    TrainerSettings s = small("mlp", "adamw");
    s.accumulate = 2;
    s.optimizer.clip = 1;
    s.precision = precision;
    Trainer called(data, s), repeated(data, s, recorded);
    for (Trainer* t : {&called, &repeated}) t->use(naive_plan(called.calls()));
    for (int i = 0; i < 6; ++i) EXPECT_EQ(called.step(), repeated.step()) << name_of(precision) << ", " << i;
    EXPECT_EQ(weights_of(called), weights_of(repeated));
    EXPECT_EQ(repeated.host_counts().repeated,
              3 * (6 - 1));  // both parts and the update, of all steps but the first
  }
}

TEST(Trainer, AStepWaitsOnceAtItsEnd) {
  const Dataset data{"glyphs", make_glyphs(80, 1), make_glyphs(20, 2)};
  std::vector<std::string> order;
  Backend counted = cpu_backend();
  counted.exact = false;
  counted.bind = [&order, bind = counted.bind](const Variant& v, ShapeView shape,
                                               std::span<void* const> pointers) {
    return [&order, work = bind(v, shape, pointers), op = v.op] { order.push_back(op), work(); };
  };
  counted.wait = [&order, wait = counted.wait] { order.emplace_back("wait"), wait(); };
  for (const int64_t parts : {1, 2}) {
    TrainerSettings settings = small("mlp", "adamw");
    settings.accumulate = parts;
    Trainer trainer(data, settings, counted);
    trainer.use(naive_plan(trainer.calls()));
    trainer.step();
    order.clear();
    trainer.step();
    EXPECT_EQ(std::ranges::count(order, "wait"), 1) << parts << " parts";
    EXPECT_EQ(order.back(), "wait");
  }
}

/// The CUDA rungs of the same program, in a memory of their own.
TEST(Trainer, TakesTheSameStepsOnTheHostExecutor) {
  const auto runs_there = [](const Variant& v) { return bool(v.host); };
  if (std::ranges::none_of(variants(), runs_there)) GTEST_SKIP() << "no CUDA rungs are built here";
  const Dataset data{"spirals", make_spirals(60, 1), make_spirals(20, 2)};
  TrainerSettings s = small("mlp", "adamw");
  s.optimizer.clip = 1;
  const BackendChoice simt = backend_named("simt");
  Trainer here(data, s), there(data, s, simt.backend);
  CallTimes none(std::vector<CallTime>{});
  here.use(naive_plan(here.calls()));
  there.use(Plan::named("naive", there.calls(), none, simt.ladder));
  for (int i = 0; i < 3; ++i) {
    const double loss = here.step();
    EXPECT_NEAR(there.step(), loss, 1e-4 * loss) << i;
  }
  EXPECT_EQ(there.evaluate(data.test).right, here.evaluate(data.test).right);
}

TEST(Trainer, LearnsTheSpirals) {
  const Dataset data{"spirals", make_spirals(900, 1), make_spirals(300, 2)};
  TrainerSettings s = small("mlp", "adamw");
  s.epochs = 30;
  s.loader.batch = 30;
  Trainer trainer(data, s);
  trainer.use(naive_plan(trainer.calls()));
  const double before = trainer.evaluate(data.test).accuracy();
  while (trainer.steps_done() < trainer.steps()) trainer.step();
  const Evaluation e = trainer.evaluate(data.test);
  EXPECT_LT(before, 0.7);
  EXPECT_GT(e.accuracy(), 0.95);
  int64_t all = 0, diagonal = 0;
  for (int64_t i = 0; i < 9; ++i)
    all += e.confusion[size_t(i)], diagonal += i % 4 == 0 ? e.confusion[size_t(i)] : 0;
  EXPECT_EQ(all, 300);
  EXPECT_EQ(diagonal, e.right);
}

TEST(SoftTargets, RefusesATeacherOfOtherOutputs) {
  const Dataset data{"spirals", make_spirals(60, 1), make_spirals(20, 2)};
  TrainerSettings settings;
  settings.model = "8, 3";
  settings.loader.batch = 20;
  Trainer trainer(data, settings);
  const auto teacher = make_model("8, 4", data.train.dims, 4);
  teacher->build(20, 1);
  EXPECT_TRUE(has(message_of([&] { trainer.learn_from({.network = teacher.get()}); }),
                  "cannot teach a student of 20"));
}

TEST_F(DataFolder, NetworksOfOnesOwnLearnAndAreReadFromFiles) {
  std::ofstream(path / "net.json") << R"({"layers": ["conv 4 5", "pool", "16", "10"]})";
  EXPECT_EQ(network_line((path / "net.json").string()).line, "conv 4 5, pool, 16, 10");
  const auto complaint_of = [&](const char* text) {
    std::ofstream(path / "bad.json") << text;
    return message_of([&] { network_line((path / "bad.json").string()); });
  };
  EXPECT_TRUE(has(complaint_of(R"({"layer": []})"), "bad.json: not {\"layers\""));
  EXPECT_TRUE(has(complaint_of(R"({"layers": ["16", "10"], "rate": null})"),
                  "bad.json: \"rate\" is null, and has to be a number or a text"));
  EXPECT_TRUE(
      has(complaint_of(R"({"layers": ["16", 10]})"), "bad.json: layers[1] is 10, and has to be a text"));
  EXPECT_TRUE(has(complaint_of(R"({"layers": {"16": 10}})"), "bad.json: not {\"layers\""));
  EXPECT_TRUE(has(message_of([] { network_line(" "); }), "--network is empty"));
  std::ofstream(path / "all.json") << R"({"layers": ["16", "10"], "rate": 0.01, "optimizer": "momentum"})";
  EXPECT_EQ(network_line((path / "all.json").string()).settings,
            (std::map<std::string, std::string>{{"optimizer", "momentum"}, {"rate", "0.01"}}));
  const Dataset data{"glyphs", make_glyphs(60, 1), make_glyphs(20, 2)};
  TrainerSettings s = small("conv 4 5, pool, 16, 10", "momentum");
  s.initialization = "xavier";
  s.optimizer.rate = 0.05;
  s.epochs = 8;
  Trainer trainer(data, s);
  trainer.use(naive_plan(trainer.calls()));
  double sum = 0;
  int64_t n = 0;
  for (const Tensor& t : trainer.network().parameters().tensors())
    if (t.name == "linear1.weight") {
      n = t.size();
      for (int64_t i = 0; i < n; ++i) sum += double(t.value[i]) * double(t.value[i]);
    }
  ASSERT_EQ(n, 4 * 12 * 12 * 16);
  EXPECT_NEAR(sum / double(n), 2.0 / (4 * 12 * 12 + 16), 0.1 * 2.0 / (4 * 12 * 12 + 16));
  const double before = trainer.evaluate(data.train).loss;
  while (trainer.steps_done() < trainer.steps()) trainer.step();
  EXPECT_LT(trainer.evaluate(data.train).loss, before - 0.1);
}

TEST(Schedules, StartAndEndAtTheirStatedRates) {
  for (const char* name : {"linear", "cosine"}) {
    EXPECT_DOUBLE_EQ(schedule_factor(name, 0), 1) << name;
    EXPECT_NEAR(schedule_factor(name, 1), 0, 1e-12) << name;
    EXPECT_NEAR(schedule_factor(name, 0.5), 0.5, 1e-12) << name;
  }
  EXPECT_DOUBLE_EQ(schedule_factor("steps", 0.6), 0.1);
  EXPECT_NEAR(schedule_factor("onecycle", 1.0 / 3), 1, 1e-12);
  EXPECT_DOUBLE_EQ(schedule_factor("constant", 0.9), 1);
}

}  // namespace
}  // namespace klab::learning
