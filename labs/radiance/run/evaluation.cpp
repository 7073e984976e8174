#include "labs/radiance/run/evaluation.h"

#include <fmt/format.h>

#include <new>

#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/run/comparison.h"
#include "labs/radiance/run/stop.h"

namespace klab {
namespace {

constexpr int64_t kLeastPixels = 64;
constexpr int kShown = 8;

/// Asked for by a signal.
struct Stopped {};

}  // namespace

Evaluation evaluate_run(const FieldModel& model, const BackendChoice& where, const std::optional<Plan>& given,
                        CallTimes& times, std::span<const View> views, int64_t pixels,
                        const RunFolder& folder) {
  const bool asked_before = stop_requested;
  for (; pixels >= kLeastPixels; pixels /= 2) {
    int index = 0;
    const auto each = [&](const View& view, const Picture& picture, const ViewScore&) {
      if (stop_requested && !asked_before) throw Stopped();
      if (index < kShown)
        save_comparison(folder.file(fmt::format("test_{}.png", index)), view, picture,
                        model.placement().black);
      ++index;
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
