// klab watch: draws a training run in the terminal from its metrics.csv.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <thread>

#include "harness/cli/command.h"
#include "harness/cli/number_option.h"
#include "harness/report/table.h"
#include "labs/radiance/run/chart.h"
#include "labs/radiance/run/folder.h"
#include "labs/radiance/run/metrics.h"
#include "labs/radiance/run/stages.h"
#include "labs/radiance/run/stop.h"

namespace klab::watch_command {
namespace {

namespace fs = std::filesystem;

struct Curve {
  const char* column;
  const char* title;
  const char* unit;
  double scale;
  bool logarithmic;
};
constexpr Curve kCurves[] = {{"loss", "loss", "", 1, true},
                             {"psnr_batch", "PSNR of the batch", " dB", 1, false},
                             {"psnr_unseen", "PSNR of unseen views", " dB", 1, false},
                             {"gradient_norm", "length of the gradient", "", 1, true},
                             {"learning_rate", "learning rate", "", 1, true},
                             {"samples_per_second", "samples a second", " M", 1e-6, false},
                             {"cpu", "processor in use", " %", 100, false},
                             {"occupied", "occupied cells", " %", 100, false},
                             {"batch", "samples of a step, planned", "", 1, false},
                             {"memory", "memory", " MB", 1e-6, false},
                             {"device_free", "free memory of the GPU", " MB", 1e-6, false},
                             {"device_used", "used memory of the GPU", " MB", 1e-6, false},
                             {"device_busy", "GPU in use", " %", 100, false}};

double last_of(const MetricsColumns& m, const std::string& name) {
  const auto at = m.find(name);
  if (at == m.end()) return NAN;
  for (size_t i = at->second.size(); i > 0; --i)
    if (std::isfinite(at->second[i - 1])) return at->second[i - 1];
  return NAN;
}

/// Returns ", mean 3.2 MB" for values of which there are several.
std::string mean_text(const std::vector<double>& values, const char* unit) {
  double sum = 0, count = 0;
  for (const double v : values)
    if (std::isfinite(v)) sum += v, count += 1;
  return count > 1 ? fmt::format(", mean {:.4g}{}", sum / count, unit) : "";
}

/// Returns the share of the lines with a gradient in which it was clipped; NaN without any.
double clipped_share(const MetricsColumns& m) {
  const auto whole = m.find("gradient_norm"), clipped = m.find("gradient_clipped");
  if (whole == m.end() || clipped == m.end()) return NAN;
  double lines = 0, shorter = 0;
  for (size_t i = 0; i < whole->second.size(); ++i)
    if (std::isfinite(whole->second[i])) lines += 1, shorter += clipped->second[i] < whole->second[i];
  return shorter / lines;
}

/// Summarizes values without a curve from the last lines; leaves out columns that an older file lacks.
std::string summary(const MetricsColumns& m) {
  std::string text = fmt::format("step {:.0f}, {}", last_of(m, "step"), duration_text(last_of(m, "seconds")));
  const auto add = [&](const char* name, double scale, const char* form) {
    if (const double v = last_of(m, name); std::isfinite(v))
      text += fmt::format(fmt::runtime(form), scale * v);
  };
  add("rays", 1, ", {:.0f} rays");
  add("batch", 1, ", batch {:.0f}");
  add("learning_rate", 1, ", learning rate {:.3g}");
  add("occupied", 100, ", {:.1f} % occupied");
  add("cpu", 100, ", {:.0f} % of the processor");
  add("waited", 1, ", {:.1f} s waited for data");
  add("memory_peak", 1e-6, ", {:.0f} MB at most");
  add("ssim_unseen", 1, ", SSIM of unseen views {:.4f}");
  if (const double share = clipped_share(m); std::isfinite(share))
    text += fmt::format(", gradient clipped in {:.0f} % of the lines", 100 * share);
  return text + "\n";
}

std::string picture(const fs::path& folder, const MetricsColumns& m, bool running, int width) {
  std::string text = fmt::format("{} {}\n", folder.string(), running ? "(running)" : "(ended)");
  const auto seconds = m.find("seconds");
  if (seconds == m.end() || seconds->second.empty()) return text + "no line yet\n";
  text += summary(m);
  std::vector<Curve> curves(std::begin(kCurves), std::end(kCurves));
  // Each term of the loss that has a weight.
  for (const auto& [name, values] : m)
    if (name.starts_with("loss_") && name != "loss_pixels" && name != "loss_scale")
      curves.push_back({name.c_str(), name.c_str(), "", 1, true});
  for (const Curve& c : curves) {
    const auto at = m.find(c.column);
    if (at == m.end()) continue;
    std::vector<double> scaled = at->second;
    for (double& v : scaled) v *= c.scale;
    const auto lines =
        chart(seconds->second, scaled, {.width = width, .height = 5, .logarithmic = c.logarithmic});
    if (lines.empty()) continue;
    text += fmt::format("\n{} {:.4g}{}{}\n", c.title, c.scale * last_of(m, c.column), c.unit,
                        mean_text(scaled, c.unit));
    for (const std::string& line : lines) text += line + "\n";
  }
  return text;
}

int watch(const fs::path& folder, bool once, double every) {
  const fs::path file = folder / "metrics.csv";
  const bool follow = !once && paper().terminal;
  const int width = std::max(20, std::min(100, paper().width - 12));
  if (!follow) {
    fmt::print("{}", picture(folder, read_metrics(file), RunFolder::in_use(folder), width));
    return exit_ok;
  }
  const StopSignals signals;
  while (true) {
    const bool running = RunFolder::in_use(folder);
    // Overwrites from the upper left corner, clears each line to its end, then the rest of the screen:
    // nothing flickers.
    std::string text = picture(folder, read_metrics(file), running, width);
    for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 4) text.insert(at, "\x1b[K");
    fmt::print("\x1b[H{}\x1b[J", text);
    std::fflush(stdout);
    if (!running || stop_requested) return exit_ok;
    for (double left = every; left > 0 && !stop_requested; left -= 0.1)
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, 0.1)));
  }
}

std::function<int()> setup_watch(CLI::App& app) {
  struct Values {
    std::string run;
    bool once = false;
    double every = 1;
  };
  auto v = std::make_shared<Values>();
  app.add_option("run", v->run, "the folder of a run")->required();
  app.add_flag("--once", v->once, "draw once and end, as is done where standard output is no terminal");
  add_number(app, "--every", v->every, range::checkpoint_seconds, "seconds between pictures (default 1)");
  return [v] { return watch(v->run, v->once, v->every); };
}

KLAB_COMMAND({.name = "watch",
              .summary = "Draw loss, PSNR, rate and memory of a training run",
              .details = "Follows the run on a terminal until it ends; elsewhere draws once.",
              .setup = setup_watch});

}  // namespace
}  // namespace klab::watch_command
