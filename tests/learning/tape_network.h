// Forwards written on a tape: the operations of a network, whose hand-written backward is compared with the
// tape.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "reference/activation_fwd/activation_fwd.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"
#include "reference/dropout_fwd/dropout_fwd.h"
#include "reference/mlp_fwd/mlp_fwd.h"
#include "reference/pad2d_fwd/pad2d_fwd.h"
#include "reference/pool_fwd/pool_fwd.h"
#include "reference/sh_fwd/sh_fwd.h"
#include "tests/learning/tape_parts.h"

namespace klab::gradients {

using Values = std::map<std::string, Tape::Value>;
using Numbers = std::map<std::string, std::vector<double>>;

/// Tensors of the backward by name on a tape -> outputs of the forward by name.
using Forward = std::function<Values(Tape&, const Values&, const Numbers&)>;

inline Tape::Value activation_of(Tape& t, Tape::Value x, int64_t kind) {
  const auto one = [&](Tape::Value like) { return constant_like(t, like, 1); };
  const auto sigmoid = [&](Tape::Value a) { return t.divide(one(a), t.add(one(a), t.exp(t.scale(a, -1)))); };
  switch (kind) {
    case activation::relu:
      return t.relu(x);
    case activation::sigmoid:
      return sigmoid(x);
    case activation::tanh:
      return t.tanh(x);
    case activation::gelu: {
      const Tape::Value erf = t.map(
          x, [](double v) { return std::erf(v / std::sqrt(2.0)); },
          [](double v, double) { return std::sqrt(2 / M_PI) * std::exp(-v * v / 2); });
      return t.scale(t.multiply(x, t.add(one(x), erf)), 0.5);
    }
    case activation::swish:
      return t.multiply(x, sigmoid(x));
    default:
      return t.log(t.add(one(x), t.exp(x)));
  }
}

/// Where a bias of c channels is added: [n,c,hw].
inline Tape::Value channels(Tape& t, Tape::Value bias, int64_t n, int64_t c, int64_t hw) {
  std::vector<int64_t> from;
  for (int64_t i = 0; i < n * c * hw; ++i) from.push_back(i / hw % c);
  return t.gather(bias, {n, c, hw}, from);
}

inline Tape::Value conv2d(Tape& t, const Conv2dShape& s, Tape::Value x, Tape::Value w, Tape::Value b) {
  const int64_t pixels = s.oh() * s.ow(), taps = s.c * s.taps();
  std::vector<int64_t> all(size_t(s.n * s.out_channels() * pixels));
  Tape::Value y = t.input({s.n, s.out_channels(), pixels}, std::vector<double>(all.size()));
  const PadShape pad = s.pad();
  std::vector<int64_t> planes(size_t(pad.planes * s.h * s.w));
  std::iota(planes.begin(), planes.end(), 0);
  const Tape::Value means =
      t.scale(t.sum(t.gather(x, {pad.planes, s.h * s.w}, planes)), 1 / double(s.h * s.w));
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t g = 0; g < s.groups; ++g) {
      std::vector<int64_t> columns, of_mean, kernel, back(all.size(), -1);
      for (int64_t p = 0; p < taps; ++p)  // im2col
        for (int64_t o = 0; o < pixels; ++o) {
          const int64_t row = o / s.ow() * s.stride_y - s.pad_y + p / s.s % s.r * s.dilation_y;
          const int64_t column = o % s.ow() * s.stride_x - s.pad_x + p % s.s * s.dilation_x;
          const bool shown = pad.inside(row, column) || pad.copies();
          const int64_t channel = g * s.c + p / s.taps();
          columns.push_back(shown ? s.x_at(n, channel, pad.source(row, s.h), pad.source(column, s.w)) : -1);
          of_mean.push_back(!shown && s.border == PadShape::mean ? n * s.in_channels() + channel : -1);
        }
      for (int64_t i = 0; i < s.k * taps; ++i) kernel.push_back(g * s.k * taps + i);
      for (int64_t i = 0; i < s.k * pixels; ++i)
        back[size_t((n * s.out_channels() + g * s.k) * pixels + i)] = i;
      const Tape::Value matrix =
          t.add(t.gather(x, {taps, pixels}, columns), t.gather(means, {taps, pixels}, of_mean));
      const Tape::Value product = t.matmul(t.gather(w, {s.k, taps}, kernel), matrix);
      y = t.add(y, t.gather(product, t.dims(y), back));
    }
  return t.add(y, channels(t, b, s.n, s.out_channels(), pixels));
}

struct Case {
  std::string backward;
  std::vector<int64_t> shape;
  Forward forward;
  double relative = 2e-5;  // of the largest element, for variants in float
};

/// The ops of a network.
inline std::vector<Case> network_cases() {
  std::vector<Case> list;
  list.push_back({"matmul_bwd", {7, 5, 9}, [](Tape& t, const Values& v, const Numbers&) -> Values {
                    return {{"c", t.matmul(v.at("a"), v.at("b"))}};
                  }});
  list.push_back({"softmax_xent_bwd", {6, 11}, [](Tape& t, const Values& v, const Numbers& given) -> Values {
                    const Tape::Value x = v.at("logits");
                    std::vector<int64_t> labels;
                    for (size_t i = 0; i < 6; ++i)
                      labels.push_back(int64_t(i) * 11 + int64_t(given.at("labels")[i]));
                    return {{"loss", t.subtract(t.log(t.sum(t.exp(x))), t.gather(x, {6}, labels))}};
                  }});
  for (int64_t kind = 0; kind < activation::kKinds; ++kind)
    list.push_back({"activation_bwd", {50, kind}, [kind](Tape& t, const Values& v, const Numbers&) -> Values {
                      return {{"y", activation_of(t, v.at("x"), kind)}};
                    }});
  list.push_back({"bias_add_bwd", {4, 3, 5}, [](Tape& t, const Values&, const Numbers&) -> Values {
                    const Tape::Value bias = t.input({3}, {0.5, -1, 2});
                    return {{"y", channels(t, bias, 4, 3, 5)}, {"bias", bias}};
                  }});
  list.push_back({"layernorm_bwd", {5, 12}, [](Tape& t, const Values& v, const Numbers&) -> Values {
                    const Tape::Value beta = t.input({12}, std::vector<double>(12));
                    const Tape::Value scaled = t.multiply(normalized(t, v.at("x"), double(1e-5F), true),
                                                          rows_of(t, v.at("gamma"), 5));
                    return {{"y", t.add(scaled, rows_of(t, beta, 5))}, {"beta", beta}};
                  }});
  list.push_back({"rmsnorm_bwd", {5, 12}, [](Tape& t, const Values& v, const Numbers&) -> Values {
                    return {{"y", t.multiply(normalized(t, v.at("x"), double(1e-5F), false),
                                             rows_of(t, v.at("gamma"), 5))}};
                  }});
  const auto batchnorm = [](Tape& t, const Values& v, const Numbers&) -> Values {
    constexpr int64_t n = 3, c = 4, hw = 5;
    std::vector<int64_t> rows, back;
    for (int64_t k = 0; k < c; ++k)
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < hw; ++j) rows.push_back((i * c + k) * hw + j);
    back.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) back[size_t(rows[i])] = int64_t(i);
    const Tape::Value y = normalized(t, t.gather(v.at("x"), {c, n * hw}, rows), double(1e-5F), true);
    const Tape::Value beta = t.input({c}, std::vector<double>(c));
    const Tape::Value scaled =
        t.multiply(t.gather(y, {n, c, hw}, back), channels(t, v.at("gamma"), n, c, hw));
    return {{"y", t.add(scaled, channels(t, beta, n, c, hw))}, {"beta", beta}};
  };
  list.push_back({"batchnorm_bwd", {3, 4, 5}, batchnorm});
  // The statistics are numbers to the tape, not values: nothing flows back to them.
  list.push_back(
      {"batchnorm_inference_bwd", {3, 4, 5}, [](Tape& t, const Values& v, const Numbers& given) -> Values {
         const std::vector<double>& mean = given.at("running_mean");
         std::vector<double> rstd;
         for (const double variance : given.at("running_var"))
           rstd.push_back(1 / std::sqrt(variance + given.at("epsilon")[0]));
         const Tape::Value beta = t.input({4}, std::vector<double>(4));
         const Tape::Value deviation = t.subtract(v.at("x"), channels(t, t.input({4}, mean), 3, 4, 5));
         const Tape::Value scale = t.multiply(v.at("gamma"), t.input({4}, rstd));
         return {{"y", t.add(t.multiply(deviation, channels(t, scale, 3, 4, 5)), channels(t, beta, 3, 4, 5))},
                 {"beta", beta}};
       }});
  list.push_back({"groupnorm_bwd", {3, 2, 2, 5}, [](Tape& t, const Values& v, const Numbers&) -> Values {
                    const Tape::Value rows = t.reshape(v.at("x"), {6, 10});
                    const Tape::Value y = t.reshape(normalized(t, rows, double(1e-5F), true), {3, 4, 5});
                    const Tape::Value beta = t.input({2, 2}, std::vector<double>(4));
                    const Tape::Value scaled = t.multiply(y, channels(t, v.at("gamma"), 3, 4, 5));
                    return {{"y", t.add(scaled, channels(t, beta, 3, 4, 5))}, {"beta", beta}};
                  }});
  list.push_back({"dropout_bwd", {50}, [](Tape& t, const Values&, const Numbers& given) -> Values {
                    const auto words = [&](const char* name) {
                      return std::array{uint32_t(given.at(name)[0]), uint32_t(given.at(name)[1])};
                    };
                    const auto seed = words("seed"), offset = words("offset");
                    const double p = given.at("p")[0];
                    std::vector<double> factor;
                    for (int64_t i = 0; i < 50; ++i)
                      factor.push_back(
                          DropoutFwd::keeps(float(p), seed.data(), offset.data(), i) ? 1 / (1 - p) : 0);
                    const Tape::Value x = t.input({50}, std::vector<double>(50));
                    return {{"y", t.multiply(x, t.input({50}, factor))}, {"x", x}};
                  }});
  list.push_back({"sh_bwd", {9, 4}, [](Tape& t, const Values& v, const Numbers&) -> Values {
                    Tape::Value y = t.input({16, 9}, std::vector<double>(16 * 9));
                    for (const ShFwd::Term& term : ShFwd::terms_of_basis()) {
                      Tape::Value product = t.input({9}, std::vector<double>(9, term.factor));
                      const int powers[] = {term.px, term.py, term.pz};
                      for (int64_t axis = 0; axis < 3; ++axis) {
                        std::vector<int64_t> from;
                        for (int64_t i = 0; i < 9; ++i) from.push_back(axis * 9 + i);
                        for (int k = 0; k < powers[axis]; ++k)
                          product = t.multiply(product, t.gather(v.at("directions"), {9}, from));
                      }
                      std::vector<int64_t> to(16 * 9, -1);
                      for (int64_t i = 0; i < 9; ++i) to[size_t(term.output * 9 + i)] = i;
                      y = t.add(y, t.gather(product, {16, 9}, to));
                    }
                    return {{"basis", y}};
                  }});
  const MlpFwd::Shape mlp = {.n = 8, .in = 5, .width = 7, .hidden = 2, .out = 3, .logistic = 1};
  list.push_back({"mlp_bwd", {8, 5, 7, 2, 3, 1}, [mlp](Tape& t, const Values& v, const Numbers&) -> Values {
                    Tape::Value x = v.at("x");
                    for (int64_t layer = 0; layer < mlp.layers(); ++layer) {
                      std::vector<int64_t> from;
                      for (int64_t i = mlp.weight_begin(layer); i < mlp.weight_begin(layer + 1); ++i)
                        from.push_back(i);
                      x = t.matmul(t.gather(v.at("weights"), {mlp.to(layer), mlp.from(layer)}, from), x);
                      x = activation_of(t, x, layer < mlp.hidden ? activation::relu : activation::sigmoid);
                    }
                    return {{"y", x}};
                  }});
  for (const Conv2dShape& s : {Conv2dShape{2, 1, 3, 4, 6, 5, 3, 3, 1, 1, 1, 1, 1, 1, 0},
                               Conv2dShape{1, 2, 2, 3, 7, 8, 3, 2, 2, 1, 1, 0, 1, 2, 0},
                               Conv2dShape{1, 2, 2, 3, 5, 4, 3, 3, 2, 1, 2, 3, 1, 2, 0, PadShape::replicate},
                               Conv2dShape{1, 2, 2, 3, 5, 4, 3, 3, 2, 1, 2, 3, 1, 2, 0, PadShape::circular},
                               Conv2dShape{1, 2, 2, 3, 5, 4, 3, 3, 2, 1, 2, 3, 1, 2, 0, PadShape::reflect},
                               Conv2dShape{2, 2, 2, 3, 5, 4, 3, 3, 2, 1, 2, 3, 1, 2, 0, PadShape::mean}})
    list.push_back({"conv2d_bwd",
                    {s.n, s.groups, s.c, s.k, s.h, s.w, s.r, s.s, s.stride_y, s.stride_x, s.pad_y, s.pad_x,
                     s.dilation_y, s.dilation_x, s.nhwc, s.border},
                    [s](Tape& t, const Values& v, const Numbers&) -> Values {
                      const Tape::Value b =
                          t.input({s.out_channels()}, std::vector<double>(size_t(s.out_channels())));
                      return {{"y", conv2d(t, s, v.at("x"), v.at("w"), b)}, {"b", b}};
                    }});
  for (const int64_t kind : {0, 1, 2}) {
    const PoolShape s = {2, 2, 6, 7, 3, 2, 2, 2, 1, 0, kind, 0};
    list.push_back({"pool_bwd",
                    {s.n, s.c, s.h, s.w, s.r, s.s, s.stride_y, s.stride_x, s.pad_y, s.pad_x, s.kind, s.nhwc},
                    [s](Tape& t, const Values& v, const Numbers&) -> Values {
                      const int64_t outputs = s.n * s.c * s.oh() * s.ow();
                      std::vector<int64_t> best, all;
                      std::vector<double> divisor;
                      for (int64_t o = 0; o < outputs; ++o) {
                        const int64_t plane = o / (s.oh() * s.ow()), i = o / s.ow() % s.oh(), j = o % s.ow();
                        const auto down = s.rows(i), across = s.columns(j);
                        int64_t largest = -1;
                        for (int64_t u = 0; u < s.r; ++u)
                          for (int64_t k = 0; k < s.s; ++k) {
                            const int64_t row = i * s.stride_y - s.pad_y + u,
                                          column = j * s.stride_x - s.pad_x + k;
                            const bool in = row >= down.begin && row < down.end && column >= across.begin &&
                                            column < across.end;
                            const int64_t at = in ? plane * s.h * s.w + row * s.w + column : -1;
                            all.push_back(at);
                            if (in && (largest < 0 ||
                                       t.data(v.at("x"))[size_t(at)] > t.data(v.at("x"))[size_t(largest)]))
                              largest = at;
                          }
                        best.push_back(largest);
                        divisor.push_back(double(s.divisor(down, across)));
                      }
                      if (s.is_max()) return {{"y", t.gather(v.at("x"), {outputs}, best)}};
                      const Tape::Value sums = t.sum(t.gather(v.at("x"), {outputs, s.r * s.s}, all));
                      return {{"y", t.divide(sums, t.input({outputs}, divisor))}};
                    }});
  }
  for (const int64_t kind :
       {PadShape::zeros, PadShape::replicate, PadShape::circular, PadShape::reflect, PadShape::mean}) {
    const PadShape s = {2, 3, 4, 2, 1, kind};
    list.push_back(
        {"pad2d_bwd",
         {s.planes, s.h, s.w, s.pad_y, s.pad_x, s.kind},
         [s](Tape& t, const Values&, const Numbers&) -> Values {
           const int64_t outputs = s.planes * s.oh() * s.ow(), size = s.h * s.w;
           const Tape::Value x = t.input({s.planes * size}, std::vector<double>(size_t(s.planes * size)));
           std::vector<int64_t> pixel, all, plane_of_border;
           for (int64_t i = 0; i < s.planes * size; ++i) all.push_back(i);
           for (int64_t o = 0; o < outputs; ++o) {
             const int64_t plane = o / (s.oh() * s.ow()), row = o / s.ow() % s.oh() - s.pad_y,
                           column = o % s.ow() - s.pad_x;
             const bool copied = s.inside(row, column) || s.copies();
             pixel.push_back(copied ? plane * size + s.source(row, s.h) * s.w + s.source(column, s.w) : -1);
             plane_of_border.push_back(!copied && s.kind == PadShape::mean ? plane : -1);
           }
           const Tape::Value means = t.scale(t.sum(t.gather(x, {s.planes, size}, all)), 1 / double(size));
           return {{"y", t.add(t.gather(x, {outputs}, pixel), t.gather(means, {outputs}, plane_of_border))},
                   {"x", x}};
         }});
  }
  return list;
}

}  // namespace klab::gradients
