#include "labs/learning/train/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/report/page.h"
#include "harness/report/table.h"
#include "harness/timing/statistics.h"
#include "labs/radiance/scene/image.h"

namespace klab::learning {

std::string class_name(const Examples& examples, int64_t label) {
  return examples.names.empty() ? std::to_string(label) : examples.names[size_t(label)];
}

std::vector<std::pair<std::string, double>> shares_of(const Profile& profile) {
  std::vector<std::pair<std::string, double>> list;
  for (const auto& [stage, seconds] : profile.seconds())
    list.emplace_back(stage, seconds / std::max(1e-12, profile.total()));
  std::ranges::sort(list, [](const auto& a, const auto& b) { return a.second > b.second; });
  return list;
}

bool save_wrong(const std::filesystem::path& file, const Examples& test, const Evaluation& e, int64_t most) {
  if (!test.images() || (test.dims[0] != 1 && test.dims[0] != 3)) return false;
  std::vector<int64_t> wrong;
  for (int64_t i = 0; i < test.count() && int64_t(wrong.size()) < most; ++i)
    if (e.predicted[size_t(i)] != test.labels[size_t(i)]) wrong.push_back(i);
  if (wrong.empty()) return false;
  constexpr int64_t columns = 10, zoom = 2;
  const int64_t c = test.dims[0], h = test.dims[1], w = test.dims[2],
                rows = (int64_t(wrong.size()) + columns - 1) / columns;
  const int64_t step_y = zoom * h + 2, step_x = zoom * w + 2, height = rows * step_y,
                width = columns * step_x;
  std::vector<uint8_t> pixels(size_t(height * width * 3), 128);
  for (size_t k = 0; k < wrong.size(); ++k) {
    const float* image = test.values.data() + wrong[k] * volume(test.dims);
    for (int64_t y = 0; y < zoom * h; ++y)
      for (int64_t x = 0; x < zoom * w; ++x)
        for (int64_t channel = 0; channel < 3; ++channel) {
          const int64_t row = int64_t(k) / columns * step_y + y, column = int64_t(k) % columns * step_x + x;
          const float v = image[((c == 1 ? 0 : channel) * h + y / zoom) * w + x / zoom];
          pixels[size_t((row * width + column) * 3 + channel)] = to_byte(v);
        }
  }
  save_png(file, int(width), int(height), 3, pixels);
  return true;
}

std::string precision_text(const Trainer& trainer) {
  return fmt::format("{}: {} of {} steps skipped, loss scale {}, {:.2f} % of the gradients rounded to zero",
                     name_of(trainer.settings().precision), trainer.loss_scale().state().skipped,
                     trainer.steps_done(), trainer.loss_scale().value(), 100 * trainer.lost().share());
}

std::string report_page(const Dataset& data, const Trainer& trainer, const std::vector<EpochLine>& curve,
                        const Evaluation& e, const Profile& profile, const std::vector<PlanRung>& ladder,
                        const std::filesystem::path& wrong) {
  Page page(fmt::format("klab classify {} --model {}", data.name, trainer.settings().model));
  page.text(fmt::format("{} examples to learn from, {} to test; {:.2f} % of the test right after {} epochs.",
                        data.train.count(), data.test.count(), 100 * e.accuracy(), curve.size()));
  page.text("Division of the examples: " + data.division + ".");
  Curve train{"training, batches", {}}, test{"test", {}}, right{"wrong in the test, %", {}};
  for (const EpochLine& l : curve) {
    train.points.emplace_back(double(l.epoch), l.train_loss);
    test.points.emplace_back(double(l.epoch), l.test_loss);
    right.points.emplace_back(double(l.epoch), 100 * (1 - l.accuracy));
  }
  page.heading("Curves");
  page.curves({train, test}, "epoch", "loss", false, true, "Cross-entropy.");
  page.curves({right}, "epoch", "wrong, %", false, false,
              "Share of the test that is taken for something else.");
  if (trainer.settings().precision != Precision::f32) {
    page.heading("Precision");
    page.text(precision_text(trainer) + ".");
    Curve scale{"loss scale", {}};
    for (const auto& [step, value] : trainer.scales()) {
      // Draw the curve as steps: a value holds until the next one.
      if (!scale.points.empty()) scale.points.emplace_back(double(step), scale.points.back().second);
      scale.points.emplace_back(double(step), value);
    }
    scale.points.emplace_back(double(trainer.steps_done()), trainer.loss_scale().value());
    page.curves({scale}, "step", "loss scale", false, true,
                "Each fall is a step whose gradients were not finite, which was skipped.");
  }
  page.heading("Confusion");
  std::vector<std::string> heads = {"is \\ taken for"};
  for (int64_t k = 0; k < data.test.classes; ++k) heads.push_back(class_name(data.test, k));
  std::vector<std::vector<std::string>> rows;
  for (int64_t i = 0; i < data.test.classes; ++i) {
    rows.push_back({class_name(data.test, i)});
    for (int64_t k = 0; k < data.test.classes; ++k)
      rows.back().push_back(std::to_string(e.confusion[size_t(i * data.test.classes + k)]));
  }
  page.table(heads, rows);
  if (!wrong.empty()) {
    page.heading("Wrong ones");
    page.picture(wrong.string(), 1000,
                 "Test examples that were taken for something else, in the order of the set.");
  }
  page.heading("Time by op");
  rows.clear();
  for (const auto& [stage, share] : shares_of(profile))
    rows.push_back(
        {stage, fmt::format("{:.3f} s", profile.seconds().at(stage)), fmt::format("{:.1f} %", 100 * share)});
  page.table({"op", "all steps", "share"}, rows);
  if (ladder.empty()) return page.html();
  page.heading("From the naive plan to the best");
  rows.clear();
  for (const PlanRung& r : ladder)
    rows.push_back({r.name, seconds_text(median(r.seconds)),
                    fmt::format("{:.2f}x", median(ladder.front().seconds) / median(r.seconds)),
                    fmt::format("{:.6f}", r.losses.front())});
  page.table({"plan", "step", "over naive", "loss of the first step"}, rows);
  return page.html();
}

}  // namespace klab::learning
