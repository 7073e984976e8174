// Three classifier models, and networks of one's own.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "labs/learning/network/convolution.h"
#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/linear.h"
#include "labs/learning/network/network_line.h"
#include "labs/learning/network/normalization.h"

namespace klab::learning {

/// Builds a model:
///   softmax   one matrix (softmax regression)
///   mlp       256 and 128 units with ReLU and dropout
///   cnn       LeNet (LeCun, Bottou, Bengio and Haffner 1998) with batch normalization, ReLU, maxima and
///   dropout
/// or, of a line of layers (network_line.h), the network that it describes. Throws std::invalid_argument for another name, and if a
/// layer does not fit the examples.
inline std::unique_ptr<Network> make_model(const std::string& name, const Dims& in, int64_t classes) {
  if (is_network_line(name)) return network_of(name, in, classes);
  auto net = std::make_unique<Network>(in);
  if (name == "softmax") {
    net->add<Linear>("linear", classes);
  } else if (name == "mlp") {
    net->add<Linear>("linear1", int64_t{256})
        .add<Activation>("relu1", activation::relu)
        .add<Dropout>("dropout1", 0.2);
    net->add<Linear>("linear2", int64_t{128})
        .add<Activation>("relu2", activation::relu)
        .add<Dropout>("dropout2", 0.2);
    net->add<Linear>("linear3", classes);
  } else if (name == "cnn") {
    net->add<Convolution>("conv1", int64_t{16}, int64_t{5}, int64_t{2}).add<BatchNorm>("norm1");
    net->add<Activation>("relu1", activation::relu).add<MaxPool>("pool1", int64_t{2});
    net->add<Convolution>("conv2", int64_t{32}, int64_t{5}, int64_t{0}).add<BatchNorm>("norm2");
    net->add<Activation>("relu2", activation::relu).add<MaxPool>("pool2", int64_t{2});
    net->add<Linear>("linear1", int64_t{128})
        .add<Activation>("relu3", activation::relu)
        .add<Dropout>("dropout", 0.3);
    net->add<Linear>("linear2", classes);
  } else {
    throw std::invalid_argument("no model is called " + name + ": --model softmax, mlp or cnn");
  }
  return net;
}

}  // namespace klab::learning
