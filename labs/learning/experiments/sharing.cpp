// The savings from sharing weights: parameters of layers between a picture and the picture computed from it.
// Nothing is allocated.
#include <fmt/format.h>

#include <cmath>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/convolution.h"
#include "labs/learning/network/linear.h"

namespace klab::learning::sharing_experiment {
namespace {

const Claim kUnits{.id = "sharing.units",
                   .said = "a 256×256 RGB image to 1000 units is 200 M parameters",
                   .source = "course",
                   .metric = "weights",
                   .rule = between(190e6, 210e6),
                   .kind = ClaimKind::exact};
const Claim kPicture{.id = "sharing.picture",
                     .said = "a layer from picture to picture of equal size, without sharing, is 4 G",
                     .source = "course",
                     .metric = "weights",
                     .rule = between(3.6e9, 4.4e9),
                     .kind = ClaimKind::exact,
                     .on = "the channels"};
const Claim kFilter{.id = "sharing.filter",
                    .said = "a 3×3 filter is 9",
                    .source = "course",
                    .metric = "weights",
                    .rule = between(9, 9),
                    .kind = ClaimKind::exact};

/// Returns the weights of a layer without its biases, counted from the tensors that it requests.
template <class Layer, class... More>
int64_t weights(const Dims& in, More... more) {
  Parameters p;
  const Layer layer(p, "layer", in, more...);
  int64_t n = 0;
  for (const Tensor& t : p.tensors())
    if (t.decays) n += t.size();
  return n;
}

Outcome run(uint64_t) {
  Outcome out{.heads = {"side of the picture", "to 1000 units", "to a picture, one channel", "3x3 kernel"},
              .x = "side of the picture",
              .y = "weights",
              .log_x = true,
              .log_y = true};
  Curve units{"linear, 3 channels to 1000 units", {}}, picture{"linear, picture to picture, 1 channel", {}},
      kernel{"3x3 kernel, 1 channel", {}};
  for (const int64_t side : {16, 32, 64, 128, 256}) {
    const int64_t a = weights<Linear>({3, side, side}, int64_t{1000}),
                  b = weights<Linear>({1, side, side}, side * side),
                  c = weights<Convolution>({1, side, side}, int64_t{1}, int64_t{3}, int64_t{1});
    units.points.emplace_back(side, a);
    picture.points.emplace_back(side, b);
    kernel.points.emplace_back(side, c);
    out.rows.push_back({std::to_string(side), std::to_string(a), std::to_string(b), std::to_string(c)});
  }
  out.curves = {units, picture, kernel};
  const double a = units.points.back().second, b = picture.points.back().second,
               c = kernel.points.back().second;
  const auto colored = double(weights<Convolution>({3, 256, 256}, int64_t{1}, int64_t{3}, int64_t{1}));
  out.decided = {
      decide(kUnits, a, fmt::format("{:.1f} M", a / 1e6)),
      decide(kPicture, {{"one to one", {b}}, {"three to one", {3 * b}}, {"three to three", {9 * b}}},
             fmt::format(
                 "{:.2f} G from one channel to one; {:.2f} G from three to one, {:.2f} G from three to three",
                 b / 1e9, 3 * b / 1e9, 9 * b / 1e9)),
      decide(kFilter, c,
             fmt::format("{:.0f} from one channel to one; {:.0f} from three to one", c, colored))};
  return out;
}

const ExperimentRegistrar registrar(
    {"sharing", "Weights of layers with and without sharing", run, nullptr, {kUnits, kPicture, kFilter}});

}  // namespace
}  // namespace klab::learning::sharing_experiment
