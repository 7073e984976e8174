#include "labs/learning/train/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace klab::learning {

std::vector<size_t> split_layers(std::span<const LayerWork> work, int ranks) {
  const size_t layers = work.size(), count = size_t(ranks);
  const auto weighted = size_t(std::ranges::count_if(work, [](const LayerWork& w) { return w.has_weights; }));
  if (weighted < count)
    throw std::invalid_argument(
        fmt::format("--split-layers: {} processes, and the network has {} layers with weights: start at most "
                    "as many processes",
                    ranks, weighted));
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const auto work_of = [&](size_t begin, size_t end, bool is_last) {
    double sum = 0;
    bool weights = false;
    for (size_t i = begin; i < end; ++i) {
      sum += work[i].forward * (is_last ? 1 : 2) + work[i].backward;
      weights = weights || work[i].has_weights;
    }
    return weights ? sum : kNever;
  };
  // most[r][e]: the work of the busiest of r + 1 ranks that share the first e layers; from[r][e]: where the last of them begins.
  std::vector<std::vector<double>> most(count, std::vector<double>(layers + 1, kNever));
  std::vector<std::vector<size_t>> from(count, std::vector<size_t>(layers + 1, 0));
  for (size_t end = 1; end <= layers; ++end) most[0][end] = work_of(0, end, count == 1);
  for (size_t r = 1; r < count; ++r)
    for (size_t end = r + 1; end <= layers; ++end)
      for (size_t begin = r; begin < end; ++begin) {
        const double busiest = std::max(most[r - 1][begin], work_of(begin, end, r + 1 == count));
        if (busiest < most[r][end]) most[r][end] = busiest, from[r][end] = begin;
      }
  std::vector<size_t> begins(count + 1, layers);
  for (size_t r = count; r-- > 0;) begins[r] = r == 0 ? 0 : from[r][begins[r + 1]];
  return begins;
}

LayerPipeline::LayerPipeline(Network& network, Step& step, Carrier carrier, int64_t parts)
    : network_(network), step_(step), carrier_(std::move(carrier)), parts_(parts) {
  sent_.resize(size_t(output_size() + input_size()));
  received_.resize(sent_.size());
}

void LayerPipeline::meet(const Meeting& m, Profile& profile) {
  std::vector<Piece> to(size_t(carrier_.size)), from(size_t(carrier_.size));
  constexpr int64_t kFloat = sizeof(float);
  const auto me = size_t(carrier_.rank);
  if (m.to_next) to[me + 1] = {0, output_size() * kFloat};
  if (m.to_previous) to[me - 1] = {output_size() * kFloat, input_size() * kFloat};
  if (m.from_previous) from[me - 1] = {0, input_size() * kFloat};
  if (m.from_next) from[me + 1] = {input_size() * kFloat, output_size() * kFloat};
  // Waiting for a rank that still computes is most of it.
  profile.time("other ranks", [&] { carrier_.all_to_all(sent_.data(), to, received_.data(), from); });
}

double LayerPipeline::gradient(const float* values, const int32_t* labels, uint64_t seed, uint64_t draw,
                               const Run& run, Profile& profile) {
  const int64_t ranks = carrier_.size, me = carrier_.rank;
  const auto is_part = [&](int64_t part) { return part >= 0 && part < parts_; };
  // The parts whose forward and backward rank r computes at a tick.
  const auto forward_at = [](int64_t r, int64_t tick) { return tick - r; };
  const auto backward_at = [&](int64_t r, int64_t tick) { return tick - (2 * (ranks - 1) - r); };
  std::vector<std::vector<float>> inputs(static_cast<size_t>(parts_));
  const std::vector<int32_t> none(size_t(network_.batch()), 0);
  const auto write = [&](int64_t part) {
    const float* x = first() ? values + part * input_size() : inputs[size_t(part)].data();
    step_.write(x, last() ? labels + part * network_.batch() : none.data(), seed, draw + uint64_t(part), 1,
                part);
  };
  Memory& memory = network_.memory();
  double loss = 0;
  int64_t computed = -1;  // the part whose outputs lie in memory
  for (int64_t tick = 0; tick < parts_ + 2 * (ranks - 1); ++tick) {
    const int64_t f = forward_at(me, tick), b = backward_at(me, tick);
    if (is_part(f)) {
      write(f);
      if (last()) {
        const bool whole = f + 1 == parts_;
        run(whole ? "gradient" : "gradient of a part",
            [&](Ops& ops) { step_.loss_and_gradient(ops, whole); });
        if (whole) loss = step_.mean_loss();
      } else {
        run("forward", [&](Ops& ops) { step_.forward(ops, true); });
        memory.wait();
        memory.read(sent_.data(), network_.output(), size_t(output_size()) * sizeof(float));
      }
      computed = f;
    }
    if (is_part(b) && !last()) {
      const bool whole = b + 1 == parts_;
      // What has come at the end of the tick before.
      if (computed != b) {
        write(b);
        run("forward again", [&](Ops& ops) { network_.forward({ops, true, Precision::f32, {}, {}, true}); });
      }
      computed = b;
      memory.write(step_.d_logits(), received_gradient(), size_t(output_size()) * sizeof(float));
      run(whole ? "backward" : "backward of a part", [&](Ops& ops) { step_.backward(ops, whole); });
      inputs[size_t(b)] = {};
    }
    const bool sends_gradient = !first() && is_part(b);
    if (sends_gradient) {
      memory.wait();
      memory.read(sent_.data() + output_size(), network_.d_input(), size_t(input_size()) * sizeof(float));
    }
    meet({.to_next = !last() && is_part(f),
          .to_previous = sends_gradient,
          .from_previous = !first() && is_part(forward_at(me - 1, tick)),
          .from_next = !last() && is_part(backward_at(me + 1, tick))},
         profile);
    if (const int64_t next = forward_at(me - 1, tick); !first() && is_part(next))
      inputs[size_t(next)].assign(received_input(), received_input() + input_size());
  }
  return loss;
}

void LayerPipeline::forward(const Blocks& blocks, const Run& run, Profile& profile) {
  const int64_t me = carrier_.rank;
  const auto is_block = [&](int64_t block) { return block >= 0 && block < blocks.count; };
  const std::vector<int32_t> none(size_t(network_.batch()), 0);
  Memory& memory = network_.memory();
  for (int64_t tick = 0; tick < blocks.count + carrier_.size - 1; ++tick) {
    const int64_t block = tick - me;
    if (is_block(block)) {
      step_.write(first() ? blocks.values(block) : received_input(),
                  last() ? blocks.labels(block) : none.data(), 1, 0);
      run("evaluation", [&](Ops& ops) {
        step_.forward(ops, false);
        if (last()) step_.loss(ops);
      });
      if (last()) {
        blocks.seen(block);
      } else {
        memory.wait();
        memory.read(sent_.data(), network_.output(), size_t(output_size()) * sizeof(float));
      }
    }
    meet({.to_next = !last() && is_block(block), .from_previous = !first() && is_block(block + 1)}, profile);
  }
}

}  // namespace klab::learning
