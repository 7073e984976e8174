// A network of layers, and one step of its training: forward, loss, backward and optimizer, as programs of ops
// (harness/program/ops.h). step.cpp reads from top to bottom.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/program/plan.h"
#include "labs/learning/network/module.h"
#include "reference/sgd/optimizer_step.h"

namespace klab::learning {

/// A network or its optimizer needs more memory than there is, or than was allowed.
struct ShortOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a layer costs in training, for splitting a network.
struct LayerWork {
  double forward = 0, backward = 0;
  bool has_weights = false;
};

/// A sequence of modules, and the memory between them.
class Network {
 public:
  explicit Network(Dims in) : in_(std::move(in)) {}

  /// Adds a module, constructed from the network's parameters, its name, its input dimensions, and further
  /// arguments.
  template <class M, class... More>
  Network& add(const std::string& name, More... more) {
    modules_.push_back(std::make_unique<M>(parameters_, name, out(), more...));
    tensors_.push_back(parameters_.tensors().size());
    return *this;
  }
  /// Allocates memory for batches of n, and initializes parameters by seed. Only every `keep`-th output
  /// between modules is kept from forward to backward. The others are recomputed, segment by segment (Chen et
  /// al., "Training Deep Nets with Sublinear Memory Cost", 2016). 1 keeps all.
  void build(int64_t n, uint64_t seed, int64_t keep = 1, const Backend& backend = cpu_backend());

  /// Allocates memory for forward passes over batches of n that no backward follows: without gradients, and with two arrays for all
  /// outputs. Throws ShortOfMemory if that takes more than `most` bytes (0: any number) or than a GPU has free.
  void build_for_inference(int64_t n, int64_t most = 0, const Backend& backend = cpu_backend());

  /// Ahead of build(): returns the calls of a step on batches of n, and what each layer costs in it. Allocates nothing that stays.
  std::vector<PlannedCall> plan_calls(int64_t n, std::vector<LayerWork>& work);
  /// Ahead of build(): leaves out all layers but these, with their parameters.
  void keep_layers(size_t begin, size_t end);

  const Dims& in() const { return in_; }
  const Dims& out() const { return modules_.empty() ? in_ : modules_.back()->out(); }
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }
  int64_t batch() const { return batch_; }
  const std::vector<std::unique_ptr<Module>>& modules() const { return modules_; }
  Memory& memory() { return *memory_; }
  const Memory& memory() const { return *memory_; }
  std::vector<Kept> kept() const;
  /// Returns the bytes of outputs and of their gradients.
  int64_t activation_bytes() const { return activation_bytes_; }
  /// Returns the bytes of all tensors that a forward pass of a network built for inference uses.
  int64_t inference_bytes() const { return inference_bytes_; }
  /// Returns the calls of forward and backward, in training and after it, for a plan; of forward alone where no backward follows.
  std::vector<PlannedCall> calls() const;

  /// Writes a batch [batch,in], and what masks are drawn by.
  void write(const float* x, uint64_t seed = 1, uint64_t draw = 0);
  /// Program: the outputs of the batch.
  void forward(const Pass& pass) const;
  /// Program: the gradients of all parameters from that of the outputs.
  void backward(const Pass& pass, const Handle<float>& d_output) const;
  /// Returns where the last module's outputs are, [batch,out], and what they are.
  const Handle<float>& output() const { return outputs_.back(); }
  std::vector<float> outputs() const;
  /// Returns where the gradient of the first module's inputs is after a backward, [batch,in].
  const Handle<float>& d_input() const { return d_inputs_.front(); }

  /// Return the activations of module i after the last forward, and the gradient of its input after the last
  /// backward. Valid only on the processor, and if all outputs are kept.
  std::span<float> values(size_t i) const;
  std::span<float> gradients(size_t i) const;

 private:
  bool is_kept(size_t i) const { return (i + 1) % keep_ == 0 || i + 1 == modules_.size(); }
  void forward(const Pass& pass, size_t i) const;
  void declare(Memory& memory, int64_t n, int64_t keep);

  Dims in_;
  Parameters parameters_;
  std::vector<std::unique_ptr<Module>> modules_;
  std::vector<size_t> tensors_;  // by module: how many parameters there are up to it
  std::unique_ptr<Memory> memory_;
  std::vector<Handle<float>> outputs_;   // the network's input, then the output of each module
  std::vector<Handle<float>> d_inputs_;  // by module
  int64_t batch_ = 0, activation_bytes_ = 0, inference_bytes_ = 0;
  size_t keep_ = 1;
};

struct OptimizerSettings {
  std::string name = "adamw";  // sgd, momentum, nesterov, adam, adamw, nadam
  double rate = 2e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double decay = 1e-2;  // of matrices and kernels: L2, or decoupled with adamw
  double clip = 0;      // limit for the norm of the gradients, which are scaled down to it; 0: none
};

struct StepSettings {
  OptimizerSettings optimizer = {};
  /// Applies to activations, gradients, and the weights of matrices and kernels, unless `rounds_weights` is false. Masters, moments,
  /// biases, the parameters of normalization, and the loss are floats.
  Precision precision = Precision::f32;
  bool rounds_weights = true;
  /// A batch passes through the network in this many parts, whose gradients are summed.
  int64_t parts = 1;
  /// Processes that share a batch. Between backward() and check() the caller sums the gradient over them.
  int64_t ranks = 1;
};

class Step {
 public:
  static constexpr int32_t kAllFinite = 0x7FFFFFFF;
  /// Inputs of a step, and its outputs besides losses and gradients: one tensor, copied in one piece.
  struct Numbers {
    float one = 1, scale = 1, clip = 0;
    float norm = 0;                           // out: of the gradient, before it was clipped
    float hyper[2][optimizer::kHypers] = {};  // of parameters that do not decay, of those that do
    int32_t not_finite = kAllFinite;          // out: an element of the gradient
    int32_t lost[6] = {};                     // out, as Pass::lost
  };

  /// The network is built, and must outlive the step. Throws std::invalid_argument for an unknown optimizer.
  Step(Network& network, const StepSettings& settings);

  // ---- Ahead of a program. ----
  /// Writes a part of a batch with its labels, what masks are drawn by, and the factor on the loss, which the gradient is divided by
  /// in the end. The first part resets what a step counts.
  void write(const float* x, const int32_t* labels, uint64_t seed, uint64_t draw, double scale = 1,
             int64_t part = 0);
  /// Writes the learning rate, as a factor of the settings'.
  void write_rate(double factor);

  // ---- Programs. ----
  void forward(Ops& ops, bool training) const { network_.forward(pass(ops, training)); }
  /// Computes the losses of the part's examples, and the gradient of their mean with respect to the outputs.
  void loss(Ops& ops) const;
  /// Computes the gradient of the parameters: after the last part the sum over all parts, checked unless several ranks share the batch.
  void backward(Ops& ops, bool last = true) const;
  /// Rounds the gradient where the precision asks for it, looks for numbers that are not finite, and divides by the loss scale.
  void check(Ops& ops) const;
  void loss_and_gradient(Ops& ops, bool last = true) const;
  void update(Ops& ops) const;

  // ---- Behind a program. ----
  /// Returns the losses of a part; after the backward of the last part the sums of all parts' losses at each place.
  std::vector<float> losses() const;
  /// Returns the mean loss of the batch, after the backward of its last part.
  double mean_loss() const;
  Numbers numbers() const;
  /// Returns what rounding did to gradients since write() of a first part.
  Lost lost() const;

  /// Returns the calls of a step and of an evaluation, for a plan.
  std::vector<PlannedCall> calls() const;
  Handle<float> d_logits() const { return d_logits_; }
  Memory& memory() { return memory_; }
  /// Returns whether a gradient summed over ranks has to pass check().
  bool checks() const { return settings_.precision != Precision::f32; }
  Handle<float> one() const { return number<float>(offsetof(Numbers, one)); }

  /// Returns moments and counts, for a checkpoint.
  std::vector<Kept> kept();
  int32_t* count(bool decays) { return &state_[decays].steps.host[0]; }
  /// Copy from and to arrays of the host, where the memory is another one.
  void pull() const;
  void push();
  /// Put masters in the place of the weights that were rounded from them, for a checkpoint; and back again, from weights that
  /// may be others. On the host.
  void show_masters();
  void round_masters();

 private:
  using Update = void (Step::*)(Ops&, bool) const;
  static const std::map<std::string, Update>& updates();
  template <class Contract>
  void update_by(Ops& ops, bool decays) const;
  Pass pass(Ops& ops, bool training) const;
  template <class T>
  Handle<T> number(size_t bytes) const {
    return numbers_.as<T>(int64_t(bytes));
  }

  struct State {
    Mirrored<float> m, v;
    Mirrored<int32_t> steps;
  };
  Network& network_;
  StepSettings settings_;
  Update update_ = nullptr;
  Memory memory_;
  Numbers host_numbers_;
  Handle<int32_t> numbers_, labels_;
  Handle<float> d_loss_, losses_, d_logits_;
  Handle<float> sum_;       // of the parts' gradients
  Handle<float> loss_sum_;  // of the parts' losses, by place
  std::array<State, 2> state_;
  Mirrored<float> masters_;  // of decaying parameters: matrices and kernels
};

}  // namespace klab::learning
