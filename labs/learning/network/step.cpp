#include "labs/learning/network/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "harness/core/registry.h"
#include "harness/program/measure_ops.h"
#include "reference/adam/adam.h"
#include "reference/adamw/adamw.h"
#include "reference/all_finite/all_finite.h"
#include "reference/axpy/axpy.h"
#include "reference/clip_norm/clip_norm.h"
#include "reference/momentum/momentum.h"
#include "reference/nadam/nadam.h"
#include "reference/nesterov/nesterov.h"
#include "reference/round_narrow/round_narrow.h"
#include "reference/sgd/sgd.h"
#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"
#include "reference/unscale/unscale.h"

namespace klab::learning {
namespace {

/// Whose rounding is counted together.
enum Counted : int64_t { kOfGradients, kOfOthers };

/// Rounds n numbers as if they were stored in the precision; does nothing in f32.
void store(const Pass& pass, const Handle<float>& from, const Handle<float>& to, int64_t n, Counted counted) {
  if (pass.precision == Precision::f32) return;
  const int64_t format = RoundNarrow::number_of(pass.precision == Precision::f16 ? kF16 : kBf16);
  pass.ops.call<RoundNarrow>({n, format},
                             {.x = from, .factor = pass.one, .y = to, .lost = pass.lost.from(3 * counted)});
}

/// Throws ShortOfMemory if a GPU has less free memory than the tensors need.
void require_room(const Memory& memory, const char* whose) {
  const Backend& b = memory.backend();
  if (b.in_host_memory || !b.available) return;
  if (const int64_t free = b.available(); memory.bytes() > free)
    throw ShortOfMemory(
        fmt::format("--backend {}: {} needs {:.2f} GB of the GPU's memory and {:.2f} GB are free: lower "
                    "--batch, or give --accumulate 2",
                    b.name, whose, double(memory.bytes()) * 1e-9, double(free) * 1e-9));
}

}  // namespace

// ---- Forward. ----

void Network::forward(const Pass& pass) const {
  for (size_t i = 0; i < modules_.size(); ++i) forward(pass, i);
}

void Network::forward(const Pass& pass, size_t i) const {
  modules_[i]->forward(pass, batch_, outputs_[i], outputs_[i + 1]);
  if (i + 1 < modules_.size())  // logits stay in float
    store(pass, outputs_[i + 1], outputs_[i + 1], batch_ * volume(modules_[i]->out()), kOfOthers);
}

// ---- Loss. ----

void Step::loss(Ops& ops) const {
  ops.call<SoftmaxXentBwd>({network_.batch(), volume(network_.out())}, {.logits = network_.output(),
                                                                        .labels = labels_,
                                                                        .d_loss = d_loss_,
                                                                        .loss = losses_,
                                                                        .d_logits = d_logits_});
}

void Step::loss_and_gradient(Ops& ops, bool last) const {
  forward(ops, true);
  loss(ops);
  backward(ops, last);
}

// ---- Backward. ----

void Step::backward(Ops& ops, bool last) const {
  const Pass back = pass(ops, true);
  store(back, d_logits_, d_logits_, network_.batch() * volume(network_.out()), kOfGradients);
  network_.backward(back, d_logits_);
  const int64_t n = network_.parameters().size();
  const Handle<float>& gradient = network_.parameters().gradient();
  if (settings_.parts > 1) {
    ops.call<Axpy>({n}, {.a = one(), .x = last ? sum_ : gradient, .y = last ? gradient : sum_});
    if (last) ops.fill("clear sums", sum_, 0, n * int64_t(sizeof(float)));
    // On the backend as well, so that the host waits once, at the end of a step.
    const int64_t batch = network_.batch();
    ops.call<Axpy>({batch}, {.a = one(), .x = last ? loss_sum_ : losses_, .y = last ? losses_ : loss_sum_});
    if (last) ops.fill("clear sums", loss_sum_, 0, batch * int64_t(sizeof(float)));
  }
  if (last && settings_.ranks == 1) check(ops);
}

void Step::check(Ops& ops) const {
  if (!checks()) return;
  const int64_t n = network_.parameters().size();
  const Handle<float>& gradient = network_.parameters().gradient();
  const Handle<int32_t> first = number<int32_t>(offsetof(Numbers, not_finite));
  store(pass(ops, true), gradient, gradient, n, kOfGradients);
  ops.call<AllFinite>({n}, {.p = gradient, .first = first});
  ops.call<Unscale>({n},
                    {.scale = number<float>(offsetof(Numbers, scale)), .first = first, .gradient = gradient});
}

void Network::backward(const Pass& pass, const Handle<float>& d_output) const {
  Pass again = pass;
  again.again = true;
  Handle<float> d_y = d_output;
  for (size_t i = modules_.size(); i-- > 0; d_y = d_inputs_[i]) {
    // The last segment is still where the forward left it.
    if (keep_ > 1 && is_kept(i) && i + 1 < modules_.size())
      for (size_t k = i / keep_ * keep_; k < i; ++k) forward(again, k);
    modules_[i]->backward(pass, batch_, outputs_[i], d_y, d_inputs_[i]);
    store(pass, d_inputs_[i], d_inputs_[i], batch_ * volume(modules_[i]->in()), kOfGradients);
  }
}

// ---- Optimizer. ----

void Step::update(Ops& ops) const {
  const Parameters& parameters = network_.parameters();
  if (settings_.optimizer.clip > 0)
    ops.call<ClipNorm>({parameters.size()}, {.limit = number<float>(offsetof(Numbers, clip)),
                                             .gradient = parameters.gradient(),
                                             .norm = number<float>(offsetof(Numbers, norm))});
  for (const bool decays : {false, true})
    if (parameters.group(decays).size > 0) (this->*update_)(ops, decays);
  const Parameters::Group& matrices = parameters.group(true);
  if (masters_.place.exists()) store(pass(ops, true), masters_.place, matrices.w, matrices.size, kOfOthers);
}

template <class Contract>
void Step::update_by(Ops& ops, bool decays) const {
  const Parameters::Group& group = network_.parameters().group(decays);
  const State& state = state_[decays];
  typename Contract::Shape shape{};
  shape.n = group.size;
  if constexpr (requires { shape.tensors; }) shape.tensors = 1;
  if constexpr (requires { shape.group; }) shape.group = group.size;
  if constexpr (requires { shape.corrected; }) shape.corrected = 1;
  typename Contract::template Args<float> args{};
  args.hyper = number<float>(offsetof(Numbers, hyper)).from(int64_t(decays) * optimizer::kHypers);
  args.gradient = group.d_w;
  args.param = decays && masters_.place.exists() ? masters_.place : group.w;
  if constexpr (requires { args.m; }) args.m = state.m.place;
  if constexpr (requires { args.v; }) args.v = state.v.place;
  if constexpr (requires { args.steps; }) args.steps = state.steps.place;
  ops.call<Contract>(shape, args);
}

const std::map<std::string, Step::Update>& Step::updates() {
  static const std::map<std::string, Update> all = {
      {"sgd", &Step::update_by<Sgd>},           {"momentum", &Step::update_by<Momentum>},
      {"nesterov", &Step::update_by<Nesterov>}, {"adam", &Step::update_by<Adam>},
      {"adamw", &Step::update_by<Adamw>},       {"nadam", &Step::update_by<Nadam>}};
  return all;
}

// ---- What programs need: tensors, and numbers of the host. ----

void Network::declare(Memory& memory, int64_t n, int64_t keep) {
  batch_ = n;
  keep_ = size_t(keep);
  activation_bytes_ = 0;
  d_inputs_.clear();
  parameters_.declare(memory);
  outputs_ = {memory.tensor<float>("input", n, volume(in_))};
  const auto tensor = [&](const std::string& name, int64_t numbers) {
    activation_bytes_ += numbers * int64_t(sizeof(float));
    return memory.tensor<float>(name, 1, numbers);
  };
  int64_t widest = 0;
  std::vector<int64_t> within(keep_, 0);  // largest output at each position within a segment
  for (size_t i = 0; i < modules_.size(); ++i) {
    widest = std::max(widest, n * volume(modules_[i]->in()));
    within[i % keep_] = std::max(within[i % keep_], n * volume(modules_[i]->out()));
  }
  std::vector<Handle<float>> between;
  if (keep_ > 1)
    for (const int64_t numbers : within) between.push_back(tensor("a segment's output", numbers));
  for (size_t i = 0; i < modules_.size(); ++i) {
    Module& m = *modules_[i];
    outputs_.push_back(is_kept(i) ? tensor(m.name() + ".output", n * volume(m.out())) : between[i % keep_]);
    // Only the preceding module needs the gradient of an input, so two arrays suffice when memory is scarce.
    d_inputs_.push_back(keep_ > 1 && i > 1
                            ? d_inputs_[i - 2]
                            : tensor(m.name() + ".d_input", keep_ > 1 ? widest : n * volume(m.in())));
    m.declare(memory, n);
  }
}

std::vector<PlannedCall> Network::plan_calls(int64_t n, std::vector<LayerWork>& work) {
  Memory memory;
  declare(memory, n, 1);
  std::vector<PlannedCall> calls;
  const auto measured = [&](const auto& pass) {
    MeasureOps ops(memory);
    pass(ops);
    double sum = 0;
    for (const PlannedCall& c : ops.calls()) sum += c.times * work_of_call(c);
    add_other_calls(ops, calls);
    return sum;
  };
  work.clear();
  for (size_t i = 0; i < modules_.size(); ++i)
    work.push_back({.forward = measured([&](Ops& ops) {
                      forward({ops, true}, i);
                    }),
                    .backward = measured([&](Ops& ops) {
                      modules_[i]->backward({ops, true}, n, outputs_[i], outputs_[i + 1], d_inputs_[i]);
                    }),
                    .has_weights = tensors_[i] > (i > 0 ? tensors_[i - 1] : 0)});
  measured([&](Ops& ops) { forward({ops}); });
  return calls;
}

void Network::keep_layers(size_t begin, size_t end) {
  const size_t first = begin > 0 ? tensors_[begin - 1] : 0, last = tensors_[end - 1];
  in_ = modules_[begin]->in();
  const auto at = [](auto& list, size_t i) { return list.begin() + std::ptrdiff_t(i); };
  modules_.erase(at(modules_, end), modules_.end());
  modules_.erase(modules_.begin(), at(modules_, begin));
  parameters_.keep(first, last);
  tensors_.clear();  // only a whole network is split
}

void Network::build(int64_t n, uint64_t seed, int64_t keep, const Backend& backend) {
  memory_ = std::make_unique<Memory>(backend);
  declare(*memory_, n, keep);
  require_room(*memory_, "the network");
  memory_->allocate();
  for (const auto& m : modules_) m->initialize(*memory_, seed);
  memory_->push();
}

void Network::build_for_inference(int64_t n, int64_t most, const Backend& backend) {
  batch_ = n;
  memory_ = std::make_unique<Memory>(backend);
  parameters_.declare(*memory_, false);
  int64_t widest = 0;
  for (const auto& m : modules_) widest = std::max(widest, volume(m->out()));
  outputs_ = {memory_->tensor<float>("input", n, volume(in_))};
  const std::array<Handle<float>, 2> turns = {memory_->tensor<float>("outputs", n, widest),
                                              memory_->tensor<float>("next outputs", n, widest)};
  for (size_t i = 0; i < modules_.size(); ++i) {
    outputs_.push_back(turns[i % 2]);
    modules_[i]->declare(*memory_, n);
  }
  MeasureOps inference(*memory_);
  forward({inference});
  inference_bytes_ = inference.bytes_used();
  const Backend& b = memory_->backend();
  const int64_t free = b.in_host_memory || !b.available ? 0 : b.available();
  const int64_t room = most > 0 && free > 0 ? std::min(most, free) : std::max(most, free);
  if (room > 0 && inference_bytes_ > room)
    throw ShortOfMemory(fmt::format("batches of {} take {:.2f} MB, and there are {:.2f} MB", n,
                                    double(inference_bytes_) * 1e-6, double(room) * 1e-6));
  memory_->allocate(inference.used());
  for (const auto& m : modules_) m->initialize(*memory_, 1);
  memory_->push();
}

std::vector<Kept> Network::kept() const {
  std::vector<Kept> list;
  for (const auto& m : modules_)
    for (const Kept& k : m->kept()) list.push_back(k);
  return list;
}

std::vector<PlannedCall> Network::calls() const {
  MeasureOps training(*memory_), inference(*memory_);
  if (inference_bytes_ > 0) {
    forward({inference});
    return inference.calls();
  }
  forward({training, true});
  backward({training, true}, output());  // gradients have the sizes of outputs
  forward({inference});
  std::vector<PlannedCall> list = training.calls();
  add_other_calls(inference, list);
  return list;
}

void Network::write(const float* x, uint64_t seed, uint64_t draw) {
  memory_->write(outputs_.front(), x, size_t(batch_ * volume(in_)) * sizeof(float));
  for (const auto& m : modules_) m->write(*memory_, seed, draw);
}

std::vector<float> Network::outputs() const {
  std::vector<float> values(size_t(batch_ * volume(out())));
  memory_->wait();
  memory_->read(values.data(), output(), values.size() * sizeof(float));
  return values;
}

std::span<float> Network::values(size_t i) const {
  return {static_cast<float*>(outputs_[i + 1]), size_t(batch_ * volume(modules_[i]->out()))};
}

std::span<float> Network::gradients(size_t i) const {
  return {static_cast<float*>(d_inputs_[i]), size_t(batch_ * volume(modules_[i]->in()))};
}

Step::Step(Network& network, const StepSettings& settings)
    : network_(network), settings_(settings), memory_(network.memory().backend()) {
  const auto update = updates().find(settings.optimizer.name);
  if (update == updates().end()) {
    std::string names;
    for (const auto& [name, call] : updates()) names += (names.empty() ? "" : ", ") + name;
    throw std::invalid_argument(
        fmt::format("no optimizer is called {}: take one of {}", settings.optimizer.name, names));
  }
  update_ = update->second;
  const int64_t n = network.batch();
  numbers_ = memory_.tensor<int32_t>("numbers", 1, int64_t(sizeof(Numbers) / sizeof(int32_t)));
  labels_ = memory_.tensor<int32_t>("labels", 1, n);
  d_loss_ = memory_.tensor<float>("d_loss", 1, n);
  losses_ = memory_.tensor<float>("losses", 1, n);
  d_logits_ = memory_.tensor<float>("d_logits", n, volume(network.out()));
  sum_ = memory_.tensor<float>("sum of gradients", 1, settings.parts > 1 ? network.parameters().size() : 0);
  loss_sum_ = memory_.tensor<float>("sum of losses", 1, settings.parts > 1 ? n : 0);
  for (const bool decays : {false, true}) {
    const int64_t size = network.parameters().group(decays).size;
    State& state = state_[decays];
    state.m.declare(memory_, "m", size);
    state.v.declare(memory_, "v", size);
    state.steps.declare(memory_, "steps", 1);
  }
  if (settings.precision != Precision::f32 && settings.rounds_weights)
    masters_.declare(memory_, "masters", network.parameters().group(true).size);
  require_room(memory_, "the optimizer");
  memory_.allocate();
  round_masters();
  push();
}

std::vector<PlannedCall> Step::calls() const {
  MeasureOps step(memory_), evaluation(memory_);
  loss_and_gradient(step);
  if (settings_.ranks > 1) check(step);
  update(step);
  forward(evaluation, false);
  std::vector<PlannedCall> list = step.calls();
  add_other_calls(evaluation, list);
  return list;
}

Pass Step::pass(Ops& ops, bool training) const {
  return {ops, training, settings_.precision, one(), number<int32_t>(offsetof(Numbers, lost))};
}

void Step::write(const float* x, const int32_t* labels, uint64_t seed, uint64_t draw, double scale,
                 int64_t part) {
  const auto n = size_t(network_.batch());
  network_.write(x, seed, draw);
  memory_.write(labels_, labels, n * sizeof(int32_t));
  const std::vector<float> weights(
      n, 1.0F / float(n) * (float(scale) / float(settings_.parts * settings_.ranks)));
  memory_.write(d_loss_, weights.data(), n * sizeof(float));
  if (part > 0) return;  // what the parts count is summed
  host_numbers_.scale = float(scale);
  host_numbers_.clip = float(settings_.optimizer.clip);
  memory_.write(numbers_, &host_numbers_, sizeof host_numbers_);
}

void Step::write_rate(double factor) {
  const OptimizerSettings& o = settings_.optimizer;
  for (const bool decays : {false, true}) {
    const float hyper[] = {float(o.rate * factor), float(o.beta1), float(o.beta2), float(o.epsilon),
                           decays ? float(o.decay) : 0};
    std::ranges::copy(hyper, host_numbers_.hyper[decays]);
  }
  memory_.write(numbers_, &host_numbers_, sizeof host_numbers_);
}

std::vector<float> Step::losses() const {
  std::vector<float> values(size_t(network_.batch()));
  memory_.wait();
  memory_.read(values.data(), losses_, values.size() * sizeof(float));
  return values;
}

double Step::mean_loss() const {
  double sum = 0;
  for (const float loss : losses()) sum += double(loss);
  return sum / double(network_.batch() * settings_.parts);
}

Step::Numbers Step::numbers() const {
  Numbers numbers;
  memory_.wait();
  memory_.read(&numbers, numbers_, sizeof numbers);
  return numbers;
}

Lost Step::lost() const {
  const Numbers n = numbers();
  return {.numbers = n.lost[0], .to_zero = n.lost[1], .infinite = n.lost[2]};
}

std::vector<Kept> Step::kept() {
  std::vector<Kept> list;
  for (const bool decays : {false, true}) {
    const std::string name = decays ? "optimizer.decayed" : "optimizer.others";
    list.push_back({name + ".m", {state_[decays].m.host.size()}, state_[decays].m.host.data()});
    list.push_back({name + ".v", {state_[decays].v.host.size()}, state_[decays].v.host.data()});
  }
  return list;
}

void Step::pull() const {
  network_.memory().pull();
  memory_.pull();
}

void Step::push() {
  network_.memory().push();
  memory_.push();
}

void Step::show_masters() {
  std::ranges::copy(masters_.host, network_.parameters().group(true).values.begin());
}

void Step::round_masters() {
  if (!masters_.place.exists()) return;
  const std::span<float> weights = network_.parameters().group(true).values;
  std::ranges::copy(weights, masters_.host.begin());
  Lost of_weights;
  round_to(settings_.precision, weights.data(), int64_t(weights.size()), of_weights);
}

}  // namespace klab::learning
