// The results of klab tune, remembered for this machine.
//
//   ~/.cache/klab/tuned_<fingerprint of the machine>.json      (or $XDG_CACHE_HOME/klab/...)
//   {"tuned": [{"field": "hash", "backend": "cpu", "recipe": "<digest>", "threads": 2, "threads_gain": 1.8, ...}, ...]}
//
// There is one entry for each field, backend and recipe. The recipe is a digest of the settings without the
// batch, because the batch may be tuned.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "labs/radiance/run/fields.h"

namespace klab {

struct Tuned {
  std::string field, backend, recipe;  // the entry's key
  int threads = 1;
  double threads_gain = 1;  // speedup over all threads
  // For runs of `batch_seconds` of training; 0: the batch was not tuned.
  int64_t batch_samples = 0;
  double batch_seconds = 0,
         batch_gain = 1;  // speedup to the same PSNR over the recipe's batch, at least
  // For pictures that take turns in memory; 0: not tuned.
  int workers = 0;
  int64_t ahead = 0;
  double pictures_gain = 1;  // speedup over the defaults
  /// Threads of a block by CUDA rung, if not the usual number; chosen by "counts" or "time".
  std::map<std::string, int> blocks;
  std::string blocks_by;
  double blocks_gain = 1;   // speedup over the usual ones; of least times if chosen by counts
  double took = 0;          // seconds of the search
  std::string scene, date;  // where and when it was found
  std::string commit;       // commit of the klab that wrote it

  /// The speedup of all together.
  double gain() const {
    return threads_gain * batch_gain * pictures_gain * (blocks_by == "time" ? blocks_gain : 1);
  }
};

/// Returns a digest of a field's settings without the batch.
std::string recipe_of(const FieldSettings& settings);

/// Returns the file for this machine; empty if there is no home.
std::filesystem::path tuned_file();

/// Reads the entry for these settings, if there is one; a missing file has none. Throws std::runtime_error
/// naming file, field and remedy for a malformed file.
std::optional<Tuned> tuned_in(const std::filesystem::path& file, const FieldSettings& settings,
                              const std::string& backend);

/// Writes the entry into the file, replacing an older one. A malformed file is replaced. Throws
/// std::runtime_error if the file cannot be written.
void remember(const std::filesystem::path& file, const Tuned& tuned);

}  // namespace klab
