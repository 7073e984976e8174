#include "labs/learning/train/compress.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "harness/program/times_here.h"
#include "harness/records/atomic_file.h"
#include "harness/records/json_schema.h"
#include "harness/records/packed_tensors.h"
#include "harness/records/trial_file.h"
#include "harness/report/table.h"
#include "labs/learning/network/network_line.h"
#include "labs/learning/train/end_signals.h"
#include "labs/learning/train/predict.h"

namespace klab::learning {
namespace {

namespace fs = std::filesystem;

std::span<float> numbers_of(const Tensor& t) { return {t.value, size_t(t.size())}; }

/// Returns the network's matrices and kernels, which are what pruning is for.
std::vector<const Tensor*> weights_of(Network& network) {
  std::vector<const Tensor*> list;
  for (const Tensor& t : network.parameters().tensors())
    if (t.decays) list.push_back(&t);
  return list;
}

int64_t not_zero(Network& network) {
  int64_t count = 0;
  for (const Tensor& t : network.parameters().tensors())
    count += t.size() - std::ranges::count(numbers_of(t), 0.0F);
  return count;
}

bool is_kept(const CompressOptions& o, const std::string& name) {
  return std::ranges::find(o.keep, name) != o.keep.end();
}

std::map<std::string, std::string> words_in(const fs::path& file) {
  const TensorFile in(file);
  std::map<std::string, std::string> words;
  for (const char* key : {"model", "data", "example", "classes", "names", "mean", "deviation"})
    words[key] = in.metadata(key);
  return words;
}

/// Returns the student's layers: a width alone is that of one hidden layer.
std::string student_line(const std::string& given, int64_t classes) {
  const bool width = !given.empty() && given.find_first_not_of("0123456789") == std::string::npos;
  return width ? fmt::format("{}, {}", given, classes) : given;
}

/// The stages of a model with what each gets right, a row for each.
class Stages {
 public:
  Stages()
      : table_({{"model", Column::Kind::left},
                {"numbers", Column::Kind::right},
                {"not 0", Column::Kind::right},
                {"bytes", Column::Kind::right},
                {"of before", Column::Kind::right},
                {"right", Column::Kind::right},
                {"lost, points", Column::Kind::right},
                {"loss", Column::Kind::right},
                {"examples/s", Column::Kind::right}}) {}
  /// Evaluates a model and adds its row.
  void add(const std::string& name, Classifier& model, int64_t bytes, const Examples& test) {
    const auto begin = std::chrono::steady_clock::now();
    const Evaluation e = model.evaluate(test);  // refuses other data
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double rate = double(test.count()) / seconds;
    Network& network = model.network();
    if (!bytes_) bytes_ = bytes, right_ = e.accuracy();
    table_.add({name, std::to_string(network.parameters().count()), std::to_string(not_zero(network)),
                std::to_string(bytes), fmt::format("{:.1f} %", 100 * double(bytes) / double(*bytes_)),
                fmt::format("{:.2f} %", 100 * e.accuracy()),
                fmt::format("{:.2f}", 100 * (right_ - e.accuracy())), fmt::format("{:.4f}", e.loss),
                fmt::format("{:.0f}", rate)});
    rows_.push_back({{"name", name},
                     {"numbers", network.parameters().count()},
                     {"not_zero", not_zero(network)},
                     {"bytes", bytes},
                     {"accuracy", e.accuracy()},
                     {"loss", e.loss},
                     {"examples_per_second", rate}});
  }
  std::string text() const { return table_.text(); }
  const nlohmann::json& rows() const { return rows_; }

 private:
  Table table_;
  nlohmann::json rows_ = nlohmann::json::array();
  std::optional<int64_t> bytes_;
  double right_ = 0;
};

/// Chooses the weights whose pruning alone costs more than kSensitive; prints what each costs, or adds it to `tensors`.
std::vector<std::string> sensitive(Classifier& model, const CompressOptions& o, const Examples& test,
                                   nlohmann::json& tensors) {
  const double whole = model.evaluate(test).accuracy();
  Table table({{"pruned alone"}, {"lost, points", Column::Kind::right}, {""}});
  std::vector<std::string> list;
  for (const Tensor* t : weights_of(model.network())) {
    const std::span<float> numbers = numbers_of(*t);
    const std::vector<float> before(numbers.begin(), numbers.end());
    prune_smallest(numbers, group_of(t->dims), o.prune);
    const double lost = whole - model.evaluate(test).accuracy();
    std::ranges::copy(before, numbers.begin());
    if (lost > kSensitive) list.push_back(t->name);
    table.add({t->name, fmt::format("{:.2f}", 100 * lost), lost > kSensitive ? "kept" : ""});
    tensors.push_back({{"name", t->name}, {"lost", lost}, {"kept", lost > kSensitive}});
  }
  if (!o.json) fmt::print("{}\n", table.text());
  return list;
}

void require_keep(const CompressOptions& o, Network& network) {
  if (o.retrain > 0 && o.prune == 0)
    throw std::invalid_argument(
        "--retrain trains what --prune has left: give that, or --epochs for a student");
  if (!o.keep.empty() && o.prune == 0)
    throw std::invalid_argument("--keep says what --prune leaves alone: give --prune");
  std::vector<std::string> names;
  for (const Tensor* t : weights_of(network)) names.push_back(t->name);
  for (const std::string& name : o.keep)
    if (name != "auto" && std::ranges::find(names, name) == names.end())
      throw std::invalid_argument(fmt::format("--keep {}: is no weight of the network: auto, or some of {}",
                                              name, fmt::join(names, ", ")));
  if (o.keep.size() > 1 && std::ranges::find(o.keep, "auto") != o.keep.end())
    throw std::invalid_argument("--keep auto chooses weights by itself: leave out the others");
}

void use_plan(Classifier& c, const std::string& name, CallTimes& times) {
  const std::vector<PlannedCall> calls = c.calls();
  c.use(Plan::fixed(plan_ids(name, calls), name, calls, times));
}

/// Trains the student, and writes it as a model. Returns false once a signal asked for the end.
bool teach(Classifier& teacher, const CompressOptions& o, const Dataset& data, Trainer& student,
           CallTimes& times, const fs::path& file) {
  student.learn_from(
      {.network = &teacher.network(), .mean = teacher.mean(), .deviation = teacher.deviation()});
  const std::vector<PlannedCall> calls = student.calls();
  student.use(Plan::fixed(plan_ids(o.plan, calls), o.plan, calls, times));
  Progress progress;
  while (student.steps_done() < student.steps()) {
    if (end_asked()) return false;
    student.step();
    progress.show(fmt::format("student   step {} of {}", student.steps_done(), student.steps()));
  }
  save_network(file, student.network(), nullptr, words_of_model(data, student.settings()));
  return true;
}

/// Returns settings for the training of a model of those layers, without changes to its examples.
TrainerSettings training_of(const std::string& layers, const CompressOptions& o) {
  TrainerSettings settings;
  settings.model = layers;
  settings.epochs = o.epochs;
  settings.seed = o.seed;
  settings.loader.batch = o.batch;
  settings.loader.seed = o.seed;
  return settings;
}

/// Trains what is left of a pruned network; weights that are 0 stay 0. Returns false once a signal asked for the end.
bool retrain(Classifier& model, const CompressOptions& o, const Dataset& data, CallTimes& times) {
  constexpr double kRate = 0.1;  // of a training's: the network has learned already
  TrainerSettings settings = training_of(model.model(), o);
  settings.optimizer.rate *= kRate;
  settings.optimizer.decay = 0;
  settings.schedule = "cosine";
  settings.scale = Scale{model.mean(), model.deviation()};
  const int64_t each = std::max<int64_t>(1, data.train.count() / o.batch);  // steps an epoch
  settings.epochs = (o.retrain + each - 1) / each;
  Trainer left(data, settings);
  const TrialFile trial(o.out);
  save_network(trial.path(), model.network(), nullptr, {});
  left.begin_from(trial.path());
  const std::vector<PlannedCall> calls = left.calls();
  left.use(Plan::fixed(plan_ids(o.plan, calls), o.plan, calls, times));
  const std::vector<const Tensor*> kept = weights_of(model.network()), own = weights_of(left.network());
  Progress progress;
  for (int64_t step = 0; step < o.retrain; ++step) {
    if (end_asked()) return false;
    left.step();
    for (size_t t = 0; t < own.size(); ++t) {
      if (is_kept(o, own[t]->name)) continue;
      for (int64_t i = 0; i < own[t]->size(); ++i)
        if (kept[t]->value[i] == 0) own[t]->value[i] = 0;
    }
    progress.show(fmt::format("retrain   step {} of {}", step + 1, o.retrain));
  }
  save_network(trial.path(), left.network(), nullptr, {});
  std::map<std::string, std::string> words;
  load_network(trial.path(), model.network(), nullptr, {}, words);
  return true;
}

}  // namespace

int compress_network(CompressOptions o) {
  const fs::path file = fs::is_directory(o.run) ? o.run / "model.safetensors" : o.run;
  Classifier teacher(file, o.batch);
  if (o.student.empty()) require_keep(o, teacher.network());
  if (o.data.empty()) {
    if (teacher.data() != "glyphs" && teacher.data() != "spirals")
      throw std::invalid_argument(fmt::format("{}: was trained with {}: give that data set after the model",
                                              file.string(), teacher.data()));
    o.data = teacher.data();
  }
  const Dataset data = load_dataset(o.data, o.seed, o.train, o.test);
  CallTimes times = times_here();
  use_plan(teacher, o.plan, times);
  Stages stages;
  stages.add("before", teacher, int64_t(fs::file_size(file)), data.test);
  std::unique_ptr<Trainer> trainer;
  if (!o.student.empty()) {
    trainer = std::make_unique<Trainer>(data, training_of(student_line(o.student, teacher.classes()), o));
    const int64_t mine = trainer->network().parameters().count(),
                  teachers = teacher.network().parameters().count();
    if (mine >= teachers)
      throw std::invalid_argument(fmt::format(
          "--distill {}: the student has {} numbers and its teacher {}: name fewer or smaller layers",
          o.student, mine, teachers));
    require_keep(o, trainer->network());
  }
  require_writable_file(o.out);
  const EndSignals signals;
  const auto ended = [&] { return fmt::print(stderr, "interrupted: nothing written\n"), 130; };
  std::unique_ptr<Classifier> student;
  std::map<std::string, std::string> words = words_in(file);
  if (trainer) {
    const TrialFile trial(o.out);
    if (!teach(teacher, o, data, *trainer, times, trial.path())) return ended();
    student = std::make_unique<Classifier>(trial.path(), o.batch);
    use_plan(*student, o.plan, times);
    words = words_in(trial.path());
    const auto bytes = int64_t(fs::file_size(trial.path()));
    if (o.prune > 0) stages.add("student", *student, bytes, data.test);
  }
  Classifier& model = student ? *student : teacher;
  nlohmann::json tensors = nlohmann::json::array();
  if (o.keep == std::vector<std::string>{"auto"}) o.keep = sensitive(model, o, data.test, tensors);
  if (o.prune > 0)
    for (const Tensor* t : weights_of(model.network()))
      if (!is_kept(o, t->name)) prune_smallest(numbers_of(*t), group_of(t->dims), o.prune);
  if (o.retrain > 0) {
    const TrialFile trial(o.out);
    save_network(trial.path(), model.network(), nullptr, words, true);
    stages.add("pruned", model, int64_t(fs::file_size(trial.path())), data.test);
    if (!retrain(model, o, data, times)) return ended();
  }
  if (end_asked()) return ended();
  save_network(o.out, model.network(), nullptr, words, o.prune > 0);
  Classifier written(o.out, o.batch);
  use_plan(written, o.plan, times);
  stages.add("after", written, int64_t(fs::file_size(o.out)), data.test);
  if (o.json) {
    nlohmann::json result = {
        {"model", file.string()},        {"data", data.name}, {"written", o.out.string()},
        {"examples", data.test.count()}, {"kept", o.keep},    {"stages", stages.rows()}};
    if (!tensors.empty()) result["tensors"] = tensors;
    fmt::print("{}\n", with_schema("compression", result).dump(2));
    return 0;
  }
  fmt::print("{}\n{} test examples of {}, each model as it is read from its file\nwritten   {}\n",
             stages.text(), data.test.count(), data.name, o.out.string());
  return 0;
}

}  // namespace klab::learning
