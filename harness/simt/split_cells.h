// Shadow cells for the bytes of words that were accessed in parts. May grow while other threads use existing
// cells.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "harness/simt/shadow.h"

namespace klab::simt {

class SplitCells {
 public:
  using Bytes = std::array<Cell, 4>;

  SplitCells() = default;
  SplitCells(const SplitCells&) = delete;
  SplitCells& operator=(const SplitCells&) = delete;
  ~SplitCells() {
    for (auto& piece : pieces_) delete[] piece.load();
  }

  /// Adds four copies of a cell; returns their index, from 1 on.
  uint32_t add(const Cell& like) {
    const uint32_t number = count_.fetch_add(1, std::memory_order_acq_rel) + 1;
    auto& piece = pieces_[piece_of(number)];
    if (piece.load(std::memory_order_acquire) == nullptr) {
      auto* made = new Bytes[size_t(kFirst) << piece_of(number)];
      Bytes* none = nullptr;
      if (!piece.compare_exchange_strong(none, made)) delete[] made;
    }
    (*this)[number] = {like, like, like, like};
    return number;
  }
  Bytes& operator[](uint32_t number) {
    const unsigned k = piece_of(number);
    return pieces_[k].load(std::memory_order_acquire)[number - 1 + kFirst - (size_t(kFirst) << k)];
  }
  bool has(uint32_t number) const { return number != 0 && number <= count_.load(std::memory_order_relaxed); }
  /// Removes all cells. Requires that no other thread uses them.
  void forget() { count_ = 0; }

 private:
  static constexpr uint32_t kFirst = 256;  // cells of the first piece; each later piece is twice as large
  static unsigned piece_of(uint32_t number) {
    return unsigned(63 - __builtin_clzll((uint64_t(number) - 1 + kFirst) / kFirst));
  }

  std::atomic<uint32_t> count_{0};
  std::array<std::atomic<Bytes*>, 25> pieces_{};
};

}  // namespace klab::simt
