// The result that a resumed run's folder already has: a poorer one does not replace it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace klab {

class EarlierResult {
 public:
  /// Reads a folder's result.json; nothing if there is none with a score and a model next to it.
  static std::optional<EarlierResult> in(const std::filesystem::path& folder);

  /// Returns the file for the model after `steps` steps until put() is called, next to model.safetensors unless both are
  /// the same model.
  std::filesystem::path model_file(int64_t steps) const;

  /// Puts a new result into the folder and returns what the user should know, empty if the new one just replaced this
  /// one:
  ///   same protocol, lower PSNR        this one stays; the new one is result_<steps>.json, model_<steps>.safetensors
  ///   no score, and the same steps     this one stays
  ///   no score, or another protocol    this one becomes result_<steps>.json, model_<steps>.safetensors
  ///   otherwise                        the new one replaces this one
  std::string put(const nlohmann::json& result) const;

 private:
  std::filesystem::path folder_;
  std::string protocol_;
  double psnr_ = 0;
  int64_t steps_ = 0;
};

}  // namespace klab
