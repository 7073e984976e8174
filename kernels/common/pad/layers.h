// A rung with another border than zeros: the rung itself, run on copies of the pictures with their border.
#pragma once

#include "kernels/common/pad/pictures.h"
#include "kernels/common/scratch.h"

namespace klab::pad {

/// Copies of the pictures of conv2d or pool with their border, and room for the gradients of the copies.
template <class Shape>
class Copies {
 public:
  Copies(const Shape& s, int64_t channels) : pictures_(s, channels) {}

  float* written(const float* x) {
    static thread_local Scratch scratch;
    float* y = scratch.floats(pictures_.bordered());
    write(pictures_, x, y);
    return y;
  }
  float* gradients() const {
    static thread_local Scratch scratch;
    return scratch.floats(pictures_.bordered());
  }
  void collect_into(const float* gradients, float* d_x) const { collect(pictures_, gradients, d_x); }

 private:
  Pictures pictures_;
};

/// Runs a forward whose shape has a border: `run` on the pictures with their border. `Args` are those of conv2d_fwd or pool_fwd.
template <class Args>
void forward(Args args, int64_t channels, void (*run)(const Args&)) {
  args.x = Copies(args.shape, channels).written(args.x);
  args.shape = args.shape.bordered();
  run(args);
}

/// Runs a backward alike, and collects the gradient of the pictures. `Args` are those of conv2d_bwd or pool_bwd.
template <class Args>
void backward(Args args, int64_t channels, void (*run)(const Args&)) {
  Copies copies(args.shape, channels);
  float* const d_x = args.d_x;
  args.x = copies.written(args.x);
  args.d_x = copies.gradients();
  args.shape = args.shape.bordered();
  run(args);
  copies.collect_into(args.d_x, d_x);
}

}  // namespace klab::pad
