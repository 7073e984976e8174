// How ranks exchange the gradient of a table, the only large array of a step. There are three ways; the rungs
// of allreduce_gradients (lab 18) are the same between processes.
//
//   dense    every rank gets the whole sum and updates all parameters
//   sharded  a rank gets the sum of its part of the table, updates that part, and sends the parameters to the
//            others (Rajbhandari et al., "ZeRO", 2020, stage 1): the same number of bytes, but each part's
//            moments are kept by one rank only
//   touched  like sharded, but for a block that no sample of a rank has touched only a bit is sent
//
// The last two take sums in the order of the ranks. So they give the same bits as one process that computes
// the parts of the batch one after the other, at any number of ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace klab {

/// A byte range of an array.
struct Piece {
  int64_t at = 0, bytes = 0;
};

/// Moves bytes between ranks. Every rank makes the same calls.
struct Carrier {
  int rank = 0, size = 1;
  /// Replaces each element by its sum over all ranks, in place; every rank gets the same bits.
  std::function<void(std::span<float> values)> sum;
  /// Sends a piece of `send` to each rank, itself included, and receives one from each. `to` is indexed by
  /// receiver, `from` by sender.
  std::function<void(const void* send, std::span<const Piece> to, void* receive, std::span<const Piece> from)>
      all_to_all;
};

class Exchange {
 public:
  enum class Way { dense, sharded, touched };
  /// Throws std::invalid_argument, "--exchange fast: ...", for an unknown name.
  static Way way_named(const std::string& name);

  /// For tables that are updated in groups of `group` neighbors. A block, which has one bit, is a whole
  /// number of groups.
  Exchange(Way way, Carrier carrier, int64_t group);

  /// Sums the table's gradient over the ranks and multiplies it by `scale`. Dense: every rank gets the whole
  /// sum. Else: a rank gets the sum of its own part and zeros elsewhere, which an optimizer with sparse
  /// gradients skips.
  void reduce(std::span<float> table, float scale = 1);
  /// Returns this rank's part of a table with `count` elements: begin and end. Dense: the whole table.
  std::pair<int64_t, int64_t> own(int64_t count) const { return part(carrier_.rank, count); }
  /// Returns the part of another rank.
  std::pair<int64_t, int64_t> part(int rank, int64_t count) const;
  /// Fetches the parameters that other ranks have updated; to be called after the optimizer. Does nothing if
  /// the way is dense.
  void complete(std::span<float> parameters);
  /// Copies per-parameter state (one element for each `per` parameters) from the ranks that own it to rank 0,
  /// or to all ranks. Every rank must call it, with arrays of the whole table's size.
  void collect(void* elements, int64_t element_bytes, int64_t per, int64_t parameters,
               bool everywhere = false);
  /// Sums small arrays in place and multiplies by `scale`. The order is that of the ranks, except if the way
  /// is dense.
  void sum_small(std::span<float> values, float scale = 1);

  Way way() const { return way_; }
  /// Counts over all steps so far: blocks that this rank touched, and blocks of its own part that any rank
  /// touched. All 0 unless the way is touched.
  struct Touched {
    int64_t blocks = 0, touched = 0, own_blocks = 0, own_touched = 0;
    double share() const { return blocks > 0 ? double(touched) / double(blocks) : 0; }
    double by_any_share() const { return own_blocks > 0 ? double(own_touched) / double(own_blocks) : 0; }
    Touched& operator+=(const Touched& o);
  };
  const Touched& touched() const { return counts_; }
  /// Neighbors that share a bit.
  int64_t block() const { return block_; }

 private:
  /// Splits an array of `count` elements at block borders.
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
  void sum_touched(const Parts& p, std::span<float> values, std::span<const Piece> from, float scale);
  std::vector<Piece> mask_pieces(const Parts& p) const;
  template <class Use>
  static void each_touched(const Parts& p, int part, const uint8_t* bits, const Use& use);
  static int64_t touched_floats(const Parts& p, int part, const uint8_t* bits);
  std::vector<Piece> pieces(const std::function<int64_t(int)>& at,
                            const std::function<int64_t(int)>& bytes) const;

  Way way_;
  Carrier carrier_;
  int64_t block_;
  Touched counts_;  // over all steps
  std::vector<float> sent_, received_;
  std::vector<uint8_t> bits_, bits_of_all_,
      touched_;  // touched_: blocks of the own part that any rank touched, until complete()
};

}  // namespace klab
