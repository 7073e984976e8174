// Threads in the place of processes: a carrier for each rank.
#pragma once

#include <gtest/gtest.h>

#include <barrier>
#include <cstring>
#include <vector>

#include "labs/radiance/ranks/exchange.h"

namespace klab {

/// Threads that carry bytes to each other, and count what each sends to others.
class CarrierThreads {
 public:
  explicit CarrierThreads(int size)
      : sent(size_t(size), 0), size_(size), barrier_(size), calls_(size_t(size)) {}

  Carrier carrier(int rank) {
    return {.rank = rank,
            .size = size_,
            .sum = [this, rank](std::span<float> values) { sum(rank, values); },
            .all_to_all = [this, rank](
                              const void* send, std::span<const Piece> to, void* receive,
                              std::span<const Piece> from) { all_to_all(rank, send, to, receive, from); }};
  }
  std::vector<int64_t> sent;

 private:
  struct Call {
    const char* send = nullptr;
    std::span<const Piece> to;
    std::span<float> values;
  };

  void sum(int rank, std::span<float> values) {
    calls_[size_t(rank)].values = values;
    barrier_.arrive_and_wait();
    std::vector<float> sums(values.size(), 0.0F);
    for (const Call& call : calls_)
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += call.values[i];
    barrier_.arrive_and_wait();
    std::ranges::copy(sums, values.begin());
    sent[size_t(rank)] += int64_t(values.size_bytes()) * 2 * (size_ - 1) / size_;
    barrier_.arrive_and_wait();
  }

  void all_to_all(int rank, const void* send, std::span<const Piece> to, void* receive,
                  std::span<const Piece> from) {
    calls_[size_t(rank)] = {static_cast<const char*>(send), to, {}};
    barrier_.arrive_and_wait();
    for (int r = 0; r < size_; ++r) {
      const Piece theirs = calls_[size_t(r)].to[size_t(rank)], mine = from[size_t(r)];
      EXPECT_EQ(theirs.bytes, mine.bytes)
          << "rank " << r << " sends to rank " << rank << " what is not expected";
      if (theirs.bytes > 0 && theirs.bytes == mine.bytes)
        std::memcpy(static_cast<char*>(receive) + mine.at, calls_[size_t(r)].send + theirs.at,
                    size_t(mine.bytes));
      if (r != rank) sent[size_t(rank)] += to[size_t(r)].bytes;
    }
    barrier_.arrive_and_wait();
  }

  int size_;
  std::barrier<> barrier_;
  std::vector<Call> calls_;
};

}  // namespace klab
