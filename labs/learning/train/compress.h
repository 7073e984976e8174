// Compresses a trained classifier: a student that learns its outputs, weights left out. What it costs is measured.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace klab::learning {

struct CompressOptions {
  std::filesystem::path run;  // a run's folder or its model
  std::string data;  // the set that it was trained with; empty: the one it names, if klab makes that itself
  std::filesystem::path out;  // the file to write
  double prune = 0;           // share of each weight's numbers, smallest first; 0: none
  int64_t retrain = 0;        // steps of training after that, zeros held; 0: none
  std::string
      student;  // a model's name, a line of layers, or the width of one hidden layer; empty: no student
  int64_t epochs = 12;            // of its training
  int64_t batch = 64;             // of its training and of evaluation
  int64_t train = 0, test = 0;    // numbers of examples to keep; 0: all
  std::vector<std::string> keep;  // weights that stay whole; "auto": by measured loss
  std::string plan = "naive";     // naive, best, or a file
  uint64_t seed = 1;
  bool json = false;  // print JSON instead of tables
};

/// Weights whose pruning alone costs more than this share of the examples are kept by "auto".
inline constexpr double kSensitive = 0.005;

/// Writes the compressed model and prints bytes and the share of test examples that each stage gets right. Returns the exit code: 0,
/// or 130 after an interruption, with nothing written. Throws std::runtime_error and std::invalid_argument that name file or option.
int compress_network(CompressOptions options);

}  // namespace klab::learning
