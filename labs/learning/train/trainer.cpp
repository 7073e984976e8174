#include "labs/learning/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "labs/learning/network/models.h"
#include "labs/learning/network/schedule.h"

namespace klab::learning {
namespace {

std::unique_ptr<Network> built(const Dataset& data, const TrainerSettings& s) {
  auto network = make_model(s.model, data.train.dims, data.train.classes);
  network->build(s.loader.batch, s.seed);
  return network;
}

}  // namespace

Trainer::Trainer(const Dataset& data, const TrainerSettings& settings)
    : settings_(settings),
      data_(data),
      scale_(scale_of(data.train)),
      network_(built(data, settings)),
      optimizer_(network_->parameters(), settings.optimizer),
      loss_(settings.loader.batch, data.train.classes),
      loader_(data.train, settings.loader, scale_.mean, scale_.deviation) {
  schedule_factor(settings.schedule, 0);  // throws for a name it does not know
}

std::vector<PlannedCall> Trainer::calls() const {
  std::vector<PlannedCall> list = network_->calls();
  loss_.calls(list);
  optimizer_.calls(list);
  return list;
}

double Trainer::step() {
  const Batch* batch = nullptr;
  profile_.time("loader", [&] { batch = &loader_.at(step_); });
  const Pass pass{plan_, profile_, true, settings_.seed, uint64_t(step_)};
  const float* logits = network_->forward(pass, batch->values.data());
  const double loss = loss_(pass, logits, batch->labels.data());
  if (!std::isfinite(loss))
    throw std::runtime_error(
        fmt::format("step {}: the loss is not finite; lower --rate (it is {}) or give --clip 1", step_,
                    settings_.optimizer.rate));
  network_->backward(pass, loss_.d_logits());
  optimizer_.step(pass, schedule_factor(settings_.schedule, double(step_) / double(steps())));
  ++step_;
  return loss;
}

Evaluation Trainer::evaluate(const Examples& examples) {
  const int64_t n = settings_.loader.batch, size = volume(examples.dims), classes = data_.train.classes;
  Evaluation e;
  e.predicted.resize(size_t(examples.count()));
  e.confusion.resize(size_t(classes * classes));
  Array<float> values(n * size);
  Array<int32_t> labels(n);
  Profile unused;
  const Pass pass{plan_, unused, false, settings_.seed, uint64_t(step_)};
  for (int64_t begin = 0; begin < examples.count(); begin += n) {
    // The last batch is filled up with the last example, so that every call has the planned shape.
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
  save_network(file, *network_, &optimizer_, words);
}

void Trainer::restore(const std::filesystem::path& file, std::map<std::string, std::string>& words) {
  words["step"] = "";
  load_network(file, *network_, &optimizer_, identity(), words);
  step_ = std::stoll(words["step"]);
}

}  // namespace klab::learning
