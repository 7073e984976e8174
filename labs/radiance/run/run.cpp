#include "labs/radiance/run/run.h"

#include <malloc.h>

#include <nlohmann/json.hpp>

#include "harness/records/input.h"
#include "labs/radiance/ranks/ranks.h"
#include "labs/radiance/run/run_job.h"

namespace klab {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path model_file(const fs::path& given) {
  return fs::is_directory(given) ? given / "model.safetensors" : given;
}

std::string score_json(const Score& score, const std::vector<std::string>& notes) {
  json views = json::array();
  for (const ViewScore& v : score.views)
    views.push_back({{"name", v.name}, {"psnr", v.psnr}, {"ssim", v.ssim}, {"seconds", v.seconds}});
  json out = {{"psnr", score.psnr},
              {"ssim", score.ssim},
              {"seconds_per_view", score.seconds},
              {"protocol", score.protocol},
              {"test_views", score.scored.of},
              {"reduced_by", score.scored.reduced},
              {"views", views}};
  if (!notes.empty())
    for (const std::string& note : notes) out["notes"].push_back(as_utf8(note));
  return out.dump(2);
}

int train(RunOptions options, CallTimes& times) {
  // Return large freed blocks to the system, so that the account and the process agree.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  return Ranks::here().run([&] { return RunJob(std::move(options), times).run(); });
}

}  // namespace klab
