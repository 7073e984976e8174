#include "labs/learning/network/network_line.h"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "labs/learning/network/convolution.h"
#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/initialize.h"
#include "labs/learning/network/linear.h"
#include "labs/learning/network/normalization.h"

namespace klab::learning {
namespace {

namespace fs = std::filesystem;

/// One layer as it is written, with its place in the line.
class Layer {
 public:
  Layer(size_t place, const std::string& text) : place_(place), text_(text) {
    std::istringstream words(text);
    for (std::string word; words >> word;) words_.push_back(word);
    if (words_.empty()) fail("is empty");
    if (std::isdigit(static_cast<unsigned char>(words_[0][0])) != 0) words_.insert(words_.begin(), "linear");
  }
  const std::string& kind() const { return words_[0]; }
  [[noreturn]] void fail(const std::string& what) const {
    throw std::invalid_argument(fmt::format("layer {} of the network, \"{}\", {}", place_, text_, what));
  }
  /// Returns the number behind the kind, or `missing` if there is none.
  double number(size_t at, const char* what, double low, double high,
                std::optional<double> missing = {}) const {
    if (at >= words_.size()) {
      if (missing) return *missing;
      fail(fmt::format("lacks {}", what));
    }
    char* end = nullptr;
    const double value = std::strtod(words_[at].c_str(), &end);
    if (*end != '\0' || !(value >= low && value <= high))
      fail(fmt::format("has \"{}\" for {}: a number from {} to {}", words_[at], what, low, high));
    return value;
  }
  int64_t whole(size_t at, const char* what, int64_t low, int64_t high,
                std::optional<double> missing = {}) const {
    const double value = number(at, what, double(low), double(high), missing);
    if (value != double(int64_t(value)))
      fail(fmt::format("has \"{}\" for {}: a whole number", words_[at], what));
    return int64_t(value);
  }
  void most_words(size_t count) const {
    if (words_.size() > count) fail(fmt::format("has \"{}\", which it does not take", words_[count]));
  }
  size_t words() const { return words_.size(); }
  bool has(size_t at, const char* word) const { return at < words_.size() && words_[at] == word; }
  /// Takes "word N" out of what stands from `at` on, wherever it stands there, and returns N, or `missing` without it.
  int64_t take(size_t at, const char* word, const char* what, int64_t low, int64_t high, int64_t missing) {
    for (; at < words_.size(); ++at)
      if (has(at, word)) {
        const int64_t value = whole(at + 1, what, low, high);
        words_.erase(words_.begin() + std::ptrdiff_t(at), words_.begin() + std::ptrdiff_t(at) + 2);
        return value;
      }
    return missing;
  }
  /// Takes "pad P" or "pad P KIND" out of what stands from `at` on.
  struct Pad {
    int64_t by = 0;
    std::optional<int64_t> kind;  // of pad2d_fwd
  };
  Pad take_pad(size_t at, int64_t most) {
    static const std::map<std::string, int64_t> kinds = {{"zeros", PadShape::zeros},
                                                         {"replicate", PadShape::replicate},
                                                         {"circular", PadShape::circular},
                                                         {"reflect", PadShape::reflect},
                                                         {"mean", PadShape::mean}};
    while (at < words_.size() && words_[at] != "pad") ++at;
    if (at == words_.size()) return {};
    Pad pad{whole(at + 1, "its padding", 0, most), {}};
    const auto begin = words_.begin() + std::ptrdiff_t(at);
    const auto kind = at + 2 < words_.size() ? kinds.find(words_[at + 2]) : kinds.end();
    if (kind != kinds.end())
      pad.kind = kind->second;
    else if (at + 2 < words_.size() && std::isalpha(static_cast<unsigned char>(words_[at + 2][0])) != 0 &&
             words_[at + 2] != "stride" && words_[at + 2] != "pad")
      fail(fmt::format("has \"{}\" for its border: zeros, replicate, circular, reflect or mean",
                       words_[at + 2]));
    words_.erase(begin, begin + (kind != kinds.end() ? 3 : 2));
    return pad;
  }

 private:
  size_t place_;
  std::string text_;
  std::vector<std::string> words_;
};

const std::map<std::string, int64_t>& activations() {
  static const std::map<std::string, int64_t> kinds = {
      {"relu", activation::relu}, {"sigmoid", activation::sigmoid}, {"tanh", activation::tanh},
      {"gelu", activation::gelu}, {"swish", activation::swish},     {"softplus", activation::softplus}};
  return kinds;
}
bool is_activation(const Layer& l) { return l.kind() == "none" || activations().contains(l.kind()); }
bool is_norm(const Layer& l) { return l.kind() == "batchnorm" || l.kind() == "layernorm"; }

std::vector<Layer> layers_of(const std::string& line) {
  std::vector<Layer> layers;
  std::istringstream in(line);
  for (std::string part; std::getline(in, part, ',');) {
    const size_t begin = part.find_first_not_of(' ');
    layers.emplace_back(layers.size() + 1, begin == std::string::npos ? "" : part.substr(begin));
  }
  if (layers.empty())
    throw std::invalid_argument("the network has no layers, as in --network \"conv 6 5, pool, 120, 10\"");
  return layers;
}

void add(Network& net, Layer l, const std::string& name) {
  constexpr int64_t kMost = 65536, kLongestSide = 31;
  if (l.kind() == "linear") {
    const int64_t to = l.whole(1, "its outputs", 1, kMost);
    l.most_words(2);
    net.add<Linear>(name, to);
  } else if (l.kind() == "conv") {
    const int64_t to = l.whole(1, "its channels", 1, kMost),
                  taps = l.whole(2, "the side of its kernels", 1, kLongestSide);
    const Layer::Pad pad = l.take_pad(3, taps - 1);
    const int64_t stride = l.take(3, "stride", "its stride", 1, kLongestSide, 1);
    l.most_words(3);
    net.add<Convolution>(name, to, taps, pad.by, stride, pad.kind.value_or(PadShape::zeros));
  } else if (l.kind() == "pool" || l.kind() == "avgpool") {
    const int64_t given = l.take(1, "stride", "its stride", 1, kLongestSide, 0);
    const Layer::Pad pad = l.take_pad(1, kLongestSide);
    const int64_t side = l.whole(1, "its side", 1, kLongestSide, 2);
    l.most_words(2);
    if (pad.by >= side) l.fail(fmt::format("has a padding of {}: less than its side, {}", pad.by, side));
    const bool zeros = pad.kind == PadShape::zeros && pad.by > 0;
    if (zeros) net.add<Padding>(name + "_pad", pad.by, PadShape::zeros);
    net.add<Pool>(name, side, given == 0 ? side : given,
                  l.kind() == "pool" ? Pool::Kind::maximum : Pool::Kind::average, zeros ? 0 : pad.by,
                  pad.kind.value_or(0));
  } else if (l.kind() == "dropout") {
    const double p = l.number(1, "its probability", 0, 0.99);
    l.most_words(2);
    net.add<Dropout>(name, p);
  } else if (is_norm(l)) {
    l.most_words(1);
    if (l.kind() == "batchnorm")
      net.add<BatchNorm>(name);
    else
      net.add<LayerNorm>(name);
  } else if (is_activation(l)) {
    l.most_words(1);
    if (l.kind() != "none") net.add<Activation>(name, activations().at(l.kind()));
  } else {
    l.fail(
        "is unknown: linear, conv, pool, avgpool, batchnorm, layernorm, dropout, relu, sigmoid, tanh, gelu, "
        "swish, "
        "softplus or none");
  }
}

}  // namespace

bool is_network_line(const std::string& name) {
  return name.find(',') != std::string::npos ||
         (!name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) != 0) ||
         name.find(' ') != std::string::npos;
}

std::unique_ptr<Network> network_of(const std::string& line, const Dims& in, int64_t classes) {
  const std::vector<Layer> layers = layers_of(line);
  auto net = std::make_unique<Network>(in);
  std::map<std::string, int> count;
  const auto named = [&](const std::string& kind) { return kind + std::to_string(++count[kind]); };
  size_t last = layers.size();
  for (size_t i = 0; i < layers.size(); ++i)
    if (layers[i].kind() == "linear") last = i;
  bool open = false;  // a convolution or matrix still without its activation
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer& l = layers[i];
    if (open && !is_norm(l) && !is_activation(l)) {
      net->add<Activation>(named("relu"), activation::relu);
      open = false;
    }
    try {
      add(*net, l, named(l.kind()));
    } catch (const std::invalid_argument& e) {
      const std::string what = e.what();
      if (what.starts_with("layer " + std::to_string(i + 1) + " of the network")) throw;
      l.fail("does not fit: " + what);
    }
    if (is_activation(l)) open = false;
    if (l.kind() == "conv" || (l.kind() == "linear" && i != last)) open = true;
  }
  if (last + 1 != layers.size() || net->out() != Dims{classes})
    layers.back().fail(fmt::format("gives {}, and the data have {} classes: end the network with {}",
                                   dims_text(net->out()), classes, classes));
  return net;
}

NetworkFile network_line(const std::string& line_or_file) {
  if (line_or_file.find_first_not_of(' ') == std::string::npos)
    throw std::invalid_argument(
        "--network is empty: write layers, as \"conv 6 5, pool, 120, 10\", or leave it out");
  if (!line_or_file.ends_with(".json")) return {line_or_file, {}};
  std::ifstream in(line_or_file);
  if (!in) throw std::invalid_argument(line_or_file + ": no such file");
  NetworkFile read;
  try {
    const auto file = nlohmann::json::parse(in);
    const auto& layers = file.at("layers");
    for (size_t i = 0; i < layers.size(); ++i) {
      if (!layers.at(i).is_string())
        throw std::invalid_argument(fmt::format("{}: layers[{}] is {}, and has to be a text, as \"conv 6 5\"",
                                                line_or_file, i, layers.at(i).dump()));
      read.line += (i == 0 ? "" : ", ") + layers.at(i).get<std::string>();
    }
    for (const auto& [key, value] : file.items()) {
      if (key == "layers") continue;
      if (!value.is_string() && !value.is_number())
        throw std::invalid_argument(fmt::format("{}: \"{}\" is {}, and has to be a number or a text",
                                                line_or_file, key, value.type_name()));
      read.settings.emplace(key, value.is_string() ? value.get<std::string>() : value.dump());
    }
  } catch (const nlohmann::json::exception& e) {
    throw std::invalid_argument(line_or_file +
                                ": not {\"layers\": [\"conv 6 5\", \"pool\", ...]}: " + e.what());
  }
  if (!is_network_line(read.line))
    throw std::invalid_argument(line_or_file + ": \"layers\" names fewer than two layers");
  return read;
}

std::vector<LayerSummary> summary_of(Network& network) {
  std::vector<LayerSummary> list;
  for (const auto& m : network.modules()) {
    list.push_back({m->name(), dims_text(m->out()), 0});
    for (const Tensor& t : network.parameters().tensors())
      if (t.name.starts_with(m->name() + ".")) list.back().parameters += t.size();
  }
  return list;
}

void initialize_xavier(Network& network, uint64_t seed) {
  for (const Tensor& t : network.parameters().tensors()) {
    if (!t.name.ends_with(".weight")) continue;
    int64_t from = t.dims.at(0), to = t.dims.at(1);
    if (t.dims.size() == 4) {
      const int64_t taps = t.dims[2] * t.dims[3];
      from = t.dims[1] * taps, to = t.dims[0] * taps;
    }
    draw_normal(t, xavier(from, to), seed);
  }
}

}  // namespace klab::learning
