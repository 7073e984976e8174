// Products of matrices by four warps (wgmma.mma_async), in flight until they are waited for.
//
// A product is made when the first warp waits for its group, from what shared memory holds then, and a thread has its sums when
// its own warp waits. Until then the registers hold a pattern. Sums of one product are made in double precision and rounded
// once: on a GPU they have fewer bits, of e4m3 by far (docs/cuda-on-the-host.md).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "harness/simt/async_api.h"

namespace klab::simt {

class BlockRunner;

class WarpGroups {
 public:
  explicit WarpGroups(BlockRunner& executor) : executor_(executor) {}

  /// What a lane brings to a product.
  struct Slot {
    const Wgmma* what;
    const WgmmaRegisters* d;
    const uint32_t* a_registers;
    uint64_t a, b;
    const char* file;
    int line;
    const void* pc;
  };
  /// The lanes of a warp, all 32, issue a product.
  void issue(unsigned warp, const Slot* const* lanes);
  void fence(unsigned warp);
  void commit(unsigned warp, const char* file, int line);
  /// The running lane waits until at most `left` groups of its warp are in flight.
  void wait(int left, const char* file, int line);
  void block_ended();

 private:
  static constexpr int kRows = 64, kWarps = 4, kMostColumns = 256, kMostDepth = 32;

  /// Registers of 128 threads that hold the sums of products in flight.
  struct Sums {
    WgmmaSum type = WgmmaSum::f32;
    int n = 0;
    std::array<uint32_t, kWarps> held{};  // lanes whose registers hold the pattern
    std::array<std::array<WgmmaRegisters, 32>, kWarps> d{};
    std::array<std::array<std::vector<uint32_t*>, 32>, kWarps> each;  // copies of WgmmaRegisters::each
    std::array<uint32_t, kWarps> fences{};  // of the warp when its sums were delivered
    std::array<uint64_t, kWarps> last{};    // number of the last product of each warp that uses them
    std::vector<uint32_t> value;            // [row, column], bits of a float or of an integer
  };
  struct Product {
    Wgmma what;
    bool from_registers;
    uint64_t a, b;
    const char* file;
    int line;
    unsigned issued = 0;  // warps
    Sums* sums = nullptr;
    std::vector<uint32_t> a_registers;  // [warp, lane, 4]
  };
  struct Group {
    uint16_t agent = 0;
    uint64_t first = 0;  // number of the first product of `products`; those before are made
    std::deque<Product> products;
    std::array<uint64_t, kWarps> issued{}, committed{};
    std::array<uint32_t, kWarps> fences{};
    std::vector<uint64_t> ends;  // by group of products: number of the product behind it
    std::deque<Sums> sums;
    bool told = false;
  };

  Group& group_of(unsigned warp);
  void report(Group& g, const char* file, int line, const char* text);
  Sums& sums_for(Group& g, Product& p, unsigned w, const Slot* const* lanes);
  void take(Group& g, Sums& s, unsigned w, const Slot* const* lanes);
  void check_reads(Group& g, const Product& p, unsigned warp, const void* pc);
  bool is_issued(const Group& g, uint64_t group) const;
  void make(Group& g, uint64_t until);
  void multiply(const Product& p);
  void deliver(Group& g, uint64_t until);

  BlockRunner& executor_;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace klab::simt
