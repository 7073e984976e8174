#include "labs/learning/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "labs/learning/network/models.h"
#include "labs/learning/network/schedule.h"
#include "reference/all_finite/all_finite.h"
#include "reference/unscale/unscale.h"

namespace klab::learning {
namespace {

std::unique_ptr<Network> built(const Dataset& data, const TrainerSettings& s) {
  auto network = make_model(s.model, data.train.dims, data.train.classes);
  if (s.accumulate < 1 || s.loader.batch % s.accumulate != 0)
    throw std::invalid_argument(
        fmt::format("--accumulate {}: does not divide the batch of {}; take a --batch that it divides",
                    s.accumulate, s.loader.batch));
  if (s.initialization != "kaiming" && s.initialization != "he" && s.initialization != "xavier")
    throw std::invalid_argument("no initialization is called " + s.initialization +
                                ": --init kaiming (or he) or xavier");
  network->build(s.loader.batch / s.accumulate, s.seed, s.recompute);
  if (s.initialization == "xavier") initialize_xavier(*network, s.seed);
  return network;
}

}  // namespace

Trainer::Trainer(const Dataset& data, const TrainerSettings& settings)
    : settings_(settings),
      data_(data),
      scale_(scale_of(data.train)),
      network_(built(data, settings)),
      optimizer_(network_->parameters(), settings.optimizer),
      loss_(settings.loader.batch / settings.accumulate, data.train.classes),
      loader_(data.train, settings.loader, scale_.mean, scale_.deviation),
      loss_scale_(settings.loss_scale) {
  schedule_factor(settings.schedule, 0);  // throws for an unknown name
  for (const bool decays : {false, true})
    if (settings.accumulate > 1) sums_[decays] = Array<float>(network_->parameters().group(decays).size);
  if (!mixed()) return;
  const Parameters::Group& matrices = network_->parameters().group(true);
  masters_ = Array<float>(matrices.size);
  std::copy_n(matrices.values.data(), matrices.size, masters_.data());
  round_weights();
  scales_ = {{0, loss_scale_.value()}};
}

/// Computes the layers' weights from their masters.
void Trainer::round_weights() {
  Parameters::Group& matrices = network_->parameters().group(true);
  Lost of_weights;
  std::copy_n(masters_.data(), matrices.size, matrices.values.data());
  round_to(settings_.precision, matrices.values.data(), matrices.size, of_weights);
}

std::vector<PlannedCall> Trainer::calls() const {
  std::vector<PlannedCall> list = network_->calls();
  loss_.calls(list);
  optimizer_.calls(list);
  if (teacher_.network != nullptr)
    for (const PlannedCall& call : teacher_.network->calls()) list.push_back(call);
  if (mixed())
    for (const bool decays : {false, true}) {
      const int64_t n = network_->parameters().group(decays).size;
      const std::string size = fmt::format("{} gradients", n);
      list.push_back(planned<AllFinite>({n}, size));
      list.push_back(planned<Unscale>({n}, size));
    }
  return list;
}

/// Rounds the gradients of the parameters as if stored, checks that they are finite, and removes the loss
/// scale.
bool Trainer::finite_and_unscaled(const Pass& pass) {
  const auto scale = float(loss_scale_.value());
  int32_t first = std::numeric_limits<int32_t>::max();
  for (const bool decays : {false, true}) {
    Parameters::Group& g = network_->parameters().group(decays);
    round_to(settings_.precision, g.gradients.data(), g.size, lost_);
    pass.profile.run<AllFinite>("all_finite", pass.plan, {{g.size}, g.gradients.data(), &first});
  }
  for (const bool decays : {false, true}) {
    Parameters::Group& g = network_->parameters().group(decays);
    pass.profile.run<Unscale>("unscale", pass.plan, {{g.size}, &scale, &first, g.gradients.data()});
  }
  return first == std::numeric_limits<int32_t>::max();
}

/// Returns the pass for a part; dropout draws another mask for each.
Pass Trainer::pass_of(int64_t part) {
  return {plan_,
          profile_,
          true,
          settings_.seed,
          uint64_t(step_ * settings_.accumulate + part),
          settings_.precision,
          &lost_};
}

void Trainer::learn_from(const Teacher& teacher) {
  Network& t = *teacher.network;
  if (t.batch() != network_->batch() || t.in() != network_->in() || t.out() != network_->out())
    throw std::invalid_argument(
        fmt::format("a teacher for {} examples of {} and outputs {} cannot teach a student of {}, {} and {}",
                    t.batch(), dims_text(t.in()), dims_text(t.out()), network_->batch(),
                    dims_text(network_->in()), dims_text(network_->out())));
  teacher_ = teacher;
  teacher_input_ = Array<float>(t.batch() * volume(t.in()));
}

/// Returns the mean loss of a part and computes its gradient with respect to the outputs.
double Trainer::loss_of(const Pass& pass, const Batch& batch, int64_t part, const float* logits) {
  const int64_t n = network_->batch(), size = volume(network_->in());
  if (teacher_.network == nullptr) return loss_(pass, logits, batch.labels.data() + part * n);
  const float* values = batch.values.data() + part * n * size;
  for (int64_t i = 0; i < n * size; ++i)
    teacher_input_[i] =
        float((double(values[i]) * scale_.deviation + scale_.mean - teacher_.mean) / teacher_.deviation);
  const Pass taught{plan_, profile_, false, pass.seed, pass.step, Precision::f32, nullptr};
  const float* outputs = teacher_.network->forward(taught, teacher_input_.data());
  return soft_cross_entropy(n, data_.train.classes, logits, outputs, teacher_.softening, loss_.d_logits());
}

/// Returns the mean loss of the batch's parts and computes the mean of their gradients, multiplied by the
/// loss scale if there is one.
double Trainer::loss_and_gradient(const Batch& batch) {
  const int64_t parts = settings_.accumulate, n = network_->batch(), size = volume(network_->in());
  double loss = 0;
  for (int64_t part = 0; part < parts; ++part) {
    const Pass pass = pass_of(part);
    const float* logits = network_->forward(pass, batch.values.data() + part * n * size);
    loss += loss_of(pass, batch, part, logits) / double(parts);
    if (mixed() || parts > 1) {
      const float factor = (mixed() ? float(loss_scale_.value()) : 1.0F) / float(parts);
      for (int64_t i = 0; i < loss_.size(); ++i) loss_.d_logits()[i] *= factor;
    }
    round_to(settings_.precision, loss_.d_logits(), loss_.size(), lost_);
    network_->backward(pass, loss_.d_logits());
    if (parts == 1) return loss;
    for (const bool decays : {false, true}) {
      Parameters::Group& g = network_->parameters().group(decays);
      Array<float>& sum = sums_[decays];
      for (int64_t i = 0; i < g.size; ++i) sum[i] = part == 0 ? g.gradients[i] : sum[i] + g.gradients[i];
      if (part + 1 == parts) std::copy_n(sum.data(), g.size, g.gradients.data());
    }
  }
  return loss;
}

double Trainer::step() {
  const Batch* batch = nullptr;
  profile_.time("loader", [&] { batch = &loader_.at(step_); });
  const Pass pass = pass_of(0);
  const double loss = loss_and_gradient(*batch);
  if (!mixed() && !std::isfinite(loss))
    throw std::runtime_error(
        fmt::format("step {}: the loss is not finite; lower --rate (it is {}) or give --clip 1", step_,
                    settings_.optimizer.rate));
  const double factor = schedule_factor(settings_.schedule, double(step_) / double(steps()));
  if (!mixed()) {
    optimizer_.step(pass, factor);
  } else {
    const double before = loss_scale_.value();
    const bool finite = finite_and_unscaled(pass);
    if (loss_scale_.update(finite && std::isfinite(loss))) {
      Parameters::Group& matrices = network_->parameters().group(true);
      std::copy_n(masters_.data(), matrices.size, matrices.values.data());
      optimizer_.step(pass, factor);
      std::copy_n(matrices.values.data(), matrices.size, masters_.data());
      round_weights();
    } else if (loss_scale_.hopeless()) {
      throw std::runtime_error(
          fmt::format("step {}: {} steps in a row had no finite gradient, down to a loss scale of {}; lower "
                      "--rate (it is {}), "
                      "or take --precision bf16",
                      step_, kMostSkipped, loss_scale_.value(), settings_.optimizer.rate));
    }
    if (loss_scale_.value() != before) scales_.emplace_back(step_ + 1, loss_scale_.value());
  }
  ++step_;
  return loss;
}

Evaluation Trainer::evaluate(const Examples& examples) {
  const int64_t n = network_->batch(), size = volume(examples.dims), classes = data_.train.classes;
  Evaluation e;
  e.predicted.resize(size_t(examples.count()));
  e.confusion.resize(size_t(classes * classes));
  Array<float> values(n * size);
  Array<int32_t> labels(n);
  Profile unused;
  Lost of_none;
  const Pass pass{plan_, unused, false, settings_.seed, uint64_t(step_), settings_.precision, &of_none};
  for (int64_t begin = 0; begin < examples.count(); begin += n) {
    // Fill the last batch with the last example, so that every call has the planned shape.
    for (int64_t i = 0; i < n; ++i) {
      const int64_t k = std::min(begin + i, examples.count() - 1);
      labels[i] = examples.labels[size_t(k)];
      for (int64_t j = 0; j < size; ++j)
        values[i * size + j] =
            (examples.values[size_t(k * size + j)] - float(scale_.mean)) / float(scale_.deviation);
    }
    const float* logits = network_->forward(pass, values.data());
    loss_(pass, logits, labels.data());
    for (int64_t i = 0; i < std::min(n, examples.count() - begin); ++i) {
      const float* row = logits + i * classes;
      const auto predicted = int32_t(std::max_element(row, row + classes) - row);
      e.predicted[size_t(begin + i)] = predicted;
      e.right += predicted == labels[i];
      ++e.confusion[size_t(labels[i] * classes + predicted)];
      e.loss += double(loss_.losses()[i]);
    }
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
  if (!mixed()) return save_network(file, *network_, &optimizer_, words);
  const LossScale::State& s = loss_scale_.state();
  words["loss_scale"] = fmt::format("{} {} {} {}", s.value, s.good, s.skipped, s.in_a_row);
  // A checkpoint contains the masters, so training resumes from the exact values and not from rounded ones.
  Parameters::Group& matrices = network_->parameters().group(true);
  std::copy_n(masters_.data(), matrices.size, matrices.values.data());
  save_network(file, *network_, &optimizer_, words);
  round_weights();
}

void Trainer::restore(const std::filesystem::path& file, std::map<std::string, std::string>& words) {
  words["step"] = "";
  words["precision"] = "f32";  // for checkpoints without this entry, written before other precisions existed
  words["loss_scale"] = "";
  load_network(file, *network_, &optimizer_, identity(), words);
  step_ = std::stoll(words["step"]);
  if (words["precision"] != name_of(settings_.precision))
    throw std::runtime_error(
        fmt::format("{}: its precision is {}, and this run's is {}: give --precision {}, or begin anew",
                    file.string(), words["precision"], name_of(settings_.precision), words["precision"]));
  if (!mixed()) return;
  LossScale::State s;
  std::istringstream text(words["loss_scale"]);
  if (!(text >> s.value >> s.good >> s.skipped >> s.in_a_row))
    throw std::runtime_error(fmt::format("{}: its loss scale is no number; begin anew", file.string()));
  loss_scale_.restore(s);
  scales_ = {{step_, loss_scale_.value()}};
  const Parameters::Group& matrices = network_->parameters().group(true);
  std::copy_n(matrices.values.data(), matrices.size, masters_.data());
  round_weights();
}

}  // namespace klab::learning
