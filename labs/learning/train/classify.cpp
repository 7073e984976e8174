#include "labs/learning/train/classify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "harness/core/build_info.h"
#include "harness/core/registry.h"
#include "harness/program/times_here.h"
#include "harness/records/atomic_file.h"
#include "harness/records/digest.h"
#include "harness/records/json_schema.h"
#include "harness/report/table.h"
#include "harness/timing/statistics.h"
#include "labs/learning/network/models.h"
#include "labs/learning/train/end_signals.h"
#include "labs/learning/train/predict.h"
#include "labs/learning/train/report.h"
#include "labs/radiance/ranks/ranks.h"

namespace klab::learning {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using nlohmann::json;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

json as_json(const std::vector<EpochLine>& curve) {
  json list = json::array();
  for (const EpochLine& l : curve)
    list.push_back({l.epoch, l.seconds, l.train_loss, l.test_loss, l.accuracy});
  return list;
}

std::vector<EpochLine> curve_of(const std::string& text, const fs::path& file) {
  std::vector<EpochLine> curve;
  try {
    for (const json& l : json::parse(text)) curve.push_back({l.at(0), l.at(1), l.at(2), l.at(3), l.at(4)});
  } catch (const json::exception& e) {
    throw std::runtime_error(
        fmt::format("{}: its curve is damaged ({}); start again", file.string(), e.what()));
  }
  return curve;
}

/// Whether all of a plan's rungs are written for that ladder.
bool is_for(const VariantIds& ids, const std::string& rungs) {
  return std::ranges::all_of(ids, [&](const auto& choice) {
    const Variant* v = find_variant(choice.second);
    return v == nullptr || v->backend == rungs;
  });
}

/// The rungs requested on the command line, else those of the checkpoint, since another rung may sum in
/// another order. A checkpoint of another backend has no say.
struct Wanted {
  VariantIds ids;
  std::string where;
};
Wanted wanted_plan(const ClassifyOptions& o, const std::string& kept, const fs::path& checkpoint,
                   const std::vector<PlannedCall>& calls) {
  Wanted w{{}, o.plan.empty() ? "best" : o.plan};
  const VariantIds before =
      o.plan.empty() && !kept.empty() ? plan_from_json(kept, checkpoint.string()) : VariantIds();
  if (!before.empty() && is_for(before, o.rungs))
    w = {before, checkpoint.string()};
  else
    w.ids = plan_ids(w.where, calls, o.rungs);
  Plan::require(w.ids, w.where, calls, o.rungs);
  return w;
}

FILE* nowhere() {
  static FILE* const file = std::fopen("/dev/null", "w");
  return file;
}

/// Ends the run where ranks would not make steps of one training.
void require_alike_ranks(Ranks& ranks, const Dataset& data, const ClassifyOptions& o,
                         const Trainer& trainer) {
  if (ranks.size() == 1) return;
  const TrainerSettings& t = o.trainer;
  const OptimizerSettings& by = t.optimizer;
  const auto* labels = reinterpret_cast<const char*>(data.train.labels.data());
  require_alike(
      ranks,
      {{"version of klab", build_info().commit + (build_info().dirty ? " with changes" : "")},
       {"data set",
        fmt::format("{} of {} and {} examples, labels {}", data.name, data.train.count(), data.test.count(),
                    sha256({labels, data.train.labels.size() * sizeof(int32_t)}).substr(0, 16))},
       {"--network or --model", t.model},
       {"optimizer", fmt::format("{} {} {} {} {} {} {} {}", by.name, by.rate, by.beta1, by.beta2, by.epsilon,
                                 by.decay, by.clip, t.schedule)},
       {"length",
        fmt::format("{} epochs of batches of {} in {} parts", t.epochs, t.loader.batch, t.accumulate)},
       {"--precision", name_of(t.precision)},
       {"--split-layers", t.split_layers ? "yes" : "no"},
       {"seed", std::to_string(t.seed)},
       {"backend", o.backend.name},
       {"first step", std::to_string(trainer.steps_done())}});
}

/// What becomes of a run after a loss that is not finite: it goes back to the last checkpoint with half the learning rates, which are
/// on their schedule again after a number of finite steps.
class Retries {
 public:
  Retries(const ClassifyOptions& o, fs::path checkpoint, FILE* words)
      : allowed_(o.retry_not_finite ? o.retries : 0), checkpoint_(std::move(checkpoint)), words_(words) {}

  /// Throws NotFinite with the remedy once all tries are used.
  void go_back(Trainer& trainer, const NotFinite& error) {
    if (int(notes_.size()) == allowed_) throw NotFinite(error.what() + remedy());
    factor_ /= 2;
    finite_ = 0;
    std::map<std::string, std::string> words;
    trainer.restore(checkpoint_, words);
    trainer.scale_rates(factor_);
    notes_.push_back(fmt::format("{}; back to step {} with learning rates times {:.4g} (try {} of {})",
                                 error.what(), trainer.steps_done(), factor_, notes_.size() + 1, allowed_));
    fmt::print(words_, "note      {}\n", notes_.back());
  }
  void count_finite_step(Trainer& trainer) {
    if (factor_ == 1 || ++finite_ < kStepsToSchedule) return;
    factor_ = 1;
    trainer.scale_rates(1);
    fmt::print(words_, "note      {} finite steps: learning rates are on their schedule again\n", finite_);
  }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  static constexpr int64_t kStepsToSchedule = 500;

  std::string remedy() const {
    std::string text =
        allowed_ == 0 ? ", or give --on-nan retry"
                      : fmt::format(
                            "; {} from the last checkpoint did not help, the last with learning rates times "
                            "{:.4g}",
                            allowed_ == 1 ? "a try" : fmt::format("{} tries", allowed_), factor_);
    text += fs::exists(checkpoint_) ? fmt::format("; the last checkpoint is {}", checkpoint_.string())
                                    : "; there is no checkpoint yet";
    return text + "; docs/troubleshooting.md says more";
  }

  int allowed_;
  fs::path checkpoint_;
  FILE* words_;
  std::vector<std::string> notes_;
  double factor_ = 1;
  int64_t finite_ = 0;
};

/// Returns the first rank's plan on every rank.
Plan plan_of_all(Ranks& ranks, const Wanted& wanted, const std::vector<PlannedCall>& calls, CallTimes& times,
                 const std::string& rungs) {
  std::string text;
  std::optional<Plan> plan;
  if (ranks.first())
    text = to_json_text(plan.emplace(Plan::fixed(wanted.ids, wanted.where, calls, times, rungs)));
  ranks.wait_for_all();
  ranks.broadcast(text);
  if (!plan)
    plan.emplace(
        Plan::fixed(plan_from_json(text, "the first rank's plan"), "of the first rank", calls, times, rungs));
  return *plan;
}

/// Returns whether any rank was asked to end, so that all end at the same step.
bool end_asked_of_any(Ranks& ranks) {
  std::array<double, 1> asked{end_asked() ? 1.0 : 0.0};
  ranks.sum(asked);
  return asked[0] > 0;
}

void print_confusion(const Examples& test, const Evaluation& e) {
  std::vector<Column> columns = {{"is \\ taken for"}};
  for (int64_t k = 0; k < test.classes; ++k) columns.push_back({class_name(test, k), Column::Kind::right});
  Table table(columns);
  for (int64_t i = 0; i < test.classes; ++i) {
    std::vector<Cell> row = {class_name(test, i)};
    for (int64_t k = 0; k < test.classes; ++k) {
      const int64_t count = e.confusion[size_t(i * test.classes + k)];
      row.emplace_back(count == 0 ? "." : std::to_string(count), i == k      ? Ink::green
                                                                 : count > 0 ? Ink::red
                                                                             : Ink::dim);
    }
    table.add(row);
  }
  fmt::print("\n{}\n", table.text());
}

/// The layers of a network of one's own, with what its line leaves to be inferred.
void print_layers(FILE* to, Network& network) {
  Table table({{"layer"}, {"returns"}, {"parameters", Column::Kind::right}});
  table.indent(10);
  for (const LayerSummary& l : summary_of(network))
    table.add({l.name, l.out, l.parameters == 0 ? "" : std::to_string(l.parameters)});
  fmt::print(to, "{}", table.text());
}

void print_times(const Profile& profile, int64_t steps) {
  Table table(
      {{"op"}, {"a step", Column::Kind::right}, {"share", Column::Kind::right}, {"", Column::Kind::bar}});
  for (const auto& [stage, share] : shares_of(profile))
    table.add({stage, seconds_text(profile.seconds().at(stage) / double(std::max<int64_t>(1, steps))),
               fmt::format("{:.1f} %", 100 * share), Cell::bar(share)});
  fmt::print("{}", table.text());
}

/// Times the same steps with the naive plan, then with one op after the other replaced by its best rung. On a GPU the first two rows
/// are the processor's, naive and best.
std::vector<PlanRung> climb(Trainer& trainer, const Dataset& data, const ClassifyOptions& o, const Plan& best,
                            CallTimes& times, const fs::path& folder) {
  constexpr int kRounds = 3, kSteps = 3;
  const auto calls = trainer.calls();
  const Plan naive = Plan::named("naive", calls, times, o.rungs);
  const fs::path start = folder / "ladder.safetensors";
  Progress progress;
  trainer.save(start, {});
  const int64_t begin = trainer.steps_done();
  std::map<std::string, std::string> words;
  const auto run_on = [&](Trainer& here, PlanRung& rung) {
    progress.show("ladder: " + rung.name);
    here.restore(start, words);
    here.use(rung.plan);
    rung.losses = {here.step()};
    for (int i = 0; i < kSteps; ++i) {
      const auto from = Clock::now();
      here.step();
      rung.seconds.push_back(since(from));
    }
  };
  std::unique_ptr<Trainer> processor;
  std::vector<PlanRung> of_processor;
  if (o.rungs != "cpu") {
    processor = std::make_unique<Trainer>(data, o.trainer);
    const auto there = processor->calls();
    of_processor = {{"processor, naive", Plan::named("naive", there, times), {}, {}, {}},
                    {"processor, best", Plan::named("best", there, times), {}, {}, {}}};
  }
  trainer.profile().clear();
  PlanRung first = {"naive", naive, {}, {}, {}};
  run_on(trainer, first);
  std::map<std::string, double> share = trainer.profile().seconds();
  share.erase("loader");
  std::vector<PlanRung> rungs = plan_rungs(naive, best, share);
  for (int round = 0; round < kRounds; ++round) {
    for (PlanRung& rung : of_processor) run_on(*processor, rung);
    for (PlanRung& rung : rungs) run_on(trainer, rung);
  }
  trainer.restore(start, words);
  trainer.use(best);
  fs::remove(start);
  if (trainer.steps_done() != begin) throw std::logic_error("the ladder did not come back to where it began");
  rungs.insert(rungs.begin(), of_processor.begin(), of_processor.end());
  return rungs;
}

void print_ladder(const std::vector<PlanRung>& rungs) {
  Table table({{"plan"},
               {"step", Column::Kind::right},
               {"over naive", Column::Kind::right},
               {"", Column::Kind::bar},
               {"loss", Column::Kind::right}});
  for (const PlanRung& r : rungs) {
    const double speedup = median(rungs.front().seconds) / median(r.seconds);
    table.add({r.name, seconds_text(median(r.seconds)), fmt::format("{:.2f}x", speedup), Cell::bar(speedup),
               fmt::format("{:.6f}", r.losses.front())});
  }
  fmt::print("\n{}", table.text());
}

}  // namespace

int classify(ClassifyOptions o) {
  Ranks& ranks = Ranks::here();
  FILE* words = !ranks.first() ? nowhere() : o.json ? stderr : stdout;
  if (ranks.size() > 1 && o.ladder)
    throw std::invalid_argument(
        "--ladder times the steps of one process: leave it out, or start it without mpirun");
  o.trainer.loader.seed = o.trainer.seed;
  const Dataset data = load_dataset(o.data, o.trainer.seed, o.train, o.test);
  Trainer trainer(data, o.trainer, o.backend, ranks.carrier());
  const std::vector<PlannedCall> calls = trainer.calls();
  const auto described = make_model(o.trainer.model, data.train.dims, data.train.classes);
  const fs::path before_file = o.resume / "checkpoint.safetensors";
  std::map<std::string, std::string> before = {{"curve", "[]"}, {"plan", ""}};
  if (!o.resume.empty()) trainer.restore(before_file, before);
  require_alike_ranks(ranks, data, o, trainer);
  const Wanted wanted = wanted_plan(o, before["plan"], before_file, calls);
  std::vector<EpochLine> curve = curve_of(before["curve"], before_file);
  const fs::path folder =
      !o.out.empty() ? o.out
      : !o.resume.empty()
          ? o.resume
          : fs::path("runs") / fmt::format("{}_{}", data.name,
                                           is_network_line(o.trainer.model) ? "network" : o.trainer.model);
  if (ranks.first()) {
    fs::create_directories(folder);
    require_writable_file(folder / "checkpoint.safetensors");
  }
  ranks.if_killed(
      (folder / "checkpoint.safetensors").string(),
      fmt::format("klab classify --resume {} and the same options go on from it, with any number of "
                  "processes",
                  folder.string()));

  fmt::print(words, "data      {}: {} examples of {} to learn from, {} to test, {} classes\n", data.name,
             data.train.count(), dims_text(data.train.dims), data.test.count(), data.train.classes);
  fmt::print(words, "division  {}\n", data.division);
  fmt::print(words, "model     {}: {} parameters; {}, rate {}, {}; batches of {}\n", o.trainer.model,
             described->parameters().count(), o.trainer.optimizer.name, o.trainer.optimizer.rate,
             o.trainer.schedule, o.trainer.loader.batch);
  if (is_network_line(o.trainer.model)) print_layers(words, *described);
  if (o.backend.name != "cpu") fmt::print(words, "backend   {}\n", o.backend.name);
  const bool mixed = o.trainer.precision != Precision::f32;
  if (mixed)
    fmt::print(words,
               "precision {0}: weights, activations and gradients are rounded to {0} where they would be "
               "stored; the "
               "ops of classify compute in f32, so the speed is f32's; loss scale {1}, {2}\n",
               name_of(o.trainer.precision), o.trainer.loss_scale.start,
               o.trainer.loss_scale.dynamic ? "dynamic" : "static");
  CallTimes times = times_here();
  const Plan plan = plan_of_all(ranks, wanted, calls, times, o.rungs);
  fmt::print(words, "{}", plan.text());
  if (ranks.size() > 1 && !o.trainer.split_layers)
    fmt::print(words, "ranks     {} processes, {} examples of a step and {} threads each\n", ranks.size(),
               o.trainer.loader.batch / ranks.size(), omp_get_max_threads());
  if (o.trainer.split_layers)
    fmt::print(words, "ranks     {} processes with {} threads each; layers {}\n", ranks.size(),
               omp_get_max_threads(), fmt::join(ranks.gather(trainer.own_layers()), " | "));
  trainer.use(plan);
  if (ranks.first()) write_file(folder / "plan.json", to_json_text(plan));
  const auto save = [&] {
    trainer.save(folder / "checkpoint.safetensors",
                 {{"curve", as_json(curve).dump()}, {"plan", to_json_text(plan)}});
  };
  if (trainer.steps_done() > 0) fmt::print(words, "resumed   at step {}\n", trainer.steps_done());

  const EndSignals signals;
  const double earlier = curve.empty() ? 0 : curve.back().seconds;
  const auto begin = Clock::now();
  const int64_t first = trainer.steps_done();
  Progress progress;
  double loss = 0, shown = 0;
  Evaluation e;
  fmt::print(words, "epoch   seconds  loss, batches  loss, test   right\n");
  Retries retries(o, folder / "checkpoint.safetensors", ranks.first() ? stderr : nowhere());
  if (o.retry_not_finite) save();
  bool ended = end_asked_of_any(ranks);
  while (trainer.steps_done() < trainer.steps() && !ended) {
    try {
      loss += trainer.step();
    } catch (const NotFinite& error) {
      ranks.wait_for_all();  // the checkpoint is the first rank's
      retries.go_back(trainer, error);
      loss = 0;  // a checkpoint is one of an epoch's end
      continue;
    }
    retries.count_finite_step(trainer);
    ended = end_asked_of_any(ranks);
    const int64_t per_epoch = trainer.steps_per_epoch(), done = trainer.steps_done();
    if (ranks.first() && since(begin) - shown > 0.5) {
      shown = since(begin);
      const int64_t part = (done - 1) % per_epoch + 1;
      progress.show(fmt::format("epoch {} of {}  step {} of {}  loss {:.4f}  {:.0f} s",
                                (done - 1) / per_epoch + 1, o.trainer.epochs, part, per_epoch,
                                loss / double(part), shown));
    }
    if (done % per_epoch != 0) continue;
    e = trainer.evaluate(data.test);
    curve.push_back(
        {done / per_epoch, earlier + since(begin), loss / double(per_epoch), e.loss, e.accuracy()});
    loss = 0;
    progress.clear();
    const EpochLine& l = curve.back();
    fmt::print(words, "{:>5}  {:>8.1f}  {:>13.4f}  {:>10.4f}  {:>5.2f} %\n", l.epoch, l.seconds, l.train_loss,
               l.test_loss, 100 * l.accuracy);
    std::fflush(words);
    save();
  }
  progress.clear();
  const double seconds = since(begin);
  const int64_t steps = trainer.steps_done() - first;
  if (ended) save();
  e = trainer.evaluate(data.test);
  const Profile profile = trainer.profile();
  std::vector<PlanRung> ladder;
  if (o.ladder && !ended) ladder = climb(trainer, data, o, plan, times, folder);

  const int code = ended ? 130 : 0;
  trainer.save_model(folder / "model.safetensors", words_of_model(data, o.trainer));
  if (!ranks.first()) return code;
  const bool wrong = save_wrong(folder / "wrong.png", data.test, e, 100);
  write_file(folder / "report.html", report_page(data, trainer, curve, e, profile, ladder,
                                                 wrong ? folder / "wrong.png" : fs::path()));
  json result = {{"data", data.name},
                 {"model", o.trainer.model},
                 {"train", data.train.count()},
                 {"test", data.test.count()},
                 {"division", data.division},
                 {"parameters", described->parameters().count()},
                 {"optimizer", o.trainer.optimizer.name},
                 {"seed", o.trainer.seed},
                 {"backend", o.backend.name},
                 {"ranks", ranks.size()},
                 {"retries", retries.notes()},
                 {"steps", trainer.steps_done()},
                 {"accuracy", e.accuracy()},
                 {"loss", e.loss},
                 {"seconds", earlier + seconds},
                 {"seconds_per_step", steps > 0 ? seconds / double(steps) : 0},
                 {"plan", plan.ids()},
                 {"times", profile.seconds()},
                 {"confusion", e.confusion},
                 {"curve", as_json(curve)},
                 {"precision", name_of(o.trainer.precision)}};
  if (mixed) {
    result["loss_scale"] = trainer.loss_scale().value();
    result["skipped_steps"] = trainer.loss_scale().state().skipped;
    result["gradients_to_zero"] = trainer.lost().share();
  }
  const std::string text = with_schema("classifier", result).dump(2) + "\n";
  write_file(folder / "result.json", text);
  if (o.json) fmt::print("{}", text);
  if (!o.json) {
    print_confusion(data.test, e);
    print_times(profile, steps);
    if (mixed) fmt::print("\n{}\n", precision_text(trainer));
    if (!ladder.empty()) print_ladder(ladder);
    fmt::print("\nright     {:.2f} % of {} test examples, after {} steps in {:.1f} s\nwritten   {}\n",
               100 * e.accuracy(), data.test.count(), trainer.steps_done(), earlier + seconds,
               (folder / "report.html").string());
  }
  return code;
}

}  // namespace klab::learning
