// A network on disk: parameters, running averages and, to go on, the optimizer's moments, as a safetensors file.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "labs/learning/network/module.h"
#include "labs/learning/network/optimizer.h"

namespace klab::learning {

/// Writes whole or not at all. `words` is what the reader must find the same ("model", "data"), and what it goes on from.
void save_network(const std::filesystem::path& file, Network& network, Optimizer* optimizer,
                  const std::map<std::string, std::string>& words);

/// Reads what save_network() wrote into a network of the same layers. `must` are metadata that must be the same. Throws
/// std::runtime_error naming the file, the tensor or word that differs, and what to do.
void load_network(const std::filesystem::path& file, Network& network, Optimizer* optimizer,
                  const std::map<std::string, std::string>& must, std::map<std::string, std::string>& words);

}  // namespace klab::learning
