#include "labs/learning/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "labs/learning/network/loss.h"
#include "labs/learning/network/models.h"
#include "labs/learning/network/schedule.h"
#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"

namespace klab::learning {
namespace {

/// Throws std::invalid_argument for what a network that is split by layers does not have.
void require_for_split(const TrainerSettings& s, int ranks) {
  const auto refuse = [](const std::string& what) { throw std::invalid_argument("--split-layers: " + what); };
  if (ranks < 2) refuse("this process is alone; start several by mpirun -n N, or leave it out");
  if (s.optimizer.clip > 0)
    refuse("--clip needs the norm of all gradients, and each process has some: leave it out");
  if (s.precision != Precision::f32)
    refuse(
        fmt::format("--precision {} is checked over all gradients, and each process has some: leave it out",
                    name_of(s.precision)));
  if (s.recompute > 1) refuse("outputs are computed again already: leave out --recompute");
}

LoaderSettings loader_of(const TrainerSettings& settings, const RankSums& ranks) {
  LoaderSettings loader = settings.loader;
  if (settings.split_layers) return loader;
  loader.rank = ranks.rank();
  loader.ranks = ranks.size();
  return loader;
}

}  // namespace

Trainer::Trainer(const Dataset& data, const TrainerSettings& settings, const Backend& backend,
                 const Carrier& carrier)
    : settings_(settings),
      ranks_(carrier),
      data_(data),
      scale_(settings.scale.value_or(scale_of(data.train))),
      network_(built(backend)),
      program_(*network_, {.optimizer = settings.optimizer,
                           .precision = settings.precision,
                           .parts = settings.accumulate,
                           .ranks = sharing()}),
      ops_(program_.memory()),
      loader_(data.train, loader_of(settings, ranks_), scale_.mean, scale_.deviation),
      loss_scale_(settings.loss_scale) {
  if (settings.split_layers)
    pipeline_ = std::make_unique<LayerPipeline>(*network_, program_, carrier, settings.accumulate);
  schedule_factor(settings.schedule, 0);  // throws for an unknown name
  if (mixed()) scales_ = {{0, loss_scale_.value()}};
}

std::unique_ptr<Network> Trainer::built(const Backend& backend) {
  const TrainerSettings& s = settings_;
  if (s.split_layers) require_for_split(s, ranks_.size());
  auto network = make_model(s.model, data_.train.dims, data_.train.classes);
  if (s.accumulate < 1 || s.loader.batch % s.accumulate != 0)
    throw std::invalid_argument(
        fmt::format("--accumulate {}: does not divide the batch of {}; take a --batch that it divides",
                    s.accumulate, s.loader.batch));
  const int64_t pieces = s.accumulate * sharing();
  if (s.loader.batch % pieces != 0)
    throw std::invalid_argument(fmt::format(
        "--batch {}: {} processes with {} each need a multiple of {}; take another batch or number of "
        "processes",
        s.loader.batch, ranks_.size(), s.accumulate == 1 ? "one part" : fmt::format("{} parts", s.accumulate),
        pieces));
  if (s.initialization != "kaiming" && s.initialization != "he" && s.initialization != "xavier")
    throw std::invalid_argument("no initialization is called " + s.initialization +
                                ": --init kaiming (or he) or xavier");
  if (s.split_layers) {
    std::vector<LayerWork> work;
    whole_calls_ = network->plan_calls(s.loader.batch / pieces, work);
    const std::vector<size_t> begins = split_layers(work, ranks_.size());
    network->keep_layers(begins[size_t(ranks_.rank())], begins[size_t(ranks_.rank()) + 1]);
  }
  network->build(s.loader.batch / pieces, s.seed, s.recompute, backend);
  if (s.initialization == "xavier") initialize_xavier(*network, s.seed);
  network->memory().push();
  return network;
}

std::vector<PlannedCall> Trainer::calls() const {
  std::vector<PlannedCall> list = program_.calls();
  // One plan is for all layers, whichever rank has them.
  const auto own = [&](const PlannedCall& c) {
    return std::ranges::any_of(whole_calls_, [&](const PlannedCall& o) { return o.op == c.op; });
  };
  std::erase_if(list, own);
  for (PlannedCall& c : list)  // of the last rank, whose plan is the first's
    if (pipeline_ && c.op == SoftmaxXentBwd::name) c.shape = {network_->batch(), data_.train.classes};
  list.insert(list.begin(), whole_calls_.begin(), whole_calls_.end());
  if (teacher_.network != nullptr)
    for (const PlannedCall& call : teacher_.network->calls()) list.push_back(call);
  return list;
}

void Trainer::learn_from(const Teacher& teacher) {
  Network& t = *teacher.network;
  if (t.batch() != network_->batch() || t.in() != network_->in() || t.out() != network_->out())
    throw std::invalid_argument(
        fmt::format("a teacher for {} examples of {} and outputs {} cannot teach a student of {}, {} and {}",
                    t.batch(), dims_text(t.in()), dims_text(t.out()), network_->batch(),
                    dims_text(network_->in()), dims_text(network_->out())));
  teacher_ = teacher;
}

/// Returns the mean loss of a part that learns a teacher's outputs, and computes its gradient. The host compares the two.
double Trainer::taught_gradient(const float* values, bool last) {
  const int64_t n = network_->batch(), classes = data_.train.classes;
  std::vector<float> input(size_t(n * volume(network_->in()))), d_logits(size_t(n * classes));
  for (size_t i = 0; i < input.size(); ++i)
    input[i] =
        float((double(values[i]) * scale_.deviation + scale_.mean - teacher_.mean) / teacher_.deviation);
  teacher_.network->write(input.data());
  run("teacher", [&](Ops& ops) { teacher_.network->forward({ops}); });
  run("forward", [&](Ops& ops) { program_.forward(ops, true); });
  const double loss =
      soft_cross_entropy(n, classes, network_->outputs().data(), teacher_.network->outputs().data(),
                         teacher_.softening, d_logits.data());
  const float factor = float(mixed() ? loss_scale_.value() : 1) / float(settings_.accumulate * ranks_.size());
  for (float& d : d_logits) d *= factor;
  program_.memory().write(program_.d_logits(), d_logits.data(), d_logits.size() * sizeof(float));
  run(last ? "backward" : "backward of a part", [&](Ops& ops) { program_.backward(ops, last); });
  return loss;
}

/// Computes the mean of the gradients of the batch's parts, without the loss scale. Returns the mean of their losses; 0 where that is
/// still on the backend (`late`), so that a step waits once, at its end.
double Trainer::loss_and_gradient(const Batch& batch, bool late) {
  const int64_t parts = settings_.accumulate, n = network_->batch(), size = volume(network_->in());
  double loss = 0;
  for (int64_t part = 0; part < parts; ++part) {
    const bool last = part + 1 == parts;
    const float* values = batch.values.data() + part * n * size;
    program_.write(values, batch.labels.data() + part * n, settings_.seed,
                   uint64_t((step_ * sharing() + ranks_.rank()) * parts + part),
                   mixed() ? loss_scale_.value() : 1, part);
    if (teacher_.network != nullptr) {
      loss += taught_gradient(values, last) / double(parts);
    } else {
      run(last ? "gradient" : "gradient of a part", [&](Ops& ops) { program_.loss_and_gradient(ops, last); });
    }
    if (last && ranks_.size() > 1) {
      profile_.time("sum over ranks", [&] {
        ranks_.sum(program_.memory(), network_->parameters().gradient(), network_->parameters().size());
      });
      if (mixed()) run("check", [&](Ops& ops) { program_.check(ops); });
    }
  }
  if (mixed()) lost_ += program_.lost();
  if (!late && teacher_.network == nullptr) loss = program_.mean_loss();
  return late ? loss : mean_over_ranks(loss);
}

/// Adds in the order of the ranks, as one process adds its parts.
double Trainer::mean_over_ranks(double loss) {
  if (ranks_.size() == 1) return loss;
  double sum = 0;
  for (const double one : ranks_.gather({&loss, 1})) sum += one / double(ranks_.size());
  return sum;
}

double Trainer::step_of_split() {
  const Batch* batch = nullptr;
  profile_.time("loader", [&] { batch = &loader_.at(step_); });
  const double own = pipeline_->gradient(
      batch->values.data(), batch->labels.data(), settings_.seed, uint64_t(step_ * settings_.accumulate),
      [this](const std::string& program, const RunOps::Body& body) { run(program, body); }, profile_);
  double loss = 0;
  for (const double one : ranks_.gather({&own, 1})) loss += one;
  require_finite(loss);
  program_.write_rate(rate_factor_ * schedule_factor(settings_.schedule, double(step_) / double(steps())));
  run("update", [&](Ops& ops) { program_.update(ops); });
  ++step_;
  return loss;
}

void Trainer::require_finite(double loss) const {
  if (mixed() || std::isfinite(loss)) return;
  throw NotFinite(fmt::format("step {}: the loss is not finite; lower --rate (it is {}) or give --clip 1",
                              step_, settings_.optimizer.rate));
}

double Trainer::step() {
  if (pipeline_) return step_of_split();
  const Batch* batch = nullptr;
  profile_.time("loader", [&] { batch = &loader_.at(step_); });
  const bool late = !mixed() && teacher_.network == nullptr;
  double loss = loss_and_gradient(*batch, late);
  if (!late) require_finite(loss);
  bool taken = true;
  if (mixed()) {
    const double before = loss_scale_.value();
    const bool finite = program_.numbers().not_finite == Step::kAllFinite && std::isfinite(loss);
    taken = loss_scale_.update(finite);
    if (!taken && loss_scale_.hopeless())
      throw std::runtime_error(
          fmt::format("step {}: {} steps in a row had no finite gradient, down to a loss scale of {}; lower "
                      "--rate (it is {}), "
                      "or take --precision bf16",
                      step_, kMostSkipped, loss_scale_.value(), settings_.optimizer.rate));
    if (loss_scale_.value() != before) scales_.emplace_back(step_ + 1, loss_scale_.value());
  }
  if (taken) {
    program_.write_rate(rate_factor_ * schedule_factor(settings_.schedule, double(step_) / double(steps())));
    run("update", [&](Ops& ops) { program_.update(ops); });
  }
  if (late) {
    loss = mean_over_ranks(program_.mean_loss());
    require_finite(loss);
  }
  ++step_;
  return loss;
}

void Trainer::average_running() {
  if (sharing() == 1 || network_->kept().empty() || averaged_ == step_) return;
  averaged_ = step_;
  network_->memory().pull();
  for (const Kept& k : network_->kept())
    ranks_.sum({k.values, size_t(volume(k.dims))}, 1 / float(ranks_.size()));
  network_->memory().push();
}

Evaluation Trainer::evaluate(const Examples& examples) {
  average_running();
  const int64_t n = network_->batch(), size = volume(examples.dims), classes = data_.train.classes;
  Evaluation e;
  e.confusion.resize(size_t(classes * classes));
  Array<float> values(n * size);
  Array<int32_t> labels(n);
  Profile unused;
  // The loss and the class of each example, 0 for those of other ranks.
  const auto count = size_t(examples.count());
  std::vector<float> found(2 * count, 0.0F);
  const auto fill = [&](int64_t begin) {
    // Fill the last batch with the last example, so that every call has the planned shape.
    for (int64_t i = 0; i < n; ++i) {
      const int64_t k = std::min(begin + i, examples.count() - 1);
      labels[i] = examples.labels[size_t(k)];
      for (int64_t j = 0; j < size; ++j)
        values[i * size + j] =
            (examples.values[size_t(k * size + j)] - float(scale_.mean)) / float(scale_.deviation);
    }
  };
  const auto see = [&](int64_t begin) {
    const std::vector<float> logits = network_->outputs(), losses = program_.losses();
    for (int64_t i = 0; i < std::min(n, examples.count() - begin); ++i) {
      const float* row = logits.data() + i * classes;
      found[size_t(begin + i)] = losses[size_t(i)];
      found[count + size_t(begin + i)] = float(std::max_element(row, row + classes) - row);
    }
  };
  if (pipeline_) {
    pipeline_->forward(
        {.count = (examples.count() + n - 1) / n,
         .values = [&](int64_t block) { return fill(block * n), values.data(); },
         .labels = [&](int64_t block) { return fill(block * n), labels.data(); },
         .seen = [&](int64_t block) { see(block * n); }},
        [&](const std::string& program, const RunOps::Body& body) { ops_.run(program, plan_, unused, body); },
        unused);
  } else {
    for (int64_t begin = n * ranks_.rank(); begin < examples.count(); begin += n * ranks_.size()) {
      fill(begin);
      program_.write(values.data(), labels.data(), settings_.seed, uint64_t(step_));
      ops_.run("evaluation", plan_, unused, [&](Ops& ops) {
        program_.forward(ops, false);
        program_.loss(ops);
      });
      see(begin);
    }
  }
  ranks_.sum(found);
  for (size_t i = 0; i < count; ++i) {
    const auto predicted = int32_t(found[count + i]), label = examples.labels[i];
    e.predicted.push_back(predicted);
    e.right += predicted == label;
    ++e.confusion[size_t(label * classes + predicted)];
    e.loss += double(found[i]);
  }
  e.loss /= double(std::max<int64_t>(1, examples.count()));
  return e;
}

std::map<std::string, std::string> Trainer::identity() const {
  return {{"model", settings_.model},
          {"data", fmt::format("{} ({} examples)", data_.name, data_.train.count())},
          {"batch", std::to_string(settings_.loader.batch)},
          {"seed", std::to_string(settings_.seed)},
          {"epochs", std::to_string(settings_.epochs)},
          {"optimizer", settings_.optimizer.name}};
}

void Trainer::save(const std::filesystem::path& file, std::map<std::string, std::string> words) {
  words.merge(identity());
  words["step"] = std::to_string(step_);
  words["precision"] = name_of(settings_.precision);
  const LossScale::State& s = loss_scale_.state();
  if (mixed()) words["loss_scale"] = fmt::format("{} {} {} {}", s.value, s.good, s.skipped, s.in_a_row);
  average_running();
  program_.pull();
  if (pipeline_) {
    const auto all = whole();
    if (ranks_.first()) save_network(file, *all->network, all->step.get(), words);
    return;
  }
  if (!ranks_.first()) return;
  // A checkpoint contains the masters, so training resumes from the exact values and not from rounded ones.
  program_.show_masters();
  save_network(file, *network_, &program_, words);
  program_.round_masters();
}

void Trainer::save_model(const std::filesystem::path& file, const std::map<std::string, std::string>& words) {
  program_.pull();
  const auto all = pipeline_ ? whole() : nullptr;
  if (ranks_.first()) save_network(file, all ? *all->network : *network_, nullptr, words);
}

void Trainer::begin_from(const std::filesystem::path& model) {
  std::map<std::string, std::string> words;
  load_network(model, *network_, nullptr, {}, words);
  program_.round_masters();
  program_.push();
}

void Trainer::restore(const std::filesystem::path& file, std::map<std::string, std::string>& words) {
  words["step"] = "";
  words["precision"] = "f32";  // for checkpoints without this entry, written before other precisions existed
  words["loss_scale"] = "";
  if (pipeline_) {
    WholeTraining all = whole_training();
    load_network(file, *all.network, all.step.get(), identity(), words);
    take_own(all);
  } else {
    load_network(file, *network_, &program_, identity(), words);
  }
  step_ = std::stoll(words["step"]);
  if (words["precision"] != name_of(settings_.precision))
    throw std::runtime_error(
        fmt::format("{}: its precision is {}, and this run's is {}: give --precision {}, or start again",
                    file.string(), words["precision"], name_of(settings_.precision), words["precision"]));
  program_.round_masters();
  program_.push();
  averaged_ = step_;
  if (!mixed()) return;
  LossScale::State s;
  std::istringstream text(words["loss_scale"]);
  if (!(text >> s.value >> s.good >> s.skipped >> s.in_a_row))
    throw std::runtime_error(fmt::format("{}: its loss scale is no number; start again", file.string()));
  loss_scale_.restore(s);
  scales_ = {{step_, loss_scale_.value()}};
}

}  // namespace klab::learning
