#include "labs/radiance/run/named_model.h"

#include <fmt/format.h>

#include <stdexcept>

#include "harness/records/tensor_file.h"
#include "labs/radiance/field/snapshot.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/run/run.h"

namespace klab {

namespace fs = std::filesystem;

fs::path model_of_run(const std::string& given) {
  const fs::path file = model_file(given);
  std::error_code error;
  if (fs::is_directory(given, error) && !fs::exists(file, error))
    throw std::runtime_error(
        fs::exists(fs::path(given) / "checkpoint.safetensors", error)
            ? fmt::format("{}: holds no model.safetensors, because its training has not ended: klab train "
                          "--resume {} ends it",
                          given, given)
            : fmt::format("{}: holds no model.safetensors: name the folder of a run of klab train", given));
  if (!fs::exists(file, error))
    throw std::runtime_error(fmt::format(
        "{}: no such file: name a model.safetensors or the folder of a run of klab train", given));
  if (is_gaussian_file(file) || is_snapshot_file(file)) return file;
  try {
    const TensorFile opened(file);
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(fmt::format("{}: copy it again, or train it again", e.what()));
  }
  return file;
}

}  // namespace klab
