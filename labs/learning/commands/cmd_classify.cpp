// klab classify: trains a classifier made of klab's ops.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <string_view>

#include "harness/cli/backend_option.h"
#include "harness/cli/command.h"
#include "harness/cli/json_option.h"
#include "harness/cli/loss_scale_options.h"
#include "harness/cli/number_option.h"
#include "harness/core/bytes.h"
#include "harness/gpu/gpu.h"
#include "labs/learning/network/network_line.h"
#include "labs/learning/train/classify.h"
#include "labs/learning/train/predict.h"
#include "labs/radiance/ranks/ranks.h"
#include "labs/radiance/ranks/share_processor.h"
#include "labs/radiance/train/backends.h"

namespace klab::classify_command {
namespace {

struct Values {
  learning::ClassifyOptions o;
  learning::PredictOptions predict;
  std::vector<std::string> what;  // the data to train on, or the pictures to classify
  std::string network;
  bool plain = false;  // no augmentation
  std::string precision = "f32", loss_scale, backend = "cpu", predict_batch, memory, on_nan = "stop";
};

bool given(const CLI::App& app, const std::string& option) { return app.get_option(option)->count() > 0; }

/// Throws std::invalid_argument for the first option that would have no effect on a network that is trained already.
void refuse_without_effect(const CLI::App& app, const Values& v) {
  static constexpr std::array<std::string_view, 13> kTaken = {
      "--help",          "--threads", "--seed", "--isa",  "data",      "--predict", "--evaluate",
      "--predict-batch", "--csv",     "--json", "--plan", "--backend", "--memory"};
  const bool scores = !v.predict.evaluate.empty();
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || std::ranges::find(kTaken, name) != kTaken.end()) continue;
    if (name != "--test")
      throw std::invalid_argument(
          fmt::format("{} has no effect with --predict, which trains nothing: leave it out", name));
    if (!scores)
      throw std::invalid_argument(
          "--test limits a data set, and --predict reads pictures here: leave it out, or score a set with "
          "--evaluate DATA");
  }
  if (scores && v.predict.csv)
    throw std::invalid_argument(
        "--csv prints the classes of pictures, and --evaluate a score: leave it out, or use --json");
  if (v.what == std::vector<std::string>{"-"} && given(app, "--predict-batch"))
    throw std::invalid_argument(
        "--predict-batch has no effect on names from standard input, which are answered one by one: leave "
        "it out");
}

int64_t batch_named(const std::string& text) {
  int64_t batch = 0;
  const auto end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, batch);
  const Range allowed = range::examples_a_step;
  if (error != std::errc() || at != end || !(double(batch) >= allowed.low && double(batch) <= allowed.high))
    throw std::invalid_argument(fmt::format("--predict-batch {}: auto, or a number from {} to {}",
                                            text.substr(0, 40), allowed.low, allowed.high));
  return batch;
}

int64_t memory_named(const std::string& text) {
  try {
    return bytes_from(text);
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument(std::string("--memory ") + e.what());
  }
}

/// Takes layers and settings from --network; a setting on the command line goes before the file's.
void read_network(CLI::App& app, Values& v) {
  static constexpr std::array<std::string_view, 19> kSettings = {
      "optimizer",  "rate",        "beta1",       "beta2",      "epsilon",   "decay", "clip",
      "schedule",   "epochs",      "batch",       "accumulate", "recompute", "init",  "precision",
      "loss-scale", "scale-start", "scale-after", "ahead",      "workers"};
  const learning::NetworkFile file = learning::network_line(v.network);
  v.o.trainer.model = file.line;
  for (const auto& [key, value] : file.settings) {
    if (std::ranges::find(kSettings, key) == kSettings.end())
      throw std::invalid_argument(
          fmt::format("{}: \"{}\" is unknown: it takes \"layers\", a list of texts, and {}", v.network, key,
                      fmt::join(kSettings, ", ")));
    CLI::Option* option = app.get_option("--" + key);
    if (option->count() > 0) continue;
    try {
      option->add_result(value);
      option->run_callback();
    } catch (const CLI::Error& e) {
      throw std::invalid_argument(fmt::format("{}: {}", v.network, e.what()));
    }
  }
}

int run(CLI::App& app, Values& v) {
  const BackendChoice place = backend_named(v.backend);
  const OnGpu on_a_gpu(v.backend == "cuda");
  Ranks& ranks = Ranks::here();
  if (given(app, "--predict")) {
    if (ranks.size() > 1)
      throw std::invalid_argument("--predict is the work of one process: start it without mpirun");
    refuse_without_effect(app, v);
    v.predict.pictures = v.what;
    v.predict.seed = settings().seed;
    v.predict.test = v.o.test;
    v.predict.json = v.o.json;
    v.predict.backend = place.backend;
    v.predict.rungs = place.ladder;
    if (!v.predict_batch.empty() && v.predict_batch != "auto") v.predict.batch = batch_named(v.predict_batch);
    if (!v.memory.empty()) v.predict.memory = memory_named(v.memory);
    if (!v.o.plan.empty()) v.predict.plan = v.o.plan;
    if (!v.predict.evaluate.empty() && !v.what.empty())
      throw std::invalid_argument(
          "--evaluate scores a data set and takes no pictures: leave one of them out");
    return learning::predict(v.predict);
  }
  for (const char* option : {"--evaluate", "--csv", "--predict-batch", "--memory"})
    if (given(app, option))
      throw std::invalid_argument(std::string(option) + " needs a trained network: --predict RUN");
  if (given(app, "--network") && given(app, "--model"))
    throw std::invalid_argument("--network takes the place of --model: leave one of them out");
  if (v.what.size() > 1)
    throw std::invalid_argument("one data set is trained on, and here are " + std::to_string(v.what.size()) +
                                ": " + v.what[1] + "; pictures to classify need --predict RUN");
  if (!v.what.empty()) v.o.data = v.what[0];
  v.o.retry_not_finite = v.on_nan == "retry";
  if (!v.o.retry_not_finite && given(app, "--retries"))
    throw std::invalid_argument("--retries counts those of --on-nan retry: give that too");
  if (v.o.ladder && v.backend == "simt")
    throw std::invalid_argument(
        "--ladder times steps, and the host executor's times say nothing of a GPU: leave it out, or take "
        "--backend cuda");
  v.o.backend = place.backend;
  v.o.rungs = place.ladder;
  if (given(app, "--network")) read_network(app, v);
  if (!v.network.empty() && !learning::is_network_line(v.o.trainer.model))
    throw std::invalid_argument("--network: \"" + v.o.trainer.model +
                                "\" is no list of layers, as \"conv 6 5, pool, 120, 84, 10\"");
  for (const char* option : {"--ahead", "--workers"})
    if (!v.o.trainer.loader.prefetch && given(app, option))
      throw std::invalid_argument(
          fmt::format("--no-prefetch makes no batch ahead, so {} has no effect: leave one out", option));
  v.o.trainer.seed = settings().seed;
  auto& t = v.o.trainer;
  t.precision = learning::precision_of(v.precision);
  if (t.precision == learning::Precision::f32 && !v.loss_scale.empty())
    throw std::invalid_argument("--loss-scale is for --precision bf16 or f16: gradients in f32 need none");
  // bfloat16 has float's range, so its gradients do not vanish.
  set_loss_scale(t.loss_scale, !v.loss_scale.empty()                     ? v.loss_scale
                               : t.precision == learning::Precision::f16 ? "dynamic"
                                                                         : "1");
  auto& loader = v.o.trainer.loader;
  // Points are not turned; digits and glyphs are turned slightly.
  if (!v.plain && v.o.trainer.model != "softmax") loader.degrees = 10, loader.scale = 0.1, loader.shift = 2;
  share_processor(ranks, settings().threads);
  return learning::classify(v.o);
}

KLAB_COMMAND(
    {.name = "classify",
     .summary = "Train a classifier made of klab's ops",
     .details =
         "klab classify                      ten glyphs that klab draws itself, with a LeNet\n"
         "klab classify spirals --model mlp  points of three spiral arms\n"
         "klab classify DIR --model cnn      MNIST or Fashion-MNIST (IDX, gzip too), CIFAR-10 (binary "
         "version)\n"
         "klab classify SET.safetensors      x [n,...] F32 and labels [n] I32\n"
         "klab classify spirals --model mlp --backend cuda   on a GPU; simt: its rungs on the host executor\n"
         "mpirun -n 2 klab classify         by two processes, each of which computes half of every batch\n"
         "mpirun -n 2 klab classify --accumulate 4 --split-layers   each process holds some of the layers\n"
         "klab classify --predict RUN A.png B.png   what a trained network says of pictures; - reads names\n"
         "klab classify --predict RUN --evaluate DATA   its score on a data set\n"
         "Leaves a report with curves, confusion matrix, wrong ones and time by op, and a checkpoint "
         "to --resume from.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto v = std::make_shared<Values>();
       auto& t = v->o.trainer;
       app.add_option("data", v->what,
                      "glyphs (default), spirals, a folder, or a .safetensors file; with --predict pictures")
           ->option_text("[DATA | PICTURES]");
       app.add_option("--predict", v->predict.run,
                      "classify pictures with the network of this run: class and probability")
           ->option_text("RUN");
       app.add_option("--evaluate", v->predict.evaluate,
                      "with --predict: score the network on this data set's test examples")
           ->option_text("DATA");
       app.add_option("--predict-batch", v->predict_batch,
                      "with --predict: pictures a pass, or auto (default): 16, and half as many each time "
                      "memory is short");
       app.add_option(
           "--memory", v->memory,
           "with --predict: most memory for the network and its passes: 2MB (default: what there is)");
       app.add_flag("--csv", v->predict.csv, "with --predict: print CSV, a column a class");
       app.add_option("--model", t.model, "softmax, mlp or cnn (default)");
       app.add_option(
              "--network", v->network,
              "layers of one's own in place of --model, as \"conv 6 5, pool, 120, 84, 10\" (ReLU where none "
              "is named), or a .json file with \"layers\" and, if wanted, settings by their options' names")
           ->option_text("LAYERS");
       app.add_option("--init", t.initialization,
                      "weights' first values: kaiming (or he, the default) or xavier");
       add_number(app, "--epochs", t.epochs, range::epochs, "times over the training set (default 12)");
       add_number(app, "--batch", t.loader.batch, range::examples_a_step, "examples a step (default 64)");
       app.add_option("--optimizer", t.optimizer.name,
                      "sgd, momentum, nesterov, adam, adamw (default) or nadam");
       add_number(app, "--rate", t.optimizer.rate, range::rate, "learning rate (default 2e-3)");
       // As the contracts of the optimizers bound them.
       constexpr Range kKept{0.5, 0.999999}, kEpsilon{1e-30, 1};
       add_number(app, "--beta1", t.optimizer.beta1, kKept,
                  "momentum: the share of the moment, or of the velocity, that a step keeps (default 0.9)");
       add_number(app, "--beta2", t.optimizer.beta2, kKept,
                  "the same of the squares' moment, for adam, adamw and nadam (default 0.999)");
       add_number(app, "--epsilon", t.optimizer.epsilon, kEpsilon,
                  "added to the root of that moment (default 1e-8)");
       add_number(app, "--decay", t.optimizer.decay, range::decay, "weight decay (default 1e-2)");
       add_number(app, "--clip", t.optimizer.clip, range::clip, "largest norm of a gradient (default: any)");
       app.add_option("--schedule", t.schedule, "constant, linear, cosine, steps or onecycle (default)");
       app.add_option("--precision", v->precision, "f32 (default), bf16 or f16, with master weights in f32");
       add_backend(app, v->backend);
       add_loss_scale(app, t.loss_scale, v->loss_scale);
       add_number(app, "--accumulate", t.accumulate, range::examples_a_step,
                  "parts of a batch whose gradients are added up: less memory for the same step (default 1)");
       add_number(app, "--recompute", t.recompute, range::examples_a_step,
                  "keep every N-th layer's outputs, and compute the others again for the gradients "
                  "(default 1: keep all)");
       app.add_option(
              "--on-nan", v->on_nan,
              "after a loss that is not finite: stop (default), or retry from the last epoch's end with half "
              "the learning rates")
           ->check(CLI::IsMember({"stop", "retry"}));
       add_number(app, "--retries", v->o.retries, Range{1, 1000}, "--on-nan retry: how often (default 5)");
       app.add_flag(
           "--split-layers", t.split_layers,
           "by several processes: each holds some of the layers, and the parts of a batch (--accumulate) "
           "pass through them; without it each computes a part of every batch");
       app.add_flag("--plain", v->plain, "images as they are: not turned, scaled or shifted");
       app.add_flag("!--no-prefetch", t.loader.prefetch,
                    "make a batch before its step, not during the one before");
       constexpr Range kAhead{1, 64};
       add_number(app, "--ahead", t.loader.ahead, kAhead, "batches made while a step uses one (default 1)");
       add_number(app, "--workers", t.loader.workers, kAhead,
                  "threads that make them at a time, at most one a batch (default 1)");
       add_number(app, "--train", v->o.train, range::examples,
                  "learn from this number of examples, the first");
       add_number(app, "--test", v->o.test, range::examples, "test with this number of examples, the first");
       app.add_option(
           "--plan", v->o.plan,
           "best (default; with --resume what the run had), naive, or a JSON file: OUT/plan.json of a run "
           "repeats it to the bit");
       app.add_flag("--ladder", v->o.ladder,
                    "time the step from the naive plan to the best, op by op; on a GPU next to the "
                    "processor's");
       app.add_option("--out", v->o.out, "folder to write to (default runs/<data>_<model>)");
       app.add_option("--resume", v->o.resume, "continue the run in this folder");
       add_json(app, v->o.json,
                {{"classifier", ""},
                 {"predictions", "--predict RUN PICTURE..."},
                 {"prediction", "--predict RUN -"},
                 {"classifier_evaluation", "--predict RUN --evaluate DATA"}},
                "print the result as JSON");
       add_json_file(app, "classifier", "(result.json of the run)");
       return [v, &app] { return Ranks::here().run([&] { return run(app, *v); }); };
     }});

}  // namespace
}  // namespace klab::classify_command
