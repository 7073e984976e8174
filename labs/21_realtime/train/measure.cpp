#include "labs/21_realtime/train/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>

#include "labs/radiance/evaluate/evaluate.h"

namespace klab {
namespace {

/// Turns a camera around the vertical axis through the middle of the box.
Camera turned(Camera camera, double degrees) {
  const double angle = degrees * std::numbers::pi / 180;
  const auto c = float(std::cos(angle)), s = float(std::sin(angle));
  for (size_t column = 0; column < 4; ++column) {
    const float middle = column == 3 ? 0.5F : 0.0F;  // of positions; axes are turned around the origin
    const float x = camera.pose[column] - middle, y = camera.pose[4 + column] - middle;
    camera.pose[column] = middle + c * x - s * y;
    camera.pose[4 + column] = middle + s * x + c * y;
  }
  return camera;
}

/// Keeps the pixels of a view that count for scores.
std::vector<float> counted(const View& view, const std::vector<float>& rgb) {
  if (!view.with_ray) return rgb;
  std::vector<float> out;
  for (const int32_t pixel : *view.with_ray)
    out.insert(out.end(), rgb.begin() + 3 * int64_t(pixel), rgb.begin() + 3 * int64_t(pixel) + 3);
  return out;
}

/// Sums for a mean.
struct Mean {
  double sum = 0;
  int n = 0;
  void add(double value) { sum += value, ++n; }
  std::optional<double> value() const { return n > 0 ? std::optional(sum / n) : std::nullopt; }
};

}  // namespace

FramePath path_to(const View& view, int frames, double degrees) {
  FramePath path{{}, &view};
  for (int i = 0; i < frames; ++i) path.cameras.push_back(turned(view.camera, degrees * (i + 1 - frames)));
  path.cameras.back() = view.camera;
  return path;
}

std::vector<PlanFrames> measure_frames(
    std::vector<FramePlan>& plans, const std::vector<FramePath>& paths, int rounds, bool black,
    const std::function<bool()>& stop, const std::function<void(const std::string&)>& progress,
    const std::function<void(const FramePlan&, const FramePath&, const Picture&)>& each) {
  using Clock = std::chrono::steady_clock;
  std::vector<PlanFrames> out(plans.size());
  std::vector<Mean> psnrs(plans.size()), aparts(plans.size()), shares(plans.size());
  for (size_t p = 0; p < paths.size(); ++p) {
    const FramePath& path = paths[p];
    const size_t scored = path.cameras.size() > 1 ? 1 : 0;  // the first frame that counts
    std::vector<std::vector<float>> of_first;               // colors of the first plan, frame by frame
    for (int round = 0; round < rounds; ++round) {
      std::vector<double> seconds(plans.size(), 0.0);
      for (size_t i = 0; i < plans.size(); ++i) {
        // The first plan begins the first round, since the others are compared with it; later rounds begin with another one.
        const size_t k = (i + size_t(round)) % plans.size();
        FramePlan& plan = plans[k];
        if (stop()) return out;
        progress(fmt::format("path {} of {}, round {} of {}: {}", p + 1, paths.size(), round + 1, rounds,
                             plan.name));
        if (plan.begin) plan.begin();
        for (size_t f = 0; f < path.cameras.size(); ++f) {
          const auto begin = Clock::now();
          const Picture picture = plan.draw(path.cameras[f]);
          const double took = std::chrono::duration<double>(Clock::now() - begin).count();
          if (f < scored) {
            if (round == 0 && k == 0) of_first.emplace_back();
            continue;
          }
          seconds[k] += took / double(path.cameras.size() - scored);
          if (round > 0) continue;
          shares[k].add(plan.computed ? plan.computed() : 1);
          if (k == 0)
            of_first.push_back(picture.rgb);
          else
            aparts[k].add(psnr(picture.rgb, of_first[f]));
          if (f + 1 < path.cameras.size()) continue;
          if (path.last != nullptr)
            psnrs[k].add(
                psnr(counted(*path.last, picture.rgb), counted(*path.last, ground_truth(*path.last, black))));
          if (p == 0) each(plan, path, picture);
        }
      }
      for (size_t k = 0; k < plans.size(); ++k) out[k].seconds.push_back(seconds[k]);
    }
    for (size_t k = 0; k < plans.size(); ++k) {
      out[k].psnr = psnrs[k].value();
      out[k].apart = aparts[k].value();
      out[k].computed = shares[k].value().value_or(1);
    }
  }
  return out;
}

std::vector<PlanRow> rows_of(const std::vector<FramePlan>& plans, const std::vector<PlanFrames>& measured) {
  std::vector<PlanRow> rows;
  for (size_t k = 0; k < plans.size(); ++k) {
    const PlanFrames& m = measured[k];
    PlanRow row{.plan = plans[k].name,
                .parent = plans[k].parent,
                .change = plans[k].change,
                .psnr = m.psnr,
                .apart = m.apart,
                .computed = m.computed,
                .held_bytes = plans[k].held_bytes};
    std::vector<double> rates;
    for (const double s : m.seconds) rates.push_back(1 / s);
    row.frames_per_second = median_interval(rates);
    if (k > 0) row.over_first = ratio_interval(measured[0].seconds, m.seconds);
    for (size_t parent = 0; parent < k; ++parent)
      if (plans[parent].name == plans[k].parent)
        row.over_parent = ratio_interval(measured[parent].seconds, m.seconds);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace klab
