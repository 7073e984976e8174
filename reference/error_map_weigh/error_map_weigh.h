// Contract of error_map_weigh: the places of error_map_draw's lists that rays come from, and what these rays weigh.
//
//   ray r < count: words w of Philox 4x32-10 at counter {r, 0, step[0], step[1]} under key `seed`, as in draw_rays:
//     view = w0·views >> 32,  place = w1·list >> 32
//     weight = weight·weights[view,place],  block = blocks[view,place]
//   ray r >= count: weight stays, block = -1
#pragma once

#include "reference/contract.h"

namespace klab {

struct ErrorMapWeigh {
  static constexpr std::string_view name = "error_map_weigh";
  static constexpr std::array dims = {"rays", "views", "list"};

  struct Shape {
    int64_t rays, views;
    int64_t list;  // pixels listed for each view
  };

  template <class T>
  struct Args {
    Shape shape;
    const uint32_t* seed;   // [2] u32
    const uint32_t* step;   // [2] u32
    const int32_t* count;   // [1] i32: rays that were drawn
    const int32_t* blocks;  // [views,list] i32
    const T* weights;       // [views,list] f32
    T* weight;              // [rays] f32, read and written
    int32_t* block;         // [rays] i32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("seed", args.seed, Role::input, Draw::arranged, {2});
    visit("step", args.step, Role::input, Draw::arranged, {2});
    visit("count", args.count, Role::input, Draw::arranged, {1});
    visit("blocks", args.blocks, Role::input, Draw::arranged, {s.views, s.list});
    visit("weights", args.weights, Role::input, Draw::real, {s.views, s.list});
    visit("weight", args.weight, Role::accumulate, Draw::real, {s.rays});
    visit("block", args.block, Role::output, Draw::arranged, {s.rays});
  }

  static bool valid(const Shape& s) {
    return s.rays >= 0 && s.views >= 1 && s.list >= 1 && s.views < int64_t{1} << 20 &&
           s.views * s.list < int64_t{1} << 31;
  }

  /// A weight in and out and a block out for each ray; two numbers from any place of the lists. Ten rounds of the generator.
  static Cost cost(const Shape& s) {
    return {.bytes = 20.0 * double(s.rays),
            .flops = 100 * double(s.rays),
            .gathers = 2 * double(s.rays),
            .entry_bytes = 4,
            .tables = {{8.0 * double(s.views * s.list)}},
            .table_bytes = 8.0 * double(s.rays)};
  }

  /// A product.
  static double terms(const Shape&) { return 2; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
