// klab fit-image: learns one photograph.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/cli/command.h"
#include "harness/cli/json_option.h"
#include "harness/cli/number_option.h"
#include "harness/program/times_here.h"
#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/json_schema.h"
#include "harness/report/table.h"
#include "labs/17_neural_image/train/fit.h"

namespace klab::fit_image_command {
namespace {

struct Values {
  std::string file, out, plan = "best";
  double seconds = 30;
  int64_t steps = 0;
  int downscale = 1;
  FitOptions fit;
  bool json = false;
};

int fit_image(Values& v) {
  if (!v.out.empty()) require_writable_file(v.out);
  // Check the plan before the picture is read, with calls for a picture of the smallest size.
  const auto calls_for = [&](int width, int height) {
    return fit_calls(completed(v.fit, width, height), width, height);
  };
  Plan::require(plan_ids(v.plan, calls_for(1, 1)), v.plan, calls_for(1, 1));
  const Image image = downscale(load_image(v.file), v.downscale);
  v.fit.seed = settings().seed;
  CallTimes times = times_here();
  const Plan plan = Plan::named(v.plan, calls_for(image.width, image.height), times);
  ImageFit fit(image, v.fit, plan);
  const int64_t pixels = int64_t(image.width) * image.height;
  if (!v.json)
    fmt::print(
        "image     {} ({}x{}, {:.2f} M pixels)\nmodel     {:.2f} M parameters, {:.3f} a pixel; tables of up "
        "to 2^{} entries\n",
        v.file, image.width, image.height, double(pixels) * 1e-6, double(fit.parameters()) * 1e-6,
        double(fit.parameters()) / double(pixels), fit.log2_table());
  if (!v.json) fmt::print("{}", plan.text());
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  Progress progress;
  double loss = 0, shown = 0;
  while (v.steps > 0 ? fit.steps_done() < v.steps : elapsed() < v.seconds) {
    const double done = v.steps > 0 ? double(fit.steps_done()) / double(v.steps) : elapsed() / v.seconds;
    loss = fit.step(done);
    if (elapsed() - shown > 0.5) {
      shown = elapsed();
      progress.show(fmt::format("step {}  {:.0f} s  batch PSNR {:.2f} dB", fit.steps_done(), shown,
                                -10 * std::log10(loss)));
    }
  }
  const double seconds = elapsed();
  progress.clear();
  const std::vector<uint8_t> pixels_out = fit.render();
  const double score = image_psnr(image, pixels_out);
  if (!v.out.empty()) save_png(v.out, image.width, image.height, 3, pixels_out);
  if (v.json) {
    const nlohmann::json result = {{"image", as_utf8(std::filesystem::path(v.file).filename().string())},
                                   {"psnr", score},
                                   {"steps", fit.steps_done()},
                                   {"seconds", seconds},
                                   {"pixels", pixels},
                                   {"parameters", fit.parameters()}};
    fmt::print("{}\n", with_schema("image", result).dump(2));
    return exit_ok;
  }
  fmt::print("PSNR      {:.2f} dB over all pixels, after {} steps in {:.1f} s\n", score, fit.steps_done(),
             seconds);
  if (!v.out.empty()) fmt::print("written   {}\n", v.out);
  return exit_ok;
}

KLAB_COMMAND({.name = "fit-image",
              .summary = "Learn one photograph with the two-dimensional hash encoding",
              .setup = [](CLI::App& app) -> std::function<int()> {
                auto v = std::make_shared<Values>();
                app.add_option("image", v->file, "a PNG or JPEG")->required();
                add_number(app, "--seconds", v->seconds, range::seconds, "train for this long (default 30)");
                add_number(app, "--steps", v->steps, range::steps, "train this many steps instead");
                app.add_option("--out", v->out, "write what was learned as a PNG");
                add_number(app, "--downscale", v->downscale, range::downscale, "shrink the picture first");
                add_number(app, "--log2-table", v->fit.log2_table, range::log2_table,
                           "largest table of a level, as a power of two (default: parameters "
                           "at most a quarter of the pixels)");
                add_number(app, "--batch", v->fit.batch, range::batch, "pixels a step");
                app.add_option("--plan", v->plan, "best, naive, or a JSON file");
                add_json(app, v->json, {{"image", ""}}, "print as JSON");
                return [v] { return fit_image(*v); };
              }});

}  // namespace
}  // namespace klab::fit_image_command
