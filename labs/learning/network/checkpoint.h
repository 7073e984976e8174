// A network on disk as a safetensors file: parameters, running averages and, for resuming, the optimizer's
// moments.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "labs/learning/network/step.h"

namespace klab::learning {

/// Writes the file completely or not at all. `words` are metadata that a reader must match ("model", "data"),
/// and the state to resume from. `packed`: zeros are left out where that takes fewer bytes (harness/records/packed_tensors.h).
void save_network(const std::filesystem::path& file, Network& network, Step* step,
                  const std::map<std::string, std::string>& words, bool packed = false);

/// Reads the output of save_network() into a network with the same layers. `must` are metadata that must
/// match. Throws std::runtime_error naming the file, the tensor or word that differs, and the remedy.
void load_network(const std::filesystem::path& file, Network& network, Step* step,
                  const std::map<std::string, std::string>& must, std::map<std::string, std::string>& words);

}  // namespace klab::learning
