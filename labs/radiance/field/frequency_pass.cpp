// A network's forward and backward pass over points.
#include <algorithm>

#include "labs/radiance/field/frequency.h"
#include "reference/activation_bwd/activation_bwd.h"
#include "reference/axpy/axpy.h"
#include "reference/bias_add_bwd/bias_add_bwd.h"
#include "reference/cast/cast.h"
#include "reference/frequency_fwd/frequency_fwd.h"
#include "reference/matmul_bf16/matmul_bf16.h"
#include "reference/matmul_bwd/matmul_bwd.h"

namespace klab {
namespace {

constexpr int64_t kNone = -1;  // no activation

}  // namespace

FrequencyPass::FrequencyPass(const FrequencyConfig& c, int64_t capacity)
    : c_(c), net_(c), capacity_(capacity) {
  int64_t widest = 0, largest = 0;
  for (const FrequencyNet::Layer& l : net_.layers) {
    widest = std::max({widest, l.to, l.from});
    largest = std::max(largest, l.to * l.from);
  }
  for (int64_t l = 0; l < c.depth; ++l) inputs_.emplace_back(net_.layers[size_t(l)].from * capacity);
  inputs_.emplace_back(c.width * capacity);
  view_in_ = Array<float>((c.width + c.direction_features()) * capacity);
  d_view_in_ = Array<float>((c.width + c.direction_features()) * capacity);
  view_ = Array<float>(c.width / 2 * capacity);
  raw_ = Array<float>(capacity);
  rgb_ = Array<float>(3 * capacity);
  z_ = Array<float>(widest * capacity);
  d_a_ = Array<float>(widest * capacity);
  d_b_ = Array<float>(widest * capacity);
  d_x_ = Array<float>(widest * capacity);
  d_weights_ = Array<float>(largest);
  d_bias_ = Array<float>(widest);
}

int64_t FrequencyPass::bytes_of(const FrequencyConfig& c) {
  const FrequencyNet net(c);
  int64_t rows = 0;
  for (const FrequencyNet::Layer& l : net.layers) rows += l.from;
  return 4 * c.chunk * (rows + 6 * (c.width + c.point_features())) + 4 * c.width * (c.width + 200);
}

/// Computes y = W·x. A network in fewer bits has one matrix at a time as floats, or as bfloat16s with its inputs.
void FrequencyPass::product(Ops& ops, const FrequencyNumbers& p, const FrequencyNet::Layer& l, const float* x,
                            float* y) {
  if (p.parameters != nullptr) {
    ops.call<Matmul>({.m = l.to, .n = n_, .k = l.from}, {.a = p.parameters + l.weights, .b = x, .c = y});
    return;
  }
  const auto count = size_t(l.to * l.from);
  widened_.resize(std::max(widened_.size(), count));
  const bool rounded = !p.pairs || p.precision != Storage::bf16;
  if (rounded) widen_rows(*p.matrices, p.precision, l.to, l.from, l.first, l.row, widened_.data());
  if (!p.pairs) {
    ops.call<Matmul>({.m = l.to, .n = n_, .k = l.from}, {.a = widened_.data(), .b = x, .c = y});
    return;
  }
  const auto* weights = reinterpret_cast<const Bfloat16*>(p.matrices->halves.data() + l.first);
  if (rounded) {
    factors_.resize(std::max(factors_.size(), count));
    std::transform(widened_.begin(), widened_.begin() + int64_t(count), factors_.begin(), to_bfloat16);
    weights = factors_.data();
  }
  inputs_in_pairs_.resize(std::max(inputs_in_pairs_.size(), size_t(2 * l.from * n_)));
  const float one = 1;
  ops.call<Cast>({.n = l.from * n_, .format = Cast::bf16},
                 {.x = x, .scale = &one, .out = inputs_in_pairs_.data()});
  ops.call<MatmulBf16>(
      {.m = l.to, .n = n_, .k = l.from},
      {.a = weights, .b = reinterpret_cast<const Bfloat16*>(inputs_in_pairs_.data()), .c = y});
}

/// Computes y = activation(W·x + b).
void FrequencyPass::layer(Ops& ops, const FrequencyNumbers& p, const FrequencyNet::Layer& l, const float* x,
                          float* y, int64_t kind) {
  float* const result = kind == kNone ? d_b_.data() : z_.data();
  product(ops, p, l, x, result);
  float* sum = kind == kNone ? y : d_b_.data();
  const float* bias = p.parameters != nullptr ? p.parameters + l.bias : p.biases + l.row;
  ops.call<BiasAddFwd>({.n = 1, .c = l.to, .hw = n_}, {.x = result, .bias = bias, .y = sum});
  if (kind != kNone) ops.call<ActivationFwd>({.n = l.to * n_, .kind = kind}, {.x = sum, .y = y});
}

void FrequencyPass::forward(Ops& ops, const FrequencyNumbers& parameters, const float* positions,
                            const float* directions, int64_t n) {
  n_ = n;
  const int64_t points = c_.point_features();
  float* x = inputs_[0].data();
  std::copy_n(positions, 3 * n, x);
  ops.call<FrequencyFwd>({.n = n, .dim = 3, .octaves = c_.octaves},
                         {.positions = positions, .features = x + 3 * n});
  for (int64_t l = 0; l < c_.depth; ++l) {
    float* in = inputs_[size_t(l)].data();
    if (l > 0 && l == c_.skip) std::copy_n(x, points * n, in + c_.width * n);
    layer(ops, parameters, net_.layers[size_t(l)], in, inputs_[size_t(l) + 1].data(), activation::relu);
  }
  const FrequencyNet::Layer* heads = net_.layers.data() + c_.depth;
  const float* trunk = inputs_.back().data();
  layer(ops, parameters, heads[0], trunk, raw_.data(), kNone);
  layer(ops, parameters, heads[1], trunk, view_in_.data(), kNone);
  float* turned = view_in_.data() + c_.width * n;
  std::copy_n(directions, 3 * n, turned);
  ops.call<FrequencyFwd>({.n = n, .dim = 3, .octaves = c_.direction_octaves},
                         {.positions = directions, .features = turned + 3 * n});
  layer(ops, parameters, heads[2], view_in_.data(), view_.data(), activation::relu);
  layer(ops, parameters, heads[3], view_.data(), rgb_.data(), activation::sigmoid);
}

/// Computes a layer's gradients. d_y is the gradient of the layer's output; it is overwritten. d_x may be
/// null if it is not needed.
void FrequencyPass::layer_back(Ops& ops, const float* parameters, const FrequencyNet::Layer& l,
                               const float* x, const float* y, float* d_y, float* d_x, int64_t kind,
                               float* gradient) {
  const float* d_sum = d_y;
  if (kind == activation::relu) {
    // A ReLU's output is above 0 exactly where its input was.
    ops.call<ActivationBwd>({.n = l.to * n_, .kind = kind}, {.x = y, .d_y = d_y, .d_x = z_.data()});
    d_sum = z_.data();
  } else if (kind == activation::sigmoid) {
    for (int64_t i = 0; i < l.to * n_; ++i) d_y[i] *= y[i] * (1 - y[i]);
  }
  ops.call<MatmulBwd>({.m = l.to, .n = n_, .k = l.from}, {.a = parameters + l.weights,
                                                          .b = x,
                                                          .d_c = d_sum,
                                                          .d_a = d_weights_.data(),
                                                          .d_b = d_x != nullptr ? d_x : d_b_.data()});
  ops.call<BiasAddBwd>({.n = 1, .c = l.to, .hw = n_}, {.d_y = d_sum, .d_bias = d_bias_.data()});
  const float one = 1;
  ops.call<Axpy>({.n = l.to * l.from}, {.a = &one, .x = d_weights_.data(), .y = gradient + l.weights});
  ops.call<Axpy>({.n = l.to}, {.a = &one, .x = d_bias_.data(), .y = gradient + l.bias});
}

void FrequencyPass::backward(Ops& ops, const float* parameters, const float* d_raw, const float* d_rgb,
                             float* gradient) {
  const FrequencyNet::Layer* heads = net_.layers.data() + c_.depth;
  const float* trunk = inputs_.back().data();
  const int64_t all = c_.width * n_;
  std::copy_n(d_rgb, 3 * n_, d_a_.data());
  layer_back(ops, parameters, heads[3], view_.data(), rgb_.data(), d_a_.data(), d_x_.data(),
             activation::sigmoid, gradient);
  layer_back(ops, parameters, heads[2], view_in_.data(), view_.data(), d_x_.data(), d_view_in_.data(),
             activation::relu, gradient);
  // The trunk's output feeds the feature and the density: the two gradients are added.
  layer_back(ops, parameters, heads[1], trunk, nullptr, d_view_in_.data(), d_a_.data(), kNone, gradient);
  std::copy_n(d_raw, n_, raw_.data());
  layer_back(ops, parameters, heads[0], trunk, nullptr, raw_.data(), d_x_.data(), kNone, gradient);
  const float one = 1;
  ops.call<Axpy>({.n = all}, {.a = &one, .x = d_x_.data(), .y = d_a_.data()});
  float *d_y = d_a_.data(), *d_x = d_x_.data();
  for (int64_t l = c_.depth; l-- > 0;) {
    // The skip's input is not learned: the gradient's rows after the width are ignored.
    layer_back(ops, parameters, net_.layers[size_t(l)], inputs_[size_t(l)].data(),
               inputs_[size_t(l) + 1].data(), d_y, l > 0 ? d_x : nullptr, activation::relu, gradient);
    std::swap(d_y, d_x);
  }
}

}  // namespace klab
