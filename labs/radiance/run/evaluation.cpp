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

std::vector<ViewScore> score_views(const std::function<Picture(const Camera&)>& render, bool black,
                                   std::span<const View> test, const ScoreScope& scope,
                                   const EachView& each) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  std::vector<ViewScore> scores;
  for (const int64_t i : scope.views) {
    evaluate(render, black, test.subspan(size_t(i), 1),
             [&](const View& view, const Picture& picture, ViewScore score) {
               score.view = i;
               if (each) each(view, picture, score);
               scores.push_back(std::move(score));
             });
    if (std::chrono::duration<double>(Clock::now() - begin).count() >= scope.seconds) break;
  }
  std::ranges::sort(scores, {}, &ViewScore::view);
  return scores;
}

std::string file_of_view(const std::vector<int64_t>& scored, int64_t view) {
  const auto place = std::ranges::find(scored, view) - scored.begin();
  return place < std::min<int64_t>(kShown, int64_t(scored.size())) ? fmt::format("test_{}.png", place) : "";
}

Evaluation evaluate_run(FieldModel& model, const BackendChoice& where, const std::optional<Plan>& given,
                        CallTimes& times, std::span<const View> test, int64_t pixels,
                        const std::filesystem::path& folder, const ScoreScope& scope,
                        const std::vector<int64_t>& scored) {
  const bool asked_before = stop_requested, black = model.placement().black;
  if (scope.views.empty()) return {Score{.scored = scored_by(scope)}, ""};
  for (; pixels >= kLeastPixelsEvaluation; pixels /= 2) {
    size_t done = 0;
    Pace pace(scope.views.size());
    ContactSheet sheet(scope.views);
    const auto each = [&](const View& view, const Picture& picture, const ViewScore& score) {
      if (stop_requested && !asked_before) throw Stopped();
      if (const std::string file = file_of_view(scored, score.view); !file.empty())
        save_comparison(folder / file, view, picture, black);
      sheet.add(view, picture, score, black);
      if (scope.views.front() == scored.front()) pace.done(++done, score.psnr);
    };
    try {
      const MemoryOwner owner("scratch");
      const PictureMaker pictures(model, "best", where, times, given, pixels);
      size_t drawn = 0;
      const auto render = [&, draw = pictures.render()](const Camera& camera) {
        model.ask_for_depth(sheet.wants(scope.views[drawn++]));
        return draw(camera);
      };
      std::vector<ViewScore> scores = score_views(render, black, test, scope, each);
      model.ask_for_depth(false);
      return {score_of(std::move(scores), scope.width, scope.height, black, scored_by(scope)), "",
              std::move(sheet)};
    } catch (const Stopped&) {
      stop_heeded();
      return {};
    } catch (const std::bad_alloc&) {  // try fewer pixels
    }
  }
  return {std::nullopt, "there is no memory for the evaluation: no score"};
}

namespace {

// Writes a line for each view with all digits: its number and scores, then the name, which may contain anything except
// a line's end.
std::string lines_of(const Evaluation& e) {
  if (!e.score) return "no " + e.why;
  std::string text;
  for (const ViewScore& v : e.score->views) {
    std::string name = v.name;
    std::ranges::replace(name, '\n', ' ');
    text += fmt::format("{} {:.17g} {:.17g} {:.17g} {:.17g} {}\n", v.view, v.psnr, v.ssim, v.seconds,
                        v.left_out, name);
  }
  return text;
}

ViewScore view_from(const std::string& line) {
  ViewScore v;
  char* number_end = nullptr;
  v.view = std::strtoll(line.c_str(), &number_end, 10);
  const char* at = number_end;
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
    plan.emplace(Plan::named(name, calls, times, where.ladder, picture_unit(model)));
    text = to_json_text(*plan);
  }
  if (ranks.size() == 1) return *plan;
  ranks.wait_for_all();
  ranks.broadcast(text);
  if (!plan)
    plan.emplace(Plan::fixed(plan_from_json(text, "the first rank's plan"), "of the first rank", calls, times,
                             where.ladder, picture_unit(model)));
  return *plan;
}

Evaluation merge_scores(const Evaluation& mine, Ranks& ranks, const ScoreScope& scope, bool black) {
  if (ranks.size() == 1) return mine;
  std::vector<ViewScore> views;
  for (const std::string& text : ranks.gather(lines_of(mine))) {
    if (text.starts_with("no ")) return {std::nullopt, text.substr(3)};
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) views.push_back(view_from(line));
  }
  std::ranges::sort(views, {}, &ViewScore::view);
  return {score_of(std::move(views), scope.width, scope.height, black, scored_by(scope)), "", mine.sheet};
}

}  // namespace klab
