#include "labs/radiance/run/run_context.h"

#include <fmt/format.h>

#include <algorithm>

namespace klab {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kValidationPixels = 2048;  // at a time: training holds its memory meanwhile

BackendChoice place_of(const RunOptions& o) {
  BackendChoice place = backend_named(o.backend);
  place.sizes.recompute = o.recompute;
  return place;
}

FILE* nowhere() {
  static FILE* const file = std::fopen("/dev/null", "w");
  return file;
}

}  // namespace

RunContext::RunContext(RunOptions given, CallTimes& call_times)
    : options(std::move(given)),
      times(call_times),
      out(!ranks.first() ? nowhere()
          : options.json ? stderr
                         : stdout),
      place(place_of(options)),
      on_a_gpu(options.backend == "cuda") {
  options.json = options.json && ranks.first();
}

std::string RunContext::resume_hint() const {
  if (!folder) return "nothing was written";
  const fs::path checkpoint = folder->file("checkpoint.safetensors");
  std::error_code error;
  if (!fs::exists(checkpoint, error)) return "there is no checkpoint yet";
  return fmt::format("the last checkpoint is {}: klab train --resume {} goes on from it, on any backend",
                     checkpoint.string(), folder->path().string());
}

BackendChoice RunContext::place_of_pictures() const {
  return options.backend == "simt" ? backend_named("cpu") : place;
}

std::optional<Plan> RunContext::plan_of_pictures() const {
  return options.backend == "cpu" ? plan : std::nullopt;
}

PictureMaker RunContext::picture_maker(const FieldModel& model) const {
  return {model,
          "last",
          place_of_pictures(),
          times,
          plan_of_pictures(),
          std::min(memory.choice.pixels, kValidationPixels)};
}

}  // namespace klab
