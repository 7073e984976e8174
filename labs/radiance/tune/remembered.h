// What klab tune found, remembered for the machine it was found on.
//
//   ~/.cache/klab/tuned_<fingerprint of the machine>.json      (or $XDG_CACHE_HOME/klab/...)
//   {"tuned": [{"field": "hash", "backend": "cpu", "recipe": "<digest>", "threads": 2, "threads_gain": 1.8, ...}, ...]}
//
// One entry for each field, backend and recipe; the recipe is the settings without the batch, which is one of the things that are
// found.
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
  std::string field, backend, recipe;  // of what it is true
  int threads = 1;
  double threads_gain = 1;  // times as fast as with all threads
  // Of runs of `batch_seconds` of training; 0: the batch was not looked for.
  int64_t batch_samples = 0;
  double batch_seconds = 0,
         batch_gain = 1;  // times as fast to the same PSNR as with the recipe's batch, at least
  // Of pictures that take turns; 0: they were not looked for.
  int workers = 0;
  int64_t ahead = 0;
  double pictures_gain = 1;  // times as fast as with the defaults
  /// Threads of a block, by CUDA rung, where another number than usual was chosen; and by what, "counts" or "time".
  std::map<std::string, int> blocks;
  std::string blocks_by;
  double blocks_gain = 1;   // times as fast as with the usual ones; of least times where they were counted
  double took = 0;          // seconds that the search took
  std::string scene, date;  // where and when it was found
  std::string commit;       // of the klab that found it

  /// All of them together.
  double gain() const {
    return threads_gain * batch_gain * pictures_gain * (blocks_by == "time" ? blocks_gain : 1);
  }
};

/// A digest of the settings of a field but for its batch.
std::string recipe_of(const FieldSettings& settings);

/// The file for this machine; empty when there is no home.
std::filesystem::path tuned_file();

/// What the file says of these, if anything. Throws std::runtime_error naming file, field and remedy for a file that is no such file;
/// no file is none.
std::optional<Tuned> tuned_in(const std::filesystem::path& file, const FieldSettings& settings,
                              const std::string& backend);

/// Puts it into the file in place of what it said of the same. A file that is none is replaced. Throws std::runtime_error where it
/// cannot be written.
void remember(const std::filesystem::path& file, const Tuned& tuned);

}  // namespace klab
