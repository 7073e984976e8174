// Contract of error_map_learn: a map of losses by block takes over the losses of a step's rays.
//
//   for each ray r < count of a block, in order:  e = v_r where e is negative, else kKeep·e + (1 - kKeep)·v_r      e = losses[block_r]
//
// Several rays may be of one block: they are taken one after the other.
#pragma once

#include "reference/contract.h"

namespace klab {

struct ErrorMapLearn {
  static constexpr std::string_view name = "error_map_learn";
  static constexpr std::array dims = {"rays", "blocks"};

  struct Shape {
    int64_t rays, blocks;
  };

  static constexpr float kKeep = 0.8F;

  template <class T>
  struct Args {
    Shape shape;
    const int32_t* count;  // [1] i32: rays that have a loss
    const int32_t* block;  // [rays] i32, negative: none
    const T* value;        // [rays] f32: losses
    T* losses;             // [blocks] f32, negative: unknown; read and written
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("count", args.count, Role::input, Draw::arranged, {1});
    visit("block", args.block, Role::input, Draw::arranged, {s.rays});
    visit("value", args.value, Role::input, Draw::arranged, {s.rays});
    visit("losses", args.losses, Role::accumulate, Draw::arranged, {s.blocks});
  }

  static bool valid(const Shape& s) {
    return s.rays >= 0 && s.rays < int64_t{1} << 31 && s.blocks >= 1 && s.blocks < int64_t{1} << 25;
  }

  /// A block and a loss in, and a number of the map in and out, for each ray.
  static Cost cost(const Shape& s) {
    return {.bytes = 16 * double(s.rays), .flops = 3 * double(s.rays), .table_bytes = 8 * double(s.rays)};
  }

  /// Three roundings a ray, of which the next ray of the block keeps kKeep: 3/(1 - kKeep) of the largest number at most.
  static double terms(const Shape&) { return 16; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
