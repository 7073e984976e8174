// Experiment shifted: batch normalization on test pictures that are unlike those of the training, by running statistics and by those of
// the test batch. The convention is running ones; a claim says that those of the batch are better here.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "harness/program/random.h"
#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/models.h"

namespace klab::learning::shifted_experiment {
namespace {

constexpr const char* kGained = "percentage points gained by statistics of the batch";
const Claim kHelps{
    .id = "shifted.helps",
    .said = "batch normalization by statistics of the test batch improves results out of distribution",
    .source = "course",
    .metric = std::string(kGained) + ", batches of 64 of all classes",
    .rule = at_least(1),
    .on = "the shift"};
const Claim kFree{.id = "shifted.free",
                  .said = "batch normalization by statistics of the test batch costs nothing in distribution",
                  .source = "course",
                  .metric = std::string(kGained) + ", batches of 64, pictures as in training",
                  .rule = at_least(-1)};
const Claim kSizes{.id = "shifted.sizes",
                   .said = "what statistics of the test batch gain does not depend on its size",
                   .source = "course",
                   .metric = std::string(kGained) + ", pictures of the least contrast",
                   .rule = at_least(1),
                   .on = "the size of the batch"};
const Claim kOneClass{
    .id = "shifted.one_class",
    .said = "statistics of the test batch improve results out of distribution in batches of one class, too",
    .source = "course",
    .metric = std::string(kGained) + ", pictures of the least contrast, batches of 64 of one class",
    .rule = at_least(1)};

constexpr size_t kSeeds = 5, kKinds = 4, kStrengths = 3;
constexpr int64_t kBatch = 64, kTests = 1024, kSide = 28;
constexpr std::array<int64_t, 4> kBatches = {1, 8, 64, 512};
constexpr const char* kNetwork = "conv 8 5 stride 2, batchnorm, pool, 32, batchnorm, 10";

enum class Kind { brightness, contrast, noise, blur };
constexpr const char* kNames[kKinds] = {"brightness", "contrast", "noise", "blur"};
/// What is added, the factor on differences from gray, the deviation of the noise, the number of 3×3 means.
constexpr double kBy[kKinds][kStrengths] = {{0.15, 0.3, 0.45}, {0.6, 0.4, 0.2}, {0.15, 0.3, 0.45}, {1, 2, 4}};

void blur(float* picture) {
  std::array<float, size_t(kSide * kSide)> before{};
  std::copy_n(picture, kSide * kSide, before.data());
  for (int64_t y = 0; y < kSide; ++y)
    for (int64_t x = 0; x < kSide; ++x) {
      float sum = 0;
      for (int64_t dy = -1; dy <= 1; ++dy)
        for (int64_t dx = -1; dx <= 1; ++dx)
          sum += before[size_t(std::clamp<int64_t>(y + dy, 0, kSide - 1) * kSide +
                               std::clamp<int64_t>(x + dx, 0, kSide - 1))];
      picture[y * kSide + x] = sum / 9;
    }
}

/// Returns the pictures with a shift of that kind and strength, in [0,1] again.
Examples shifted(Examples e, Kind kind, double by, uint64_t seed) {
  const Draws draws(seed, 0, 350);
  if (kind == Kind::blur)
    for (int64_t i = 0; i < e.count(); ++i)
      for (int times = 0; times < int(by); ++times) blur(e.values.data() + i * kSide * kSide);
  for (size_t i = 0; i < e.values.size(); ++i) {
    double v = double(e.values[i]);
    if (kind == Kind::brightness) v += by;
    if (kind == Kind::contrast) v = 0.5 + by * (v - 0.5);
    if (kind == Kind::noise)  // Box and Muller 1958
      v += by * std::sqrt(-2 * std::log(1 - double(draws.unit(2 * i)))) *
           std::cos(2 * M_PI * double(draws.unit(2 * i + 1)));
    e.values[i] = float(std::clamp(v, 0.0, 1.0));
  }
  return e;
}

Examples sorted_by_class(const Examples& e) {
  std::vector<size_t> order(e.labels.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](size_t i) { return e.labels[i]; });
  Examples sorted{.dims = e.dims, .classes = e.classes, .values = {}, .labels = {}};
  const auto size = std::ptrdiff_t(volume(e.dims));
  for (const size_t i : order) {
    sorted.labels.push_back(e.labels[i]);
    const auto begin = e.values.begin() + std::ptrdiff_t(i) * size;
    sorted.values.insert(sorted.values.end(), begin, begin + size);
  }
  return sorted;
}

/// Accuracy in percent by running statistics and by those of the batch.
struct Both {
  double running = 0, own = 0;
  double gained() const { return own - running; }
};

/// A trained network, which judges pictures in batches of any size.
class Judge {
 public:
  explicit Judge(uint64_t seed)
      : train_(make_glyphs(3000, seed)),
        learner_(make_model(kNetwork, train_.dims, train_.classes), train_, 50, {.rate = 2e-3}, seed),
        seed_(seed) {
    learner_.train(400);
  }
  /// Statistics of a batch enter the running ones, so both kinds begin with those of the training.
  Both accuracy(const Examples& e, int64_t batch) {
    Learner other(make_model(kNetwork, train_.dims, train_.classes), train_, batch, {}, seed_);
    Both both;
    copy_to(other.network());
    both.running = 100 * other.accuracy(e);
    copy_to(other.network());
    both.own = 100 * other.accuracy(e, true);
    return both;
  }

 private:
  void copy_to(Network& other) {
    const auto &from = learner_.network().parameters().tensors(), &to = other.parameters().tensors();
    for (size_t i = 0; i < from.size(); ++i) std::copy_n(from[i].value, from[i].size(), to[i].value);
    const std::vector<Kept> averages = learner_.network().kept(), others = other.kept();
    for (size_t i = 0; i < averages.size(); ++i)
      std::copy_n(averages[i].values, volume(averages[i].dims), others[i].values);
  }
  Examples train_;
  Learner learner_;
  uint64_t seed_;
};

/// What one seed measures.
struct Measurement {
  Both plain, one_class;
  Both by_strength[kKinds][kStrengths];
  Both by_batch[kBatches.size()];
};

Measurement measure(uint64_t seed) {
  Judge judge(seed);
  const Examples test = make_glyphs(kTests, seed + 1);
  Measurement m;
  m.plain = judge.accuracy(test, kBatch);
  for (size_t kind = 0; kind < kKinds; ++kind)
    for (size_t s = 0; s < kStrengths; ++s)
      m.by_strength[kind][s] = judge.accuracy(shifted(test, Kind(kind), kBy[kind][s], seed), kBatch);
  const Examples pale = shifted(test, Kind::contrast, kBy[size_t(Kind::contrast)][kStrengths - 1], seed);
  for (size_t i = 0; i < kBatches.size(); ++i) m.by_batch[i] = judge.accuracy(pale, kBatches[i]);
  m.one_class = judge.accuracy(sorted_by_class(pale), kBatch);
  return m;
}

using Measurements = std::vector<Measurement>;

template <class F>
Both mean(const Measurements& all, F of) {
  Both sum;
  for (const Measurement& m : all) sum.running += of(m).running, sum.own += of(m).own;
  return {sum.running / double(all.size()), sum.own / double(all.size())};
}

template <class F>
ClaimRow row(const std::string& condition, const Measurements& all, F of) {
  ClaimRow r{condition, {}};
  for (const Measurement& m : all) r.values.push_back(of(m).gained());
  return r;
}

std::string text_of(const Both& both) {
  return fmt::format("{:.1f} % right by running statistics, {:.1f} % by those of the batch", both.running,
                     both.own);
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"pictures", "by", "batch", "running statistics", "statistics of the batch"},
              .x = "strength of the shift",
              .y = "points gained by statistics of the batch"};
  Measurements all;
  for (size_t s = 0; s < kSeeds; ++s) all.push_back(measure(seed + s));
  const auto show = [&](const std::string& what, const std::string& by, int64_t batch, const Both& both) {
    out.rows.push_back({what, by, std::to_string(batch), fmt::format("{:.1f} %", both.running),
                        fmt::format("{:.1f} %", both.own)});
  };
  const Both plain = mean(all, [](const Measurement& m) { return m.plain; });
  show("as in training", "-", kBatch, plain);
  std::vector<ClaimRow> kinds, sizes;
  std::string text;
  for (size_t kind = 0; kind < kKinds; ++kind) {
    Curve curve{kNames[kind], {{0, plain.gained()}}};
    for (size_t s = 0; s < kStrengths; ++s) {
      const Both both = mean(all, [&](const Measurement& m) { return m.by_strength[kind][s]; });
      show(kNames[kind], fmt::format("{}", kBy[kind][s]), kBatch, both);
      curve.points.emplace_back(s + 1, both.gained());
      if (s + 1 == kStrengths)
        text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", kNames[kind], text_of(both));
    }
    out.curves.push_back(curve);
    kinds.push_back(
        row(kNames[kind], all, [&](const Measurement& m) { return m.by_strength[kind][kStrengths - 1]; }));
  }
  std::string by_size;
  for (size_t i = 0; i < kBatches.size(); ++i) {
    const auto of = [&](const Measurement& m) { return m.by_batch[i]; };
    const Both both = mean(all, of);
    show("least contrast", "-", kBatches[i], both);
    sizes.push_back(row(std::to_string(kBatches[i]), all, of));
    by_size += fmt::format("{}batches of {}: {}", by_size.empty() ? "" : "; ", kBatches[i], text_of(both));
  }
  const auto one_class = [](const Measurement& m) { return m.one_class; };
  show("least contrast, one class a batch", "-", kBatch, mean(all, one_class));
  out.decided = {decide(kHelps, kinds, text),
                 decide(kFree, {row("", all, [](const Measurement& m) { return m.plain; })}, text_of(plain)),
                 decide(kSizes, sizes, by_size),
                 decide(kOneClass, {row("", all, one_class)}, text_of(mean(all, one_class)))};
  return out;
}

const ExperimentRegistrar registrar(
    {"shifted",
     "Batch normalization on pictures unlike those of the training, by running statistics "
     "and by those of the batch",
     run,
     nullptr,
     {kHelps, kFree, kSizes, kOneClass},
     int(kSeeds)});

}  // namespace
}  // namespace klab::learning::shifted_experiment
