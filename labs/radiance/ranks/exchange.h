// What ranks do with the gradient of a table, the one array of a step that is large: three ways, the rungs of allreduce_gradients
// (lab 18) between processes.
//
//   dense    every rank gets the whole sum and moves all parameters
//   sharded  a rank gets the sum of its part of the table, moves that, and the others get the parameters (Rajbhandari et al., "ZeRO",
//            2020, stage 1): as many bytes, but moments of a part are kept by one rank only
//   touched  as sharded, but of blocks that no sample of a rank has touched nothing travels except a bit
//
// Sums are taken in the order of the ranks in the last two, so that they are the same bits as those of one process which computes the
// parts of the batch one after the other, however many ranks there are.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace klab {

/// So many bytes of an array, from `at` on.
struct Piece {
  int64_t at = 0, bytes = 0;
};

/// Who carries bytes between ranks. Every rank makes the same calls.
struct Carrier {
  int rank = 0, size = 1;
  /// In place: each element becomes the sum of all ranks', the same bits on every rank.
  std::function<void(std::span<float> values)> sum;
  /// From each rank to each, itself included: pieces of `send` by receiver, into pieces of `receive` by sender.
  std::function<void(const void* send, std::span<const Piece> to, void* receive, std::span<const Piece> from)>
      all_to_all;
};

class Exchange {
 public:
  enum class Way { dense, sharded, touched };
  /// Throws std::invalid_argument, "--exchange fast: ...", for what is none.
  static Way way_named(const std::string& name);

  /// Of tables in which `group` neighbors move together: a block, which a bit stands for, is some groups.
  Exchange(Way way, Carrier carrier, int64_t group);

  /// The table's gradient, times `scale`: every rank gets the sum of all (dense), or that of its part, and zeros elsewhere. What is
  /// zero an optimizer with sparse gradients leaves alone.
  void reduce(std::span<float> table, float scale = 1);
  /// Of a table of so many: where this rank's part begins, and where it ends. Dense: all of it.
  std::pair<int64_t, int64_t> own(int64_t count) const { return part(carrier_.rank, count); }
  /// The same of another rank.
  std::pair<int64_t, int64_t> part(int rank, int64_t count) const;
  /// Behind the optimizer: parameters that other ranks have moved come from these. Not dense: nothing is to be done.
  void complete(std::span<float> parameters);
  /// Onto rank 0, or everywhere: what is kept beside the table, an element for each `per` parameters, from the ranks that move them.
  /// To be called by every rank, with arrays of the whole table's size.
  void collect(void* elements, int64_t element_bytes, int64_t per, int64_t parameters,
               bool everywhere = false);
  /// Of small arrays, in every way: the sum, in place, times `scale`; in the order of the ranks but where the way is dense.
  void sum_small(std::span<float> values, float scale = 1);

  Way way() const { return way_; }
  /// Of all blocks of the steps so far, how many this rank had touched; and of its own part, how many any had. 0 where the way
  /// does not ask.
  struct Touched {
    int64_t blocks = 0, touched = 0, own_blocks = 0, own_touched = 0;
    double share() const { return blocks > 0 ? double(touched) / double(blocks) : 0; }
    double by_any_share() const { return own_blocks > 0 ? double(own_touched) / double(own_blocks) : 0; }
    Touched& operator+=(const Touched& o);
  };
  const Touched& touched() const { return counts_; }
  /// Neighbors that a bit stands for.
  int64_t block() const { return block_; }

 private:
  /// The parts of an array of `count`, cut between blocks.
  struct Parts {
    int64_t count, block;
    int size;
    int64_t blocks() const { return (count + block - 1) / block; }
    int64_t first_block(int rank) const { return blocks() * rank / size; }
    int64_t first(int rank) const;
    int64_t length(int rank) const { return first(rank + 1) - first(rank); }
    int64_t mask_bytes(int rank) const { return (first_block(rank + 1) - first_block(rank) + 7) / 8; }
    int64_t block_length(int64_t block_number) const;
  };
  Parts parts_of(int64_t count) const { return {count, block_, carrier_.size}; }
  void sum_and_scale(std::span<float> values, float scale);
  void reduce_all(const Parts& p, std::span<float> values, float scale);
  void gather_all(const Parts& p, std::span<float> values);
  void reduce_touched(const Parts& p, std::span<float> values, float scale);
  void gather_touched(const Parts& p, std::span<float> values);
  std::vector<Piece> pack(const Parts& p, std::span<float> values);
  void add_up_touched(const Parts& p, std::span<float> values, std::span<const Piece> from, float scale);
  std::vector<Piece> mask_pieces(const Parts& p) const;
  template <class Use>
  static void each_touched(const Parts& p, int part, const uint8_t* bits, const Use& use);
  static int64_t touched_floats(const Parts& p, int part, const uint8_t* bits);
  std::vector<Piece> pieces(const std::function<int64_t(int)>& at,
                            const std::function<int64_t(int)>& bytes) const;

  Way way_;
  Carrier carrier_;
  int64_t block_;
  Touched counts_;  // of all steps
  std::vector<float> sent_, received_;
  std::vector<uint8_t> bits_, bits_of_all_,
      touched_;  // touched_: of the own part, by anybody, until complete()
};

}  // namespace klab
