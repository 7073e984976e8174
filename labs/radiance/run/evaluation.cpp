#include "labs/radiance/run/evaluation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <new>

#include "harness/report/table.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/run/comparison.h"
#include "labs/radiance/run/stages.h"
#include "labs/radiance/run/stop.h"

namespace klab {
namespace {

constexpr int64_t kLeastPixels = 64;
constexpr int kShown = 8;

/// Asked for by a signal.
struct Stopped {};

/// How far it is: on a terminal a line that is written over, elsewhere one every ten seconds.
class Pace {
 public:
  explicit Pace(size_t views) : views_(views) {}
  void done(size_t count, double psnr) {
    const double seconds = since(begin_);
    const std::string text =
        fmt::format("evaluated {} of {} views, the last one {:.2f} dB, left {}", count, views_, psnr,
                    duration_text(seconds / double(count) * double(views_ - count)));
    if (isatty(STDERR_FILENO) != 0) return line_.show(text);
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
                        const RunFolder& folder) {
  const bool asked_before = stop_requested;
  for (; pixels >= kLeastPixels; pixels /= 2) {
    int index = 0;
    Pace pace(views.size());
    const auto each = [&](const View& view, const Picture& picture, const ViewScore& score) {
      if (stop_requested && !asked_before) throw Stopped();
      if (index < kShown)
        save_comparison(folder.file(fmt::format("test_{}.png", index)), view, picture,
                        model.placement().black);
      pace.done(size_t(++index), score.psnr);
    };
    try {
      const MemoryOwner owner("scratch");
      const PictureMaker pictures(model, "best", where, times, given, pixels);
      return {evaluate(pictures.render(), model.placement().black, views, each), ""};
    } catch (const Stopped&) {
      stop_heeded();
      return {};
    } catch (const std::bad_alloc&) {  // fewer pixels
    }
  }
  return {std::nullopt, "there is no memory for the evaluation: no score"};
}

}  // namespace klab
