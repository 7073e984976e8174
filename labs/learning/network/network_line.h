// A network of one's own in one line: "conv 6 5, pool, conv 16 5, pool, 120, 84, 10".
//
//   N or linear N       a matrix and a bias with N outputs
//   conv C K [pad P]    C output channels, kernels of KxK, P zeros on each side (default 0)
//   pool [K]            the largest of KxK (default 2)
//   batchnorm, layernorm
//   relu, sigmoid, tanh, gelu, swish, softplus, none
//   dropout P           drops each number with probability P while training
//
// Behind a convolution or a matrix, and its norm if one follows, stands a ReLU unless an activation is named; behind the last layer
// none.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "labs/learning/network/module.h"

namespace klab::learning {

/// Returns whether a model's name is such a line.
bool is_network_line(const std::string& name);

/// Builds the network. Throws std::invalid_argument that names the layer by place and text: a word that is none, a number out of
/// range, a layer that does not fit what is before it, a last layer without one output a class.
std::unique_ptr<Network> network_of(const std::string& line, const Dims& in, int64_t classes);

/// Returns the line itself, or of a JSON file {"layers": ["conv 6 5", "pool", ...]} its layers as a line. Throws
/// std::invalid_argument that names the file and what is wrong.
std::string network_line(const std::string& line_or_file);

/// Draws the weights of matrices and kernels again, with variance 2/(inputs + outputs) (Glorot and Bengio, 2010) in place of
/// 2/inputs.
void initialize_xavier(Network& network, uint64_t seed);

}  // namespace klab::learning
