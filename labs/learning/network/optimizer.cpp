#include "labs/learning/network/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "reference/adam/adam.h"
#include "reference/adamw/adamw.h"
#include "reference/momentum/momentum.h"
#include "reference/nadam/nadam.h"
#include "reference/nesterov/nesterov.h"
#include "reference/sgd/sgd.h"

namespace klab::learning {

Optimizer::Optimizer(Parameters& parameters, const OptimizerSettings& settings)
    : parameters_(parameters), settings_(settings) {
  const std::vector<std::string> names = {"sgd", "momentum", "nesterov", "adam", "adamw", "nadam"};
  if (std::ranges::find(names, settings.name) == names.end())
    throw std::invalid_argument(
        fmt::format("no optimizer is called {}: take one of {}", settings.name, fmt::join(names, ", ")));
  for (const bool decays : {false, true}) {
    const int64_t n = parameters.group(decays).size;
    state_[decays].m = Array<float>(n);
    state_[decays].v = Array<float>(n);
  }
}

void Optimizer::calls(std::vector<PlannedCall>& list) const {
  for (const bool decays : {false, true}) {
    const int64_t n = parameters_.group(decays).size;
    const std::string size = fmt::format("{} parameters", n), &name = settings_.name;
    if (name == "sgd") list.push_back(planned<Sgd>({n, 1}, size));
    if (name == "momentum") list.push_back(planned<Momentum>({n, 1, 1}, size));
    if (name == "nesterov") list.push_back(planned<Nesterov>({n, 1}, size));
    if (name == "adam") list.push_back(planned<Adam>({n, std::max<int64_t>(n, 1), 0}, size));
    if (name == "adamw") list.push_back(planned<Adamw>({n, 1}, size));
    if (name == "nadam") list.push_back(planned<Nadam>({n, 1}, size));
  }
}

// Implements Pascanu, Mikolov and Bengio, "On the difficulty of training recurrent neural networks", 2013,
// algorithm 1.
double Optimizer::clip() {
  double sum = 0;
  for (const bool decays : {false, true})
    for (const float g : parameters_.group(decays).gradients) sum += double(g) * double(g);
  const double norm = std::sqrt(sum);
  if (settings_.clip > 0 && norm > settings_.clip)
    for (const bool decays : {false, true})
      for (float& g : parameters_.group(decays).gradients) g *= float(settings_.clip / norm);
  return norm;
}

template <class Contract>
void Optimizer::run(const Pass& pass, bool decays, const float* hyper) {
  Parameters::Group& group = parameters_.group(decays);
  State& state = state_[decays];
  typename Contract::template Args<float> args{};
  args.shape.n = group.size;
  args.hyper = hyper;
  args.gradient = group.gradients.data();
  args.param = group.values.data();
  if constexpr (requires { args.shape.tensors; }) args.shape.tensors = 1;
  if constexpr (requires { args.shape.group; }) args.shape.group = std::max<int64_t>(group.size, 1);
  if constexpr (requires { args.shape.corrected; }) args.shape.corrected = 1;
  if constexpr (requires { args.m; }) args.m = state.m.data();
  if constexpr (requires { args.v; }) args.v = state.v.data();
  if constexpr (requires { args.steps; }) args.steps = &state.steps;
  pass.profile.run<Contract>(std::string(Contract::name), pass.plan, args);
}

double Optimizer::step(const Pass& pass, double factor) {
  const double norm = clip();
  for (const bool decays : {false, true}) {
    if (parameters_.group(decays).size == 0) continue;
    const float decay = decays ? float(settings_.decay) : 0;
    // adam's hyperparameters are in the same order.
    const float hyper[] = {float(settings_.rate * factor), float(settings_.beta1), float(settings_.beta2),
                           float(settings_.epsilon), decay};
    if (settings_.name == "sgd") run<Sgd>(pass, decays, hyper);
    if (settings_.name == "momentum") run<Momentum>(pass, decays, hyper);
    if (settings_.name == "nesterov") run<Nesterov>(pass, decays, hyper);
    if (settings_.name == "adam") run<Adam>(pass, decays, hyper);
    if (settings_.name == "adamw") run<Adamw>(pass, decays, hyper);
    if (settings_.name == "nadam") run<Nadam>(pass, decays, hyper);
  }
  return norm;
}

std::vector<Kept> Optimizer::kept() {
  std::vector<Kept> list;
  for (const bool decays : {false, true}) {
    const std::string name = decays ? "optimizer.decayed" : "optimizer.others";
    list.push_back({name + ".m", {parameters_.group(decays).size}, state_[decays].m.data()});
    list.push_back({name + ".v", {parameters_.group(decays).size}, state_[decays].v.data()});
  }
  return list;
}

}  // namespace klab::learning
