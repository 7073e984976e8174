#include "labs/radiance/run/earlier_result.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "harness/records/atomic_file.h"
#include "harness/records/input.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kModel = "model.safetensors";
constexpr const char* kResult = "result.json";

std::string model_at(int64_t steps) { return fmt::format("model_{}.safetensors", steps); }
std::string result_at(int64_t steps) { return fmt::format("result_{}.json", steps); }

/// JSON has no infinity, the PSNR of equal pictures: it is null.
double psnr_of(const json& score) {
  const json& psnr = score.at("psnr");
  return psnr.is_null() ? std::numeric_limits<double>::infinity() : psnr.get<double>();
}

}  // namespace

std::optional<EarlierResult> EarlierResult::in(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / kResult, error) || !fs::exists(folder / kModel, error)) return std::nullopt;
  try {
    const json result = read_json_file(folder / kResult);
    EarlierResult earlier;
    earlier.folder_ = folder;
    earlier.steps_ = result.at("steps");
    earlier.psnr_ = psnr_of(result.at("score"));
    earlier.protocol_ = result.at("score").at("protocol");
    return earlier;
  } catch (const std::exception&) {
    return std::nullopt;  // damaged, or without a score: there is nothing to lose
  }
}

fs::path EarlierResult::model_file(int64_t steps) const {
  return folder_ / (steps == steps_ ? kModel : model_at(steps));
}

std::string EarlierResult::put(const json& result) const {
  const auto steps = result.at("steps").get<int64_t>();
  const bool same_model = steps == steps_, scored = result.contains("score");
  const bool same_protocol = scored && result.at("score").at("protocol") == protocol_;
  const double psnr = scored ? psnr_of(result.at("score")) : 0;
  const std::string text = result.dump(2) + "\n";
  if (!scored && same_model)
    return fmt::format("{} keeps the score of {:.2f} dB: nothing was trained, and there is no new score",
                       kResult, psnr_);
  if (same_protocol && !same_model && psnr < psnr_) {
    write_file(folder_ / result_at(steps), text);
    return fmt::format(
        "{} and {} stay those of step {}: they have {:.2f} dB, step {} has {:.2f} dB and is {} and {}",
        kResult, kModel, steps_, psnr_, steps, psnr, result_at(steps), model_at(steps));
  }
  std::string kept;
  if (!same_protocol) {
    fs::rename(folder_ / kResult, folder_ / result_at(steps_));
    if (!same_model) fs::rename(folder_ / kModel, folder_ / model_at(steps_));
    kept = fmt::format(
        "the result of step {}, {:.2f} dB, cannot be compared with the new one, which {}: it is {}{}", steps_,
        psnr_, scored ? "was scored otherwise" : "has no score", result_at(steps_),
        same_model ? "" : " and " + model_at(steps_));
  }
  if (!same_model) fs::rename(folder_ / model_at(steps), folder_ / kModel);
  write_file(folder_ / kResult, text);
  return kept;
}

}  // namespace klab
