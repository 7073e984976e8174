// Exposure of each training picture: a factor on red, green and blue of what is drawn, learned together with the Gaussians.
//
// A camera that chooses its exposure for every picture shows one surface in several brightnesses. No color of a Gaussian fits them all, and
// fog in front of a camera fits each. (Also part of the later program of Kerbl and others, 2023, as a 3x4 matrix for each picture.)
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/records/tensor_file.h"

namespace klab {

class Exposures {
 public:
  /// `rate` is the learning rate of the factors' logarithms; 0: all factors stay 1.
  Exposures(size_t views, double rate);

  bool learned() const { return rate_ > 0; }
  std::array<float, 3> factors(size_t view) const;

  /// Returns a drawn picture, [3,height,width], as this view's camera takes it.
  void expose(size_t view, const std::vector<float>& image, std::vector<float>& exposed) const;
  /// Turns the gradient of the exposed picture into that of the drawn one. Returns that of the factors' logarithms.
  std::array<double, 3> backward(size_t view, const std::vector<float>& exposed,
                                 std::vector<float>& gradient) const;
  /// Makes a step of Adam for one view. The mean logarithm of all views stays 0, so that factors of 1 are the usual exposure, with which
  /// test views are drawn.
  void update(size_t view, const std::array<double, 3>& gradient, double factor);

  /// Returns the state for a checkpoint. It is also the destination when it is read.
  std::vector<TensorView> state() const;
  /// Reads the state. Throws std::runtime_error, "<where>: ...", for numbers that no training has.
  void restore(const TensorFile& file, const std::string& where);

 private:
  double rate_;
  std::vector<float> logarithm_, m_, v_;  // [views,3]
  std::vector<int32_t> steps_;            // [views]
};

}  // namespace klab
