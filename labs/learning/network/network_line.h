// A network of one's own in one line: "conv 6 5, pool, conv 16 5, pool, 120, 84, 10".
//
//   N or linear N       a matrix and a bias with N outputs
//   conv C K            C output channels, kernels of KxK; behind it "pad P", zeros on each side (default 0), and "stride S"
//                       "pad P KIND" is another border: replicate, circular, reflect, or mean, the mean of each picture
//   pool [K]            the largest of KxK (default 2); behind it "stride S" (default K), and "pad P", a border that is left out, or
//                       "pad P KIND", one that counts: zeros, too
//   avgpool [K]         their average, alike
//   batchnorm, layernorm
//   relu, sigmoid, tanh, gelu, swish, softplus, none
//   dropout P           drops each number with probability P while training
//
// Behind a convolution or a matrix, and its norm if one follows, stands a ReLU unless an activation is named; behind the last layer
// none.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "labs/learning/network/step.h"

namespace klab::learning {

/// Returns whether a model's name is such a line.
bool is_network_line(const std::string& name);

/// Builds the network. Throws std::invalid_argument that names the layer by place and text: a word that is none, a number out of
/// range, a layer that does not fit what is before it, a last layer without one output a class.
std::unique_ptr<Network> network_of(const std::string& line, const Dims& in, int64_t classes);

/// A network and, if it was read from a file, settings of its training: "rate" -> "0.01".
struct NetworkFile {
  std::string line;
  std::map<std::string, std::string> settings;
};

/// Returns the line itself, or of a JSON file {"layers": ["conv 6 5", "pool", ...], "rate": 0.01} its layers as a line, and its
/// other fields as settings, which are for the caller to judge. Throws std::invalid_argument that names the file and what is wrong.
NetworkFile network_line(const std::string& line_or_file);

/// One layer of a built network: its name, the form of what it returns, its parameters.
struct LayerSummary {
  std::string name, out;
  int64_t parameters = 0;
};
std::vector<LayerSummary> summary_of(Network& network);

/// Draws the weights of matrices and kernels again, with variance 2/(inputs + outputs) (Glorot and Bengio, 2010) in place of
/// 2/inputs.
void initialize_xavier(Network& network, uint64_t seed);

}  // namespace klab::learning
