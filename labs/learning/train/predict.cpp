#include "labs/learning/train/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "harness/program/times_here.h"
#include "harness/records/csv_text.h"
#include "harness/records/json_schema.h"
#include "harness/records/tensor_file.h"
#include "harness/report/table.h"
#include "labs/learning/data/loader.h"
#include "labs/learning/network/checkpoint.h"
#include "labs/learning/network/models.h"
#include "labs/radiance/scene/image.h"

namespace klab::learning {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string exact(double v) { return fmt::format("{}", v); }  // shortest text that reads as the same number

[[noreturn]] void damaged(const fs::path& file, const std::string& field) {
  throw std::runtime_error(
      fmt::format("{}: its \"{}\" cannot be read: train the model again", file.string(), field));
}

double number_in(const TensorFile& in, const std::string& field) {
  const std::string& text = in.metadata(field);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value)) damaged(in.path(), field);
  return value;
}

json as_json(const Classifier& c, const std::string& picture, const Prediction& p) {
  json probabilities;
  for (size_t k = 0; k < p.probabilities.size(); ++k)
    probabilities[c.class_name(int64_t(k))] = p.probabilities[k];
  return {{"picture", picture},
          {"class", c.class_name(p.best())},
          {"probability", p.probabilities[size_t(p.best())]},
          {"probabilities", probabilities}};
}

void print_csv(const Classifier& c, const std::string& picture, const Prediction& p) {
  fmt::print("{},{},{:.6f}", csv_quoted(picture), csv_quoted(c.class_name(p.best())),
             p.probabilities[size_t(p.best())]);
  for (const float q : p.probabilities) fmt::print(",{:.6f}", q);
  fmt::print("\n");
}

/// The class, its probability, and the runner-up where it is near.
void print_line(const Classifier& c, const std::string& picture, const Prediction& p) {
  const int64_t best = p.best();
  std::vector<float> others = p.probabilities;
  others[size_t(best)] = -1;
  const auto second = int64_t(std::ranges::max_element(others) - others.begin());
  fmt::print("{}  {}  {:.1f} %", picture, c.class_name(best), 100 * p.probabilities[size_t(best)]);
  if (others[size_t(second)] >= 0.01F)
    fmt::print("  (then {}, {:.1f} %)", c.class_name(second), 100 * others[size_t(second)]);
  fmt::print("\n");
}

void print_all(Classifier& c, const PredictOptions& o) {
  // All pictures are read before the first answer: one that does not fit ends the command with nothing half printed.
  std::vector<float> values;
  for (const std::string& picture : o.pictures) {
    const std::vector<float> one = c.read_picture(picture);
    values.insert(values.end(), one.begin(), one.end());
  }
  const std::vector<Prediction> list = c.predict(values.data(), int64_t(o.pictures.size()));
  json all = json::array();
  for (size_t i = 0; i < list.size(); ++i) {
    if (o.json)
      all.push_back(as_json(c, o.pictures[i], list[i]));
    else if (o.csv)
      print_csv(c, o.pictures[i], list[i]);
    else
      print_line(c, o.pictures[i], list[i]);
  }
  if (o.json) fmt::print("{}\n", with_schema("predictions", json{{"predictions", all}}).dump(2));
}

/// Answers names on standard input, each at once; one that cannot be read is answered by an error, and the next is taken.
int serve(Classifier& c, const PredictOptions& o) {
  int code = 0;
  for (std::string picture; std::getline(std::cin, picture);) {
    if (picture.empty()) continue;
    try {
      const Prediction p = c.predict(c.read_picture(picture).data(), 1).front();
      if (o.json)
        fmt::print("{}\n", with_schema("prediction", as_json(c, picture, p)).dump());
      else if (o.csv)
        print_csv(c, picture, p);
      else
        print_line(c, picture, p);
    } catch (const std::exception& e) {
      code = 2;
      if (o.json)
        fmt::print("{}\n", with_schema("prediction", json{{"picture", picture}, {"error", e.what()}}).dump());
      else
        fmt::print(stderr, "klab: {}\n", e.what());
    }
    std::fflush(stdout);
  }
  return code;
}

int score(Classifier& c, const PredictOptions& o) {
  const Dataset data = load_dataset(o.evaluate, o.seed, 0, o.test);
  const Evaluation e = c.evaluate(data.test);
  if (o.json) {
    const json result = {{"data", data.name},        {"model", c.model()}, {"test", data.test.count()},
                         {"accuracy", e.accuracy()}, {"loss", e.loss},     {"confusion", e.confusion}};
    fmt::print("{}\n", with_schema("classifier_evaluation", result).dump(2));
    return 0;
  }
  fmt::print("{} of {}: right {:.2f} % of {} examples, loss {:.4f}\n", c.model(), data.name,
             100 * e.accuracy(), data.test.count(), e.loss);
  return 0;
}

}  // namespace

std::map<std::string, std::string> words_of_model(const Dataset& data, const TrainerSettings& settings) {
  const Scale scale = scale_of(data.train);
  std::string dims;
  for (const int64_t d : data.train.dims) dims += fmt::format("{}{}", dims.empty() ? "" : " ", d);
  return {{"model", settings.model},
          {"data", data.name},
          {"example", dims},
          {"classes", std::to_string(data.train.classes)},
          {"names", json(data.train.names).dump()},
          {"mean", exact(scale.mean)},
          {"deviation", exact(scale.deviation)}};
}

int64_t Prediction::best() const {
  return int64_t(std::ranges::max_element(probabilities) - probabilities.begin());
}

Classifier::Classifier(const fs::path& run, int64_t batch, const Backend& backend, int64_t most) {
  const fs::path file = fs::is_directory(run) ? run / "model.safetensors" : run;
  const TensorFile in(file);
  for (const char* field : {"model", "data", "example", "classes", "names", "mean", "deviation"})
    if (!in.has_metadata(field))
      throw std::runtime_error(
          fmt::format("{}: says nothing of \"{}\": no model of klab classify, or one of an earlier klab; "
                      "klab classify --resume its folder writes it again",
                      file.string(), field));
  model_ = in.metadata("model");
  data_ = in.metadata("data");
  std::istringstream sizes(in.metadata("example"));
  for (int64_t size = 0; sizes >> size;) dims_.push_back(size);
  if (!sizes.eof() || dims_.empty() || dims_.size() > 3 ||
      std::ranges::any_of(dims_, [](int64_t d) { return d < 1 || d > 65536; }))
    damaged(file, "example");
  const double classes = number_in(in, "classes");
  if (!(classes >= 1 && classes <= 1e6)) damaged(file, "classes");
  mean_ = float(number_in(in, "mean"));
  deviation_ = float(number_in(in, "deviation"));
  if (!(deviation_ > 0)) damaged(file, "deviation");
  try {
    names_ = json::parse(in.metadata("names")).get<std::vector<std::string>>();
  } catch (const json::exception&) {
    damaged(file, "names");
  }
  const auto build = [&] {
    try {
      network_ = make_model(model_, dims_, int64_t(classes));
    } catch (const std::invalid_argument& e) {
      throw std::runtime_error(fmt::format("{}: its network cannot be built: {}", file.string(), e.what()));
    }
    network_->build_for_inference(batch, most, backend);
  };
  for (bool built = false; !built;) {
    std::string why = "an allocation fails";
    try {
      build();
      built = true;
      continue;
    } catch (const ShortOfMemory& e) {
      why = e.what();
    } catch (const std::bad_alloc&) {
    }
    if (batch == 1)
      throw std::runtime_error(fmt::format(
          "{}: no memory for one example at a time ({}): give more --memory, or close other programs",
          file.string(), why));
    batch /= 2;
  }
  std::map<std::string, std::string> words;
  load_network(file, *network_, nullptr, {}, words);
  network_->memory().push();
  ops_ = std::make_unique<RunOps>(network_->memory());
}

std::string Classifier::class_name(int64_t label) const {
  return size_t(label) < names_.size() ? names_[size_t(label)] : std::to_string(label);
}

std::vector<Prediction> Classifier::predict(const float* values, int64_t count) {
  const int64_t n = network_->batch(), size = volume(dims_);
  std::vector<Prediction> list;
  Array<float> batch(n * size);
  for (int64_t begin = 0; begin < count; begin += n) {
    // The last batch is filled with its last example, so that every call has the planned shape.
    for (int64_t i = 0; i < n; ++i) {
      const float* from = values + std::min(begin + i, count - 1) * size;
      for (int64_t j = 0; j < size; ++j) batch[i * size + j] = (from[j] - mean_) / deviation_;
    }
    network_->write(batch.data());
    ops_->run("prediction", plan_, profile_, [&](Ops& ops) { network_->forward({ops}); });
    const std::vector<float> logits = network_->outputs();
    for (int64_t i = 0; i < std::min(n, count - begin); ++i) {
      const float *row = logits.data() + i * classes(), largest = *std::max_element(row, row + classes());
      Prediction p;
      double sum = 0;
      for (int64_t k = 0; k < classes(); ++k) sum += std::exp(double(row[k]) - double(largest));
      for (int64_t k = 0; k < classes(); ++k)
        p.probabilities.push_back(float(std::exp(double(row[k]) - double(largest)) / sum));
      list.push_back(std::move(p));
    }
  }
  return list;
}

Evaluation Classifier::evaluate(const Examples& examples) {
  if (examples.dims != dims_)
    throw std::invalid_argument(fmt::format(
        "the model takes examples of {}, and this set has {}: give the data that it was trained with ({})",
        dims_text(dims_), dims_text(examples.dims), data_));
  if (examples.classes > classes())
    throw std::invalid_argument(
        fmt::format("the model has {} classes, and this set {}: give the data that it was trained with ({})",
                    classes(), examples.classes, data_));
  Evaluation e;
  e.confusion.resize(size_t(classes() * classes()));
  const std::vector<Prediction> list = predict(examples.values.data(), examples.count());
  for (int64_t i = 0; i < examples.count(); ++i) {
    const Prediction& p = list[size_t(i)];
    const int32_t label = examples.labels[size_t(i)];
    e.predicted.push_back(int32_t(p.best()));
    e.right += p.best() == label;
    ++e.confusion[size_t(label * classes() + p.best())];
    e.loss -= std::log(std::max(double(p.probabilities[size_t(label)]), 1e-300));
  }
  e.loss /= double(std::max<int64_t>(1, examples.count()));
  return e;
}

std::vector<float> Classifier::read_picture(const fs::path& file) const {
  if (dims_.size() != 3)
    throw std::invalid_argument(
        fmt::format("{}: the model takes {}, and no pictures: score it on a data set with --evaluate",
                    file.string(), dims_text(dims_)));
  const Image image = load_image(file);
  const int64_t channels = dims_[0], rows = dims_[1], columns = dims_[2];
  if (image.height != rows || image.width != columns)
    throw std::invalid_argument(
        fmt::format("{0}: {1}x{2} pixels, and the model takes {3}x{4}: scale it, as in convert {0} -resize "
                    "{3}x{4}! small.png",
                    file.string(), image.width, image.height, columns, rows));
  if (channels != 1 && channels != 3)
    throw std::invalid_argument(
        fmt::format("{}: the model takes {} channels, and a picture has 1 or 3", file.string(), channels));
  std::vector<float> values(size_t(channels * rows * columns));
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t x = 0; x < columns; ++x) {
      const uint8_t* pixel = image.at(int(x), int(y));
      if (channels == 1 && (pixel[0] != pixel[1] || pixel[1] != pixel[2]))
        throw std::invalid_argument(
            fmt::format("{0}: it has colors, and the model takes one channel: make it gray, as in convert "
                        "{0} -colorspace Gray gray.png",
                        file.string()));
      for (int64_t c = 0; c < channels; ++c)
        values[size_t((c * rows + y) * columns + x)] = float(pixel[c]) / 255.0F;
    }
  return values;
}

int predict(const PredictOptions& o) {
  if (o.json && o.csv) throw std::invalid_argument("--json and --csv exclude each other");
  const bool from_input = o.pictures == std::vector<std::string>{"-"};
  const int64_t batch = from_input ? 1 : o.batch > 0 ? o.batch : PredictOptions::kUsualBatch;
  Classifier c(o.run, batch, o.backend, o.memory);
  if (c.batch() < batch)
    fmt::print(stderr, "memory    {} examples at a time, not {}: {:.2f} MB for the network and its passes\n",
               c.batch(), batch, double(c.network().inference_bytes()) * 1e-6);
  CallTimes times = times_here();
  const std::vector<PlannedCall> calls = c.calls();
  c.use(Plan::fixed(plan_ids(o.plan, calls, o.rungs), o.plan, calls, times, o.rungs));
  if (!o.evaluate.empty()) return score(c, o);
  if (o.pictures.empty())
    throw std::invalid_argument("--predict needs pictures, or - for their names on standard input");
  if (o.csv) {
    fmt::print("picture,class,probability");
    for (int64_t k = 0; k < c.classes(); ++k) fmt::print(",{}", csv_quoted(c.class_name(k)));
    fmt::print("\n");
  }
  if (from_input) return serve(c, o);
  print_all(c, o);
  return 0;
}

}  // namespace klab::learning
