// Contract of occupancy_bits: the bit field of occupancy-grid cells that are worth a sample, for marching
// rays.
//
//   mean = sum over cells with v >= 0 of floor(min(v, 10^4)·scale) / scale / number of such cells
//   bit = v > min(threshold, mean)
//
// (Müller et al. 2022, appendix E; the 10^4 keeps an exploded cell from lifting the mean over all others.)
// The sum is one of whole numbers, so it does not depend on the order, and all backends agree bit for bit;
// scale is the largest power of two with which it cannot overflow. Rounding down keeps cells that are all
// alike above their mean.
#pragma once

#include "reference/contract.h"

namespace klab {

struct OccupancyBits {
  static constexpr std::string_view name = "occupancy_bits";
  static constexpr std::array dims = {"cells"};

  struct Shape {
    int64_t cells;  // a multiple of 8
  };

  /// Returns a scale so that sums of that many values below 10^4 < 2^14 stay below 2^62.
  static float scale_of(int64_t cells) {
    int64_t scale = int64_t{1} << 48;
    for (int64_t n = 1; n < cells; n *= 2) scale /= 2;
    return float(scale);
  }
  static int64_t fixed(float v, float scale) { return int64_t((v < 1e4F ? v : 1e4F) * scale); }
  static float limit_of(float threshold, int64_t sum, int64_t seen, float scale) {
    const float mean = seen > 0 ? float(double(sum) / double(scale) / double(seen)) : 0.0F;
    return threshold < mean ? threshold : mean;
  }

  template <class T>
  struct Args {
    Shape shape;
    const T* values;     // [cells] f32; negative: never evaluated
    const T* threshold;  // [1] f32
    uint8_t* bits;       // [cells/8] u8, written (=)
    int32_t* occupied;   // [1] i32: bits that are set, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("values", args.values, Role::input, Draw::arranged, {s.cells});
    visit("threshold", args.threshold, Role::input, Draw::arranged, {1});
    visit("bits", args.bits, Role::output, Draw::arranged, {s.cells / 8});
    visit("occupied", args.occupied, Role::output, Draw::arranged, {1});
  }

  static bool valid(const Shape& s) {
    return s.cells >= 0 && s.cells % 8 == 0 && s.cells < (int64_t{1} << 31);
  }

  /// Every value in, a bit out.
  static Cost cost(const Shape& s) {
    return {.bytes = 4.125 * double(s.cells), .flops = 5 * double(s.cells)};
  }

  /// Bits.
  static double terms(const Shape&) { return 0; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
