// Contract of error_map_draw: a list of pixels for each view, drawn in proportion to what is known of their loss.
//
// The n pixels of a view that have a ray are cut into blocks of kBlock; the last one may be short. The map has the mean loss e of
// each block, or a negative number where nothing is known: there e is the mean of the view's known ones, rounded to float, or 1
// where there are none. A pixel of block b is drawn with the probability
//
//   p_b = (1 - share)/n + share·e_b/E       E: the sum of e over the view's pixels; 1/n where it is 0
//
// and place k of a list has
//
//   block    b, the first one, or the last of all, with  (u_0 + k)/list < sum of p over the pixels up to its end
//   pixel    number floor(u_(1+k)·pixels of b) of the block, as the view lists its pixels with a ray
//   weight   1/(n·p_b), at most 1/(1 - share): with it, the mean over a list is expected to be the one over all pixels
//
// Systematic sampling: each block occurs as often as it should, within less than one. u_i is a random number: random_number(key,
// view·(list + 1) + i). Everything is computed in double, and sums are taken in the order of blocks, so that all rungs draw the
// same pixels. (Importance sampling; for radiance fields in the sources of instant-ngp, Müller et al. 2022, as an option.)
#pragma once

#include "reference/contract.h"

namespace klab {

struct ErrorMapDraw {
  static constexpr std::string_view name = "error_map_draw";
  static constexpr std::array dims = {"views", "blocks", "listed", "list"};

  struct Shape {
    int64_t views;
    int64_t blocks;  // of all views
    int64_t listed;  // pixels in the views' lists of those with a ray
    int64_t list;    // pixels to be drawn for each view
  };

  static constexpr int64_t kBlock = 64;
  static constexpr int64_t kPlace = 4;  // numbers of a view

  template <class T>
  struct Args {
    Shape shape;
    const uint32_t* key;  // [2] u32 of the random numbers, low word first
    const T* share;       // [1] f32 in [0,1): of the draws that follow the map
    /// Pixels with a ray, at least 1; where they are listed, or -1: all have one; first block, blocks.
    const int64_t* places;  // [views,4] i64
    const int32_t* seen;    // [listed] i32: pixels of a view that have a ray
    const T* losses;        // [blocks] f32, negative: unknown
    int32_t* pixels;        // [views,list] i32, written (=)
    int32_t* blocks;        // [views,list] i32: that of the pixel, written (=)
    T* weights;             // [views,list] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("key", args.key, Role::input, Draw::arranged, {2});
    visit("share", args.share, Role::input, Draw::arranged, {1});
    visit("places", args.places, Role::input, Draw::arranged, {s.views, kPlace});
    visit("seen", args.seen, Role::input, Draw::arranged, {s.listed});
    visit("losses", args.losses, Role::input, Draw::arranged, {s.blocks});
    visit("pixels", args.pixels, Role::output, Draw::arranged, {s.views, s.list});
    visit("blocks", args.blocks, Role::output, Draw::arranged, {s.views, s.list});
    visit("weights", args.weights, Role::output, Draw::real, {s.views, s.list});
  }

  static bool valid(const Shape& s) {
    return s.views >= 1 && s.blocks >= s.views && s.blocks < int64_t{1} << 25 && s.listed >= 0 &&
           s.list >= 0 && s.views * s.list < int64_t{1} << 31;
  }

  /// Losses in, three numbers a place out. A probability a block, and a weight a place.
  static Cost cost(const Shape& s) {
    const double blocks = double(s.blocks), places = double(s.views * s.list);
    return {
        .bytes = 4 * blocks + 12 * places, .flops = 8 * blocks + 20 * places, .divisions = blocks + places};
  }

  /// A weight is rounded once; pixels are whole numbers.
  static double terms(const Shape&) { return 2; }

  /// Random number i of a stream, in [0, 1): the upper 24 bits of a hash of key and counter (the finalizer of MurmurHash3 by A.
  /// Appleby).
  static constexpr float random_number(uint64_t key, uint64_t i) {
    uint64_t x = key + i * 0x9e3779b97f4a7c15ULL;
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    return float((x ^ x >> 33) >> 40) * 0x1p-24F;
  }
  static constexpr uint64_t key_of(const uint32_t* key) { return uint64_t(key[1]) << 32 | key[0]; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
