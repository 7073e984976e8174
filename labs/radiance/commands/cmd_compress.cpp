// klab compress: makes a trained field or classifier smaller, and measures what that costs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <stdexcept>

#include "harness/cli/command.h"
#include "harness/cli/json_option.h"
#include "harness/cli/number_option.h"
#include "harness/program/times_here.h"
#include "harness/records/tensor_file.h"
#include "labs/learning/train/compress.h"
#include "labs/radiance/run/compress.h"
#include "labs/radiance/run/run.h"
#include "labs/radiance/run/trained_on.h"

namespace klab::compress_command {
namespace {

namespace fs = std::filesystem;

struct Values {
  std::string model, data, out, distill, format = "f32", plan;
  std::vector<std::string> keep;
  double prune = 0;
  int64_t steps = 2000, retrain = 0, epochs = 12, batch = 64, train = 0, test = 0;
  int views = 100000;
  bool json = false;
  SceneOptions reading;
};

bool given(const CLI::App& app, const std::string& option) { return app.get_option(option)->count() > 0; }

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::string part;
  std::istringstream in(list);
  while (std::getline(in, part, ',')) parts.push_back(part);
  return parts;
}

int compress_classifier(const CLI::App& app, const Values& v) {
  for (const char* option : {"--format", "--steps", "--views", "--downscale", "--holdout"})
    if (given(app, option))
      throw std::invalid_argument(
          fmt::format("{} is for fields, and {} holds a classifier: leave it out", option, v.model));
  return learning::compress_network({.run = v.model,
                                     .data = v.data,
                                     .out = v.out,
                                     .prune = v.prune,
                                     .retrain = v.retrain,
                                     .student = v.distill,
                                     .epochs = v.epochs,
                                     .batch = v.batch,
                                     .train = v.train,
                                     .test = v.test,
                                     .keep = v.keep,
                                     .plan = v.plan.empty() ? "naive" : v.plan,
                                     .seed = settings().seed,
                                     .json = v.json});
}

int compress_scene(const CLI::App& app, Values& v, const fs::path& file) {
  for (const char* option : {"--epochs", "--batch", "--train", "--test"})
    if (given(app, option))
      throw std::invalid_argument(
          fmt::format("{} is for classifiers, and {} holds a field: leave it out", option, v.model));
  if (given(app, "--steps") && v.distill.empty())
    throw std::invalid_argument("--steps is for the training of a student: give --distill");
  std::string scene = v.data;
  if (scene.empty()) {
    const auto known = scene_of_model(file);
    if (!known)
      throw std::invalid_argument(file.string() +
                                  ": the scene that it was trained on is not known: give it after the model");
    scene = *known;
  }
  v.reading.seed = settings().seed;
  CallTimes times = times_here();
  return compress_field({.model = file,
                         .scene = scene,
                         .out = v.out,
                         .prune = v.prune,
                         .retrain = v.retrain,
                         .student = parts_of(v.distill),
                         .steps = v.steps,
                         .format = storage_named(v.format),
                         .keep = v.keep,
                         .views = v.views,
                         .plan = v.plan.empty() ? "best" : v.plan,
                         .json = v.json,
                         .reading = v.reading},
                        times);
}

int compress(const CLI::App& app, Values& v) {
  if (v.prune == 0 && v.distill.empty() && v.format == "f32")
    throw std::invalid_argument(
        "nothing to do: give --prune 0.5, --distill 16, --format int8, or several of them");
  storage_named(v.format);  // throws for an unknown one
  const fs::path file = model_file(v.model);
  std::error_code error;
  if (fs::equivalent(file, v.out, error))
    throw std::invalid_argument(fmt::format("--out {}: is the model itself; name another file", v.out));
  bool field = file.extension() != ".safetensors";  // files of Gaussians, which are refused as a field
  if (!field) field = TensorFile(file).has_metadata("klab");
  return field ? compress_scene(app, v, file) : compress_classifier(app, v);
}

KLAB_COMMAND(
    {.name = "compress",
     .summary = "Make a trained model smaller: prune, distill, fewer bits",
     .details =
         "klab compress RUN --prune 0.5 --out small.safetensors        half of each tensor's numbers become "
         "0 and "
         "are left out\n"
         "klab compress RUN --prune 0.8 --retrain 500 --out ...        what is left is trained again, and "
         "makes up "
         "for it\n"
         "klab compress RUN --distill width=16,levels=8 --out ...      a smaller field learns this one's "
         "pictures\n"
         "klab compress RUN --format int8 --keep auto --out ...        fewer bits, but not where that costs "
         "most\n"
         "klab compress RUN --distill \"conv 4 5, pool, 32, 10\" --out ...   a smaller network learns a "
         "classifier's outputs\n"
         "A student comes first, then pruning, then training what is left, then the format. Prints bytes and "
         "quality before and after. "
         "eval, "
         "render and\nclassify --predict take the file as they take the model.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto v = std::make_shared<Values>();
       app.add_option("model", v->model, "model.safetensors, or the folder of a run")->required();
       app.add_option("data", v->data,
                      "the scene or data set that it was trained on (default: the one it names)");
       app.add_option("--out", v->out, "file to write")->required();
       constexpr Range kShare{0, 0.99};
       add_number(app, "--prune", v->prune, kShare,
                  "share of each table's entries and each matrix' numbers to leave out, smallest first");
       constexpr Range kSteps{1, 1e6};
       add_number(app, "--retrain", v->retrain, kSteps,
                  "with --prune: steps of training afterwards, in which what was left out stays out");
       app.add_option("--distill", v->distill,
                      "a student's width, settings (width=16,levels=8), or a classifier's layers");
       app.add_option("--format", v->format, "of a hash field's numbers: f16, bf16, int8, int4 or e2m1");
       app.add_option("--keep", v->keep,
                      "tensors to leave whole and in f32, by name, or auto: those that cost most alone")
           ->delimiter(',');
       add_number(app, "--steps", v->steps, range::steps, "of a field's student (default 2000)");
       add_number(app, "--epochs", v->epochs, range::epochs, "of a classifier's student (default 12)");
       add_number(app, "--batch", v->batch, range::examples_a_step,
                  "examples a step of a classifier (default 64)");
       add_number(app, "--train", v->train, range::examples, "examples to learn from (default: all)");
       add_number(app, "--test", v->test, range::examples, "examples to test with (default: all)");
       add_number(app, "--views", v->views, range::frames, "test views of a field to score (default: all)");
       app.add_option("--plan", v->plan,
                      "best, last, naive, or a JSON file (default best, of a classifier naive)");
       add_number(app, "--downscale", v->reading.downscale, range::downscale, "as in training");
       add_number(app, "--holdout", v->reading.holdout, range::holdout, "as in training");
       add_json(app, v->json, {{"compression", ""}}, "print the result as JSON");
       return [v, &app] { return compress(app, *v); };
     }});

}  // namespace
}  // namespace klab::compress_command
