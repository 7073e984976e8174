#include "labs/radiance/run/run.h"

#include <fmt/format.h>
#include <omp.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/gpu/gpu.h"
#include "harness/records/atomic_file.h"
#include "harness/report/table.h"
#include "labs/radiance/run/stage_ceilings.h"
#include "labs/radiance/train/backends.h"

namespace klab {

std::atomic<bool> stop_requested{false};

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr double kReportEvery = 1;   // seconds, on a terminal; a tenth as often elsewhere
constexpr int kCeilingSamples = 20;  // over a run

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// SIGINT and SIGTERM ask for an orderly end; a second one ends at once.
void on_signal(int signal) {
  if (stop_requested.exchange(true)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

void require_unused(const fs::path& out) {
  if (fs::exists(out) && !fs::is_directory(out))
    throw std::runtime_error(fmt::format("--out {}: is a file; name a folder", out.string()));
  if (fs::exists(out) && !fs::is_empty(out))
    throw std::runtime_error(fmt::format(
        "--out {}: exists and is not empty; nothing was touched. Name another folder, or go on with "
        "what is there by --resume {}",
        out.string(), out.string()));
}

fs::path choose_folder(const RunOptions& o, const std::string& scene) {
  if (!o.resume.empty()) return o.resume;
  if (!o.out.empty()) return o.out;
  for (int i = 1;; ++i) {
    fs::path candidate = fs::path("runs") / (i == 1 ? scene : fmt::format("{}-{}", scene, i));
    if (!fs::exists(candidate)) return candidate;
  }
}

// Says before the work begins that its result could not be kept.
void require_writable(const fs::path& folder, int64_t bytes) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw std::runtime_error(fmt::format("{}: cannot be made: {}", folder.string(), error.message()));
  const fs::path probe = folder / ".probe.partial";
  if (!std::ofstream(probe).put('x').flush())
    throw std::runtime_error(
        fmt::format("{}: cannot be written to; choose another folder with --out", folder.string()));
  fs::remove(probe, error);
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) == 0 && int64_t(disk.f_bavail) * int64_t(disk.f_frsize) < bytes)
    throw std::runtime_error(
        fmt::format("{}: {:.0f} MB are needed for checkpoint and model, {:.0f} MB are free", folder.string(),
                    double(bytes) * 1e-6, double(disk.f_bavail) * double(disk.f_frsize) * 1e-6));
}

void require_memory(int64_t bytes, const std::string& backend) {
  const int64_t available = backend == "cuda" ? int64_t(gpu()->memory) : available_memory();
  if (available > 0 && bytes > available)
    throw std::runtime_error(fmt::format(
        "the run needs about {:.1f} GB of memory and {:.1f} GB are available: lower \"log2_table\" or "
        "\"batch_samples\" in the config, or use --downscale",
        double(bytes) * 1e-9, double(available) * 1e-9));
}

// What a checkpoint must know to go on as if nothing had happened, beside the trainer's own state.
std::map<std::string, std::string> run_state(const RunOptions& o, const Plan& plan, double seconds,
                                             double samples) {
  const json state = {{"scene", o.scene == "built-in" ? o.scene : fs::absolute(o.scene).string()},
                      {"downscale", o.reading.downscale},
                      {"holdout", o.reading.holdout},
                      {"plan", plan.ids()},
                      {"ladder", o.backend == "cpu" ? "cpu" : "cuda"},
                      {"seconds", seconds},
                      {"samples", samples},
                      {"budget_seconds", o.seconds.value_or(0)},
                      {"budget_steps", o.steps.value_or(0)}};
  return {{"run", state.dump()}};
}

struct Resumed {
  double seconds = 0, samples = 0;
  VariantIds plan;
};

// Fills options from the checkpoint; what the command line gave anew (budget, plan) stays.
Resumed take_over(RunOptions& o, const TensorFile& file) {
  o.config = config_from_json(file.metadata("config"), "the checkpoint's config");
  try {
    const json state = json::parse(file.metadata("run"));
    o.scene = state.at("scene");
    o.reading.downscale = state.at("downscale");
    o.reading.holdout = state.at("holdout");
    if (!o.seconds && !o.steps) {
      if (const double s = state.at("budget_seconds"); s > 0) o.seconds = s;
      if (const int64_t s = state.at("budget_steps"); s > 0) o.steps = s;
    }
    // Checkpoints were written without a plan once.
    // Rungs of another backend are of no use here: the plan is chosen anew.
    const bool same = state.value("ladder", "cpu") == (o.backend == "cpu" ? "cpu" : "cuda");
    return {state.at("seconds"), state.at("samples"),
            same ? state.value("plan", VariantIds()) : VariantIds()};
  } catch (const json::exception& e) {
    throw std::runtime_error(fmt::format("checkpoint: damaged run state: {}", e.what()));
  }
}

std::string duration_text(double s) {
  const auto whole = int64_t(std::lround(s));
  return whole < 100 ? fmt::format("{} s", whole) : fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

class Metrics {
 public:
  Metrics(const fs::path& file, bool append) : out_(file, append ? std::ios::app : std::ios::trunc) {
    if (!append) out_ << "step,seconds,loss,psnr_batch,rays,samples,marched,samples_per_second,occupied\n";
  }
  void line(const StepReport& r, double psnr, double seconds, double rate, double occupied) {
    out_ << fmt::format("{},{:.3f},{:.6g},{:.3f},{},{},{},{:.0f},{:.5f}\n", r.step, seconds, r.loss, psnr,
                        r.rays, r.samples, r.marched, rate, occupied)
         << std::flush;
  }

 private:
  std::ofstream out_;
};

using Shares = std::map<std::string, StageCeiling>;

json stages_json(const Profile& profile, const Shares& ceilings) {
  json stages = json::object();
  const double total = profile.total();
  for (const auto& [stage, s] : profile.seconds()) stages[stage] = {{"seconds", s}, {"share", s / total}};
  for (const auto& [stage, c] : ceilings) {
    stages[stage]["ceiling"] = c.name;
    stages[stage]["of_ceiling"] = c.share;
  }
  return stages;
}

void print_stages(const Profile& profile, const Shares& ceilings, int64_t steps) {
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [stage, s] : profile.seconds()) sorted.emplace_back(s, stage);
  std::sort(sorted.rbegin(), sorted.rend());
  Table table({{"stage"},
               {"ms a step", Column::Kind::right},
               {"share", Column::Kind::right},
               {"of ceiling", Column::Kind::right},
               {"", Column::Kind::bar}});
  for (const auto& [s, stage] : sorted) {
    const auto at = ceilings.find(stage);
    table.add(
        {stage, fmt::format("{:.2f}", 1e3 * s / double(std::max<int64_t>(1, steps))),
         fmt::format("{:.1f} %", 100 * s / profile.total()),
         at == ceilings.end() ? "" : fmt::format("{:.0f} % of {}", 100 * at->second.share, at->second.name),
         Cell::bar(s)});
  }
  fmt::print("{}", table.text());
}

void save_comparison(const fs::path& file, const View& view, const Picture& picture, bool black) {
  // Left the model, right the truth.
  const std::vector<float> truth = ground_truth(view, black);
  std::vector<uint8_t> pixels;
  for (int y = 0; y < picture.height; ++y)
    for (const auto* side : {&picture.rgb, &truth})
      for (int i = 0; i < 3 * picture.width; ++i)
        pixels.push_back(to_byte((*side)[size_t(y) * size_t(picture.width) * 3 + size_t(i)]));
  save_png(file, 2 * picture.width, picture.height, 3, pixels);
}

// Peak resident memory of this process, bytes.
int64_t peak_memory() {
  std::ifstream in("/proc/self/status");
  for (std::string key; in >> key;) {
    int64_t kilobytes = 0;
    if (key == "VmHWM:" && in >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

// Of training, and of the pictures that evaluate it: these must be possible, and do not decide what is best.
std::vector<PlannedCall> run_calls(const Config& config, int cascades, const std::string& ladder) {
  std::vector<PlannedCall> calls = training_calls(config, cascades);
  if (ladder != "cpu") return calls;  // pictures are made on the processor, with a plan of their own
  const auto pictures = render_calls(config, cascades, 0);
  calls.insert(calls.end(), pictures.begin(), pictures.end());
  return calls;
}

}  // namespace

fs::path model_file(const fs::path& given) {
  return fs::is_directory(given) ? given / "model.safetensors" : given;
}

std::string score_json(const Score& score) {
  json views = json::array();
  for (const ViewScore& v : score.views)
    views.push_back({{"name", v.name}, {"psnr", v.psnr}, {"ssim", v.ssim}, {"seconds", v.seconds}});
  return json{{"psnr", score.psnr},
              {"ssim", score.ssim},
              {"seconds_per_view", score.seconds},
              {"protocol", score.protocol},
              {"views", views}}
      .dump(2);
}

int train(RunOptions o, CallTimes& times) {
  const BackendChoice where_to = backend_named(o.backend);
  const OnGpu on_a_gpu(o.backend == "cuda");  // what rungs support is asked of it
  require_unused(o.out);
  std::optional<TensorFile> checkpoint;
  Resumed before;
  if (!o.resume.empty()) {
    checkpoint.emplace(o.resume / "checkpoint.safetensors");
    before = take_over(o, *checkpoint);
  }
  if (!o.seconds && !o.steps) o.seconds = 60;
  // As the resumed run had it, unless another plan is asked for.
  const bool as_before = !o.plan && !before.plan.empty();
  const std::string where =
      as_before ? "of the checkpoint (--plan best chooses anew)" : o.plan.value_or("best");
  const VariantIds wanted =
      as_before ? before.plan : plan_ids(where, run_calls(o.config, 1, where_to.ladder), where_to.ladder);
  // Before the scene is read: it may be large. How many cascades it has is known later, and asked again then.
  Plan::require(wanted, where, run_calls(o.config, 1, where_to.ladder), where_to.ladder);
  FILE* words = o.json ? stderr : stdout;
  o.reading.say = [&](const std::string& text) { fmt::print(words, "{}\n", text); };
  o.reading.seed = o.seed;
  const Scene scene = load_scene(o.scene, o.reading);
  for (const std::string& note : scene.notes) fmt::print(words, "note      {}\n", note);
  const std::vector<PlannedCall> calls = run_calls(o.config, scene.cascades, where_to.ladder);
  Plan::require(wanted, where, calls, where_to.ladder);
  const int64_t bytes = Trainer::bytes_of(scene, o.config, where_to.sizes);
  fmt::print(words, "trainer   {:.0f} MB: model, optimizer, {} samples per step\n", double(bytes) * 1e-6,
             o.config.batch_samples);
  require_memory(bytes, o.backend);
  const fs::path folder = choose_folder(o, scene.name);
  require_writable(folder, 5 * Model::bytes_of(o.config, scene.cascades));
  fmt::print(words, "output    {}\n", folder.string());
  // From here on an interruption is an orderly end, while rungs are timed too.
  stop_requested = false;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  const Plan plan = Plan::fixed(wanted, where, calls, times, where_to.ladder);
  fmt::print(words, "{}", plan.text());
  write_file(folder / "plan.json", to_json_text(plan));

  Trainer trainer(scene, o.config, plan, o.seed, where_to.backend, where_to.sizes);
  if (checkpoint) {
    trainer.restore(*checkpoint);
    checkpoint.reset();
    fmt::print(words, "resumed   at step {}, {}\n", trainer.steps_done(), duration_text(before.seconds));
  }
  Metrics metrics(folder / "metrics.csv", !o.resume.empty() && fs::exists(folder / "metrics.csv"));
  Progress progress;
  const bool terminal = isatty(fileno(stderr));
  const auto begin = Clock::now();
  double aside = 0;  // seconds that were not spent on training
  const auto elapsed = [&] { return before.seconds + since(begin) - aside; };
  StageCeilings ceilings(omp_get_max_threads());
  const auto sample_ceilings = [&] {
    const auto start = Clock::now();
    ceilings.sample(trainer.profile());
    aside += since(start);
  };
  double samples = before.samples, last_report = elapsed(), last_checkpoint = elapsed(),
         samples_then = samples;
  const int64_t first_step = trainer.steps_done();
  std::optional<double> first_done;  // share of the run that was done when this process began
  const auto save = [&] {
    trainer.save(folder / "checkpoint.safetensors", run_state(o, plan, elapsed(), samples));
  };
  while (!stop_requested) {
    const double now = elapsed();
    if (o.steps && trainer.steps_done() >= *o.steps) break;
    if (o.seconds && now >= *o.seconds) break;
    const double done = o.steps ? double(trainer.steps_done()) / double(*o.steps) : now / *o.seconds;
    if (!first_done) first_done = done;
    if ((done - *first_done) / (1 - *first_done) * kCeilingSamples > ceilings.samples() + 0.5)
      sample_ceilings();
    const StepReport report = trainer.step(done);
    samples += double(report.samples);
    const double after = elapsed();
    if (after - last_report >= kReportEvery || report.step == 1) {
      const double rate = (samples - samples_then) / std::max(after - last_report, 1e-9);
      const double psnr = trainer.batch_psnr();
      metrics.line(report, psnr, after, rate, trainer.occupied_share());
      const double left =
          o.steps ? double(*o.steps - report.step) * (since(begin) - aside) / double(report.step - first_step)
                  : *o.seconds - after;
      const std::string line = fmt::format(
          "step {:6}  {}  loss {:.5f}  batch PSNR {:5.2f} dB  {:.2f} M samples/s  {} rays  left {}",
          report.step, duration_text(after), report.loss, psnr, rate * 1e-6, report.rays,
          duration_text(std::max(0.0, left)));
      if (terminal)
        progress.show(line);
      else if (int(after / 10) != int(last_report / 10) || report.step == 1)
        fmt::print(stderr, "{}\n", line);
      last_report = after;
      samples_then = samples;
    }
    if (after - last_checkpoint >= o.checkpoint_every) {
      save();
      last_checkpoint = elapsed();
    }
  }
  const bool trained = trainer.steps_done() > first_step;
  for (int last = 1; trained && (last > 0 || ceilings.samples() < 5); --last) sample_ceilings();
  const double seconds = elapsed();
  progress.clear();
  save();
  const Model model = trainer.averaged();
  model.save(folder / "model.safetensors");
  const double run_seconds = seconds - before.seconds;
  const Shares shares = ceilings.shares(trainer.profile());
  json result = {{"scene", scene.name},
                 {"format", scene.format},
                 {"steps", trainer.steps_done()},
                 {"seconds_training", seconds},
                 {"samples", samples},
                 {"samples_per_second", samples / std::max(seconds, 1e-9)},
                 {"seed", o.seed},
                 {"backend", o.backend},
                 {"interrupted", bool(stop_requested)},
                 {"stages", stages_json(trainer.profile(), shares)},
                 {"config", json::parse(config_to_json(o.config))}};
  result["plan"] = plan.ids();
  fmt::print(words, "\ntrained   {} steps in {:.1f} s ({:.3f} M samples per second through the whole step)\n",
             trainer.steps_done(), seconds, samples / std::max(seconds, 1e-9) * 1e-6);
  if (!o.json && run_seconds > 0) print_stages(trainer.profile(), shares, trainer.steps_done() - first_step);
  if (!o.evaluate) {
    fmt::print(words, "not evaluated (--no-eval)\n");
  } else if (!scene.test.empty()) {
    const auto evaluation = Clock::now();
    int index = 0;
    const Plan pictures =
        where_to.ladder == "cpu" ? plan : Plan::named("best", render_calls(o.config, scene.cascades), times);
    const Score score = evaluate(
        model, pictures, scene.test, [&](const View& view, const Picture& picture, const ViewScore&) {
          if (index < 8)
            save_comparison(folder / fmt::format("test_{}.png", index), view, picture, model.placement.black);
          ++index;
        });
    result["score"] = json::parse(score_json(score));
    result["seconds_evaluation"] = since(evaluation);
    fmt::print(words, "\nPSNR      {:.2f} dB   SSIM {:.4f}   {:.2f} s a view\nprotocol  {}\n", score.psnr,
               score.ssim, score.seconds, score.protocol);
    fmt::print(words,
               "time      {:.1f} s of training from the first step, {:.1f} s of evaluation not counted\n",
               seconds, since(evaluation));
  } else {
    fmt::print(words, "no test views: nothing to measure the model against\n");
  }
  result["peak_memory"] = peak_memory();
  fmt::print(words, "memory    {:.2f} GB at most\nwritten   {}\n", double(peak_memory()) * 1e-9,
             (folder / "model.safetensors").string());
  write_file(folder / "result.json", result.dump(2) + "\n");
  if (o.json) fmt::print("{}\n", result.dump(2));
  return stop_requested ? 130 : 0;
}

}  // namespace klab
