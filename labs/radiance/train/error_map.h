// Draws training pixels in proportion to their loss, weighted so that the expected gradient is that of all pixels alike. The
// map remembers the mean loss of the drawn pixels of each block of a view. From time to time error_map_draw draws a list
// for each view, from which draw_rays draws evenly; error_map_weigh weighs the rays, and error_map_learn takes over their losses.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/program/ops.h"
#include "harness/program/tensors.h"
#include "harness/records/tensor_file.h"
#include "labs/radiance/scene/scene.h"
#include "labs/radiance/train/views.h"

namespace klab {

class ErrorMap {
 public:
  static constexpr int64_t kList = 4096;

  /// For the scene's training views. The share `share` in [0, 1) of the draws follows the error.
  ErrorMap(const Scene& scene, double share);

  int64_t views() const { return views_; }
  /// Returns the pixels in the lists of all views.
  int64_t listed() const { return kList * views_; }

  /// Declares the map for as many rays at most; lists follow the `before` pixels with a ray that views list.
  void declare(Memory& memory, const ViewTensors& views, int64_t before, const Count& rays);
  /// Writes what stays the same, and lets draw_rays draw from the lists.
  void write(Memory& memory) const;
  /// Writes what a turn's lists are drawn by.
  void write_turn(Memory& memory, uint64_t seed, uint64_t turn) const;

  /// Programs: draws all lists, by the present losses or by those of the last time; the weights of a step's rays; its losses.
  void draw(Ops& ops) const;
  void draw_again(Ops& ops) const;
  void weigh(Ops& ops, const Handle<int32_t>& numbers, const Handle<float>& weight) const;
  void learn(Ops& ops, const Handle<int32_t>& numbers, const Handle<float>& losses) const;

  /// Returns the state for a checkpoint: the present losses, and those at the last drawing of the lists.
  std::vector<TensorView> state() const;

  // Tensors of the lists: [views,kList].
  Handle<int32_t> pixels, blocks;
  Handle<float> weights;

 private:
  int64_t views_, before_ = 0;
  float share_;
  std::vector<int64_t> own_places_;  // as error_map_draw takes them
  Array<float> losses_, drawn_by_;   // by block; negative: unknown
  ViewTensors tensors_of_views_;
  Count rays_;
  Handle<uint32_t> key_;
  Handle<float> constants_;  // the share, and a 1
  Handle<int64_t> places_;
  Handle<float> now_, then_;  // losses_, drawn_by_
  Handle<int32_t> block_;     // of each ray
};

}  // namespace klab
