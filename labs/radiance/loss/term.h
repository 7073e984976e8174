// A term of the training loss is one declaration: its setting, what it needs of a step, and the calls that add it. terms.h lists all
// terms; a new one is a file like opacity_entropy.cpp and a line there.
#pragma once

#include <array>
#include <functional>
#include <string_view>

#include "harness/program/ops.h"
#include "harness/program/tensors.h"

namespace klab {

/// What a step lends to a term. A term computes its values and writes gradients; the step weighs and adds.
struct TermTensors {
  /// Values of the term: one a ray, or one a point. Their weights in the loss include the term's own.
  Count values;
  Handle<float> weight, value;  // [values] in, and room for what the term computes
  Handle<float> one, loss;      // the number 1, and the sum that the step reports
  Handle<float> own_loss;       // the term's part of that sum

  // Tensors of rays.
  Count rays, samples;
  Handle<float> opacity, depth, true_depth;  // [rays] true_depth is 0 where it is not known
  Handle<float> d_opacity, d_depth;          // [rays] written (=): the step adds what several terms write

  // Tensors of the samples that count, after the gradient of the pixels' loss.
  Handle<int32_t> begin;                           // [rays+1] first sample of each ray
  Handle<float> raw, t, delta;                     // [samples] log-density, distance, length
  Handle<float> sample_weights, d_sample_weights;  // [samples] room for a ray's weights and their gradient
  Handle<float> d_raw;                             // [samples] added to (+=)

  // Tensors of points that the term draws: groups of a point and its three neighbors.
  Handle<uint32_t> seed, step;              // [2] each
  Handle<float> cell;                       // distance of neighbors
  Handle<float> positions;                  // [3,4·values] written
  Handle<float> point_raw, d_point_raw;     // [4·values] log-densities, and their gradient, written (=)
  std::function<void()> forward, backward;  // compute point_raw at positions; propagate d_point_raw

  /// Adds weighted values to the loss.
  void add_to_loss(Ops& ops, const Handle<float>& of) const;
  /// Copies [values] floats.
  void copy(Ops& ops, const Handle<float>& from, const Handle<float>& to) const;
};

struct Term {
  enum Where { on_rays, on_samples, on_own_points };
  /// What a field or a scene may lack. A term on rays writes the gradient of each of the first two that it needs.
  enum Need : unsigned { opacity = 1, depth = 2, true_depth = 4, densities = 8 };
  static constexpr std::array kGradients = {opacity, depth};

  const char* name;                       // of the setting that holds its weight
  const char* unit;                       // of its value
  const char* weight_of;                  // meaning of the setting
  double low = 0, high = 10;              // range of the weight
  double default_value = 0;               // 0: the term is left out
  const char* help;                       // what it asks for,
  const char* when_to_try;                // and what it is good against
  Where where = on_rays;                  // where it acts
  unsigned needs = 0;                     // Need
  std::string_view stage = "loss";        // of a profile
  std::array<std::string_view, 6> ops{};  // those that it calls and a step without terms does not
  void (*add)(Ops&, const TermTensors&);
};

}  // namespace klab
