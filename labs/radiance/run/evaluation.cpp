#include "labs/radiance/run/evaluation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <sstream>

#include "harness/report/table.h"
#include "harness/report/terminal.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/run/comparison.h"
#include "labs/radiance/run/stages.h"
#include "labs/radiance/run/stop.h"

namespace klab {
namespace {

constexpr int64_t kLeastPixelsEvaluation = 64;
constexpr int kShown = 8;

/// Thrown when a signal asks for the end.
struct Stopped {};

/// Reports progress: on a terminal in a line that is overwritten, elsewhere in a line every ten seconds.
class Pace {
 public:
  explicit Pace(size_t views) : views_(views) {}
  void done(size_t count, double psnr) {
    const double seconds = since(begin_);
    const std::string text =
        fmt::format("evaluated {} of {} views, the last one {:.2f} dB, left {}", count, views_, psnr,
                    duration_text(seconds / double(count) * double(views_ - count)));
    if (overwrites_lines(STDERR_FILENO)) return line_.show(text);
    if (since(said_) < 10) return;
    said_ = Clock::now();
    fmt::print(stderr, "{}\n", text);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

  size_t views_;
  Progress line_;
  Clock::time_point begin_ = Clock::now(), said_ = begin_;
};

}  // namespace

Evaluation evaluate_run(const FieldModel& model, const BackendChoice& where, const std::optional<Plan>& given,
                        CallTimes& times, std::span<const View> views, int64_t pixels,
                        const std::filesystem::path& folder, const ViewShare& share) {
  const bool asked_before = stop_requested;
  for (; pixels >= kLeastPixelsEvaluation; pixels /= 2) {
    int index = share.first;
    size_t done = 0;
    Pace pace(views.size());
    const auto each = [&](const View& view, const Picture& picture, const ViewScore& score) {
      if (stop_requested && !asked_before) throw Stopped();
      if (index < kShown)
        save_comparison(folder / fmt::format("test_{}.png", index), view, picture, model.placement().black);
      index += share.stride;
      if (share.first == 0) pace.done(++done, score.psnr);
    };
    try {
      const MemoryOwner owner("scratch");
      const PictureMaker pictures(model, "best", where, times, given, pixels);
      return {evaluate(pictures.render(), model.placement().black, views, each), ""};
    } catch (const Stopped&) {
      stop_heeded();
      return {};
    } catch (const std::bad_alloc&) {  // try fewer pixels
    }
  }
  return {std::nullopt, "there is no memory for the evaluation: no score"};
}

namespace {

// Writes a line for each view with all digits: its numbers, then the name, which may contain anything except
// a line's end.
std::string lines_of(const Evaluation& e) {
  if (!e.score) return "no " + e.why;
  std::string text;
  for (const ViewScore& v : e.score->views) {
    std::string name = v.name;
    std::ranges::replace(name, '\n', ' ');
    text += fmt::format("{:.17g} {:.17g} {:.17g} {:.17g} {}\n", v.psnr, v.ssim, v.seconds, v.left_out, name);
  }
  return text;
}

ViewScore view_from(const std::string& line) {
  ViewScore v;
  const char* at = line.c_str();
  for (double* number : {&v.psnr, &v.ssim, &v.seconds, &v.left_out}) {
    char* end = nullptr;
    *number = std::strtod(at, &end);
    at = end;
  }
  v.name = *at == ' ' ? at + 1 : at;
  return v;
}

}  // namespace

Plan picture_plan_of_all(Ranks& ranks, const std::string& name, const FieldModel& model,
                         const BackendChoice& where, CallTimes& times) {
  const std::vector<PlannedCall> calls = model.picture_calls(where);
  std::optional<Plan> plan;
  std::string text;
  if (ranks.first()) {
    plan.emplace(Plan::named(name, calls, times, where.ladder));
    text = to_json_text(*plan);
  }
  if (ranks.size() == 1) return *plan;
  ranks.wait_for_all();
  ranks.broadcast(text);
  if (!plan)
    plan.emplace(Plan::fixed(plan_from_json(text, "the first rank's plan"), "of the first rank", calls, times,
                             where.ladder));
  return *plan;
}

std::vector<View> views_of_rank(const Ranks& ranks, std::vector<View> views) {
  if (ranks.size() == 1) return views;
  std::vector<View> mine;
  for (size_t i = size_t(ranks.rank()); i < views.size(); i += size_t(ranks.size()))
    mine.push_back(std::move(views[i]));
  return mine;
}

Evaluation together(const Evaluation& mine, Ranks& ranks, int64_t count, int width, int height, bool black) {
  if (ranks.size() == 1) return mine;
  std::vector<ViewScore> views(static_cast<size_t>(count));
  const std::vector<std::string> all = ranks.gather(lines_of(mine));
  for (int64_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string& text = all[size_t(rank)];
    if (text.starts_with("no ")) return {std::nullopt, text.substr(3)};
    std::istringstream lines(text);
    std::string line;
    for (int64_t i = rank; i < count && std::getline(lines, line); i += ranks.size())
      views[size_t(i)] = view_from(line);
  }
  return {score_of(std::move(views), width, height, black), ""};
}

}  // namespace klab
