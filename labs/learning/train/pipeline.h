// A network split by layers: each rank holds some of them, and the parts of a batch pass through the ranks one after the other
// (Huang et al., "GPipe", 2019).
//
//   tick      0     1     2     3     4     5        four parts, two ranks
//   rank 0    F0    F1    F2 B0 F3 B1    B2    B3    F: forward, B: backward
//   rank 1          F0 B0 F1 B1 F2 B2 F3 B3
//
// A rank keeps the inputs of its parts and computes their outputs again ahead of a backward, so its memory is that of one part. The
// last rank needs no second pass. Ranks meet at the end of every tick: outputs go to the next rank, gradients to the one before.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/program/run_ops.h"
#include "labs/learning/network/step.h"
#include "labs/radiance/ranks/exchange.h"

namespace klab::learning {

/// Returns where each rank's layers begin, and their number at the end: such that the rank with most work has least. `work` is a
/// forward pass and a backward of each layer, of which all ranks but the last repeat the forward; `weights` says which layers have
/// parameters, and every rank gets one of these. Throws std::invalid_argument if there are fewer than ranks.
std::vector<size_t> split_layers(std::span<const LayerWork> work, int ranks);

class LayerPipeline {
 public:
  using Run = std::function<void(const std::string& program, const RunOps::Body& body)>;

  /// The layers of this rank, and their step, which takes `parts` parts. Both must outlive it.
  LayerPipeline(Network& network, Step& step, Carrier carrier, int64_t parts);

  bool first() const { return carrier_.rank == 0; }
  bool last() const { return carrier_.rank + 1 == carrier_.size; }

  /// Collective: computes the gradient of this rank's parameters for a batch. The first rank reads `values`, the last `labels`, and
  /// it returns the mean of the losses; others return 0. `draw` is the first part's.
  double gradient(const float* values, const int32_t* labels, uint64_t seed, uint64_t draw, const Run& run,
                  Profile& profile);
  /// Collective: passes `blocks` batches forward, without training. The first rank asks `values` for each, the last gives its
  /// number to `seen` when its outputs are there, and has asked `labels`.
  struct Blocks {
    int64_t count = 0;
    std::function<const float*(int64_t block)> values;
    std::function<const int32_t*(int64_t block)> labels;
    std::function<void(int64_t block)> seen;
  };
  void forward(const Blocks& blocks, const Run& run, Profile& profile);

 private:
  int64_t input_size() const { return network_.batch() * volume(network_.in()); }
  int64_t output_size() const { return network_.batch() * volume(network_.out()); }
  /// What a rank sends and receives at the end of a tick.
  struct Meeting {
    bool to_next = false, to_previous = false, from_previous = false, from_next = false;
  };
  void meet(const Meeting& m, Profile& profile);
  const float* received_input() const { return received_.data(); }
  const float* received_gradient() const { return received_.data() + input_size(); }

  Network& network_;
  Step& step_;
  Carrier carrier_;
  int64_t parts_;
  std::vector<float> sent_, received_;  // outputs and the input's gradient; inputs and the outputs' gradient
};

}  // namespace klab::learning
