// Tiles of Intel's AMX: registers of 16 rows of 64 bytes, and instructions that multiply two of them.
//
//   template <class Tiles>
//   void part(...) {
//     Tiles::configure(shapes({{.rows = 16, .bytes = 64}, ...}));
//     Tiles::template zero<0>();
//     Tiles::template load<1>(a, stride_in_bytes);
//     Tiles::template load<2>(b, stride_in_bytes);
//     Tiles::template dot_bf16<0, 1, 2>();   // tile 0 += tile 1 · tile 2
//     Tiles::template store<0>(c, stride_in_bytes);
//     Tiles::release();
//   }
//   on_tiles([&](auto tiles) { part<decltype(tiles)>(...); });   // on the unit, or on its model
//
// A dword of the left tile holds neighbors along the sum, two bfloat16s or four bytes. The right tile holds them in the same way:
// dword n of row k are the factors of column n at depths 2k and 2k + 1 (or 4k ... 4k + 3).
//
// `Unit` are the processor's instructions, written as assembly so that no file needs flags for them. `Model` does the same in
// software, bit by bit but for the bits of a NaN. It stops where the processor does, with the reason on standard error. A function
// must release the tiles before it returns, in every thread.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "harness/core/tile_unit.h"

namespace klab::tiles {

inline constexpr int kTiles = 8, kRows = 16, kBytes = 64;  // of palette 1, the only one there is

/// What LDTILECFG reads.
struct alignas(64) Config {
  uint8_t palette = 1, start_row = 0;
  uint8_t zero[14] = {};
  uint16_t bytes[16] = {};  // of a row of each tile
  uint8_t rows[16] = {};
};
static_assert(sizeof(Config) == 64);

struct Shape {
  int64_t rows = 0, bytes = 0;
};

/// Makes the configuration of tiles 0, 1, 2, ... of these shapes.
inline Config shapes(std::initializer_list<Shape> list) {
  Config config;
  int tile = 0;
  for (const Shape& s : list) {
    config.rows[tile] = uint8_t(s.rows);
    config.bytes[tile++] = uint16_t(s.bytes);
  }
  return config;
}

#if defined(__x86_64__)

/// The processor's instructions.
struct Unit {
  static void configure(const Config& config) { __asm__ volatile("ldtilecfg %0" : : "m"(config)); }
  static void release() { __asm__ volatile("tilerelease" : : : "memory"); }
  template <int tile>
  static void zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(tile));
  }
  template <int tile>
  static void load(const void* from, int64_t stride) {
    __asm__ volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(tile), "r"(from), "r"(stride) : "memory");
  }
  template <int tile>
  static void store(void* to, int64_t stride) {
    __asm__ volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(tile), "r"(to), "r"(stride) : "memory");
  }
  template <int c, int a, int b>
  static void dot_bf16() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
  }
  template <int c, int a, int b>  // both signed; as the next: s is signed, u unsigned, A before B
  static void dot_ss() {
    __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
  }
  template <int c, int a, int b>
  static void dot_su() {
    __asm__ volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
  }
  template <int c, int a, int b>
  static void dot_us() {
    __asm__ volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
  }
  template <int c, int a, int b>
  static void dot_uu() {
    __asm__ volatile("tdpbuud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
  }
};

#endif

/// One thread's tiles in software.
struct ModelState {
  Config config;
  bool configured = false;
  alignas(64) uint8_t data[kTiles][kRows][kBytes] = {};
};
inline ModelState& model_state() {
  static thread_local ModelState state;
  return state;
}

/// The exception that the processor raises.
enum class Stop { general_protection, invalid_opcode };

[[noreturn]] inline void stop(Stop how, const char* instruction, const char* why) {
  std::fprintf(stderr, "klab: %s: %s\n", instruction, why);
#if defined(__x86_64__)
  // An address that no program has raises the exception here, in the kernel's own code.
  if (how == Stop::general_protection)
    __asm__ volatile("movb (%0), %%al" : : "r"(uint64_t(1) << 63) : "rax", "memory");
#endif
  __builtin_trap();
}

/// a·b + c rounded once, to nearest even; a result that is denormal after rounding to 24 bits is zero.
inline float fused(float a, float b, float c) {
  const float sum = std::fma(a, b, c);
  if (!(std::fabs(sum) <= FLT_MIN)) return sum;
  // Where a rounding is left to do it must be to 24 bits: 2^64 times all of it has no denormals.
  constexpr float up = 0x1p64F;
  const float large = std::fabs(a) < std::fabs(b) ? std::fma(a * up, b, c * up) : std::fma(a, b * up, c * up);
  return std::fabs(large) < FLT_MIN * up ? std::copysign(0.0F, large) : sum;
}

/// The same instructions in software.
struct Model {
  static void configure(const Config& config) {
    const auto fail = [](const char* why) { stop(Stop::general_protection, "ldtilecfg", why); };
    ModelState& s = model_state();
    if (config.palette == 0) return release();
    if (config.palette != 1) fail("the palette is 0 or 1");
    for (const uint8_t byte : config.zero)
      if (byte != 0) fail("bytes 2 to 15 are zero");
    for (int t = 0; t < 16; ++t) {
      if (t >= kTiles && (config.rows[t] != 0 || config.bytes[t] != 0)) fail("there are eight tiles");
      if (config.rows[t] > kRows) fail("a tile has at most 16 rows");
      if (config.bytes[t] > kBytes) fail("a row of a tile has at most 64 bytes");
      if ((config.rows[t] == 0) != (config.bytes[t] == 0)) fail("a tile has rows and bytes, or neither");
    }
    s.config = config;
    s.configured = true;
    std::memset(s.data, 0, sizeof s.data);
    model_holds_tiles(true);
  }

  static void release() {
    model_state() = {};
    model_holds_tiles(false);
  }

  template <int tile>
  static void zero() {
    check(tile, "tilezero");
    std::memset(model_state().data[tile], 0, sizeof model_state().data[tile]);
  }

  template <int tile>
  static void load(const void* from, int64_t stride) {
    check(tile, "tileloadd");
    ModelState& s = model_state();
    uint8_t fresh[kRows][kBytes] = {};
    for (int r = s.config.start_row; r < s.config.rows[tile]; ++r)
      std::memcpy(fresh[r], static_cast<const char*>(from) + r * stride, s.config.bytes[tile]);
    std::memcpy(s.data[tile], fresh, sizeof fresh);
    s.config.start_row = 0;
  }

  template <int tile>
  static void store(void* to, int64_t stride) {
    check(tile, "tilestored");
    ModelState& s = model_state();
    for (int r = s.config.start_row; r < s.config.rows[tile]; ++r)
      std::memcpy(static_cast<char*>(to) + r * stride, s.data[tile][r], s.config.bytes[tile]);
    s.config.start_row = 0;
  }

  template <int c, int a, int b>
  static void dot_bf16() {
    check(c, a, b, "tdpbf16ps");
    products_bf16(c, a, b);
  }
  template <int c, int a, int b>
  static void dot_ss() {
    check(c, a, b, "tdpbssd");
    products_of_bytes<int8_t, int8_t>(c, a, b);
  }
  template <int c, int a, int b>
  static void dot_su() {
    check(c, a, b, "tdpbsud");
    products_of_bytes<int8_t, uint8_t>(c, a, b);
  }
  template <int c, int a, int b>
  static void dot_us() {
    check(c, a, b, "tdpbusd");
    products_of_bytes<uint8_t, int8_t>(c, a, b);
  }
  template <int c, int a, int b>
  static void dot_uu() {
    check(c, a, b, "tdpbuud");
    products_of_bytes<uint8_t, uint8_t>(c, a, b);
  }

 private:
  static void check(int tile, const char* instruction) {
    const ModelState& s = model_state();
    const auto fail = [&](const char* why) { stop(Stop::invalid_opcode, instruction, why); };
    if (!s.configured) fail("no configuration is loaded");
    if (s.config.rows[tile] == 0) fail("the tile has no rows in the configuration");
  }

  static void check(int c, int a, int b, const char* instruction) {
    for (const int tile : {c, a, b}) check(tile, instruction);
    const Config& s = model_state().config;
    const auto fail = [&](const char* why) { stop(Stop::invalid_opcode, instruction, why); };
    if (c == a || c == b || a == b) fail("its three tiles differ");
    if (s.bytes[c] % 4 != 0 || s.bytes[a] % 4 != 0 || s.bytes[b] % 4 != 0) fail("rows are whole dwords");
    if (s.rows[c] != s.rows[a]) fail("sums have as many rows as the left tile");
    if (s.bytes[c] != s.bytes[b]) fail("rows of sums are as long as those of the right tile");
    if (s.bytes[a] != 4 * s.rows[b]) fail("the right tile has a row for each dword of the left");
    if (s.start_row != 0) fail("a load or store was interrupted");
  }

  /// Four dwords of a row, and as many floats: what every processor has a register for.
  static constexpr int kParts = kRows / 4;
  using Dwords = int32_t __attribute__((vector_size(kBytes / kParts)));
  using Floats = float __attribute__((vector_size(kBytes / kParts)));
  struct Row {
    Floats part[kParts];
    float operator[](int k) const { return part[k / 4][k % 4]; }
  };

  static constexpr int32_t kExponent = 0x7F800000, kSign = INT32_MIN;

  /// Exponents of factors that are not zero, in place in their floats.
  struct Exponents {
    Dwords least = Dwords{} + kExponent, most = {};
    /// The smallest and the largest; `all` is false where there are infinities or NaNs.
    struct Range {
      int least = 255, most = 0;
      bool all = true;
    };
    Range range() const {
      Range r;
      for (int n = 0; n < 4; ++n) {
        r.least = std::min(r.least, least[n] >> 23);
        r.most = std::max(r.most, most[n] >> 23);
      }
      r.all = r.most != 255;
      return r;
    }
  };

  /// The even and odd bfloat16s of `count` dwords of a row as floats, denormals as zeros; zeros behind them.
  static void pairs(const uint8_t* row, int count, Row& even, Row& odd, Exponents& seen) {
    alignas(16) int32_t both[kRows];
    std::memcpy(both, row, sizeof both);
    for (int k = count; k < kRows; ++k) both[k] = 0;
    const auto half = [&](Dwords bits, Floats& to) {
      const Dwords exponent = bits & kExponent, some = exponent != 0;
      bits &= some | kSign;
      std::memcpy(&to, &bits, sizeof to);
      const Dwords low = (exponent & some) | (kExponent & ~some);
      seen.most = exponent > seen.most ? exponent : seen.most;
      seen.least = low < seen.least ? low : seen.least;
    };
    for (int part = 0; part < kParts; ++part) {
      Dwords four;
      std::memcpy(&four, both + 4 * part, sizeof four);
      half(four << 16, even.part[part]);
      half(four & ~0xFFFF, odd.part[part]);
    }
  }

  /// Even and odd depths have sums of their own, fused multiply-adds from 0 on; their sum is added to the tile's. Products and
  /// sums of factors whose exponents are in the middle of the range are exact but for the rounding of sums, so float's plain
  /// operations do.
  static void products_bf16(int c, int a, int b) {
    ModelState& s = model_state();
    const int rows = s.config.rows[c], depth = s.config.rows[b], columns = s.config.bytes[c] / 4;
    Row left[kRows][2], right[2][kRows];  // [row][half] of depths, [half][depth] of columns
    Exponents of_a, of_b;
    for (int m = 0; m < rows; ++m) pairs(s.data[a][m], depth, left[m][0], left[m][1], of_a);
    for (int k = 0; k < depth; ++k) pairs(s.data[b][k], columns, right[0][k], right[1][k], of_b);
    const Exponents::Range ea = of_a.range(), eb = of_b.range();
    // 2^(e - 127) times 1 to 2 with 7 bits behind the point: sums are multiples of 2^(ea + eb - 254 - 14), at most 2^6 products.
    const bool plain =
        ea.all && eb.all && ea.least + eb.least - 268 >= -126 && ea.most + eb.most - 254 + 2 + 6 <= 126;
    for (int m = 0; m < rows; ++m) {
      Row sums[2];
      for (int half = 0; half < 2; ++half)
        sums[half] = plain ? plain_sums(left[m][half], right[half], depth)
                           : fused_sums(left[m][half], right[half], depth);
      for (int part = 0; part < kParts; ++part) {
        uint8_t* const at = &s.data[c][m][16 * part];
        Floats sum;
        std::memcpy(&sum, at, sizeof sum);
        sum = without_denormals(without_denormals(sum) +
                                without_denormals(sums[0].part[part] + sums[1].part[part]));
        std::memcpy(at, &sum, sizeof sum);
      }
      std::memset(&s.data[c][m][4 * columns], 0, size_t(kBytes - 4 * columns));
    }
  }

  static Floats without_denormals(Floats x) {
    Dwords bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits &= ((bits & kExponent) != 0) | kSign;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }

  static Row plain_sums(const Row& left, const Row* right, int depth) {
    Floats a{}, b{}, c{}, d{};
    for (int k = 0; k < depth; ++k) {
      const float factor = left[k];
      const Row& row = right[k];
      a += factor * row.part[0];
      b += factor * row.part[1];
      c += factor * row.part[2];
      d += factor * row.part[3];
    }
    return {{a, b, c, d}};
  }
  static Row fused_sums(const Row& left, const Row* right, int depth) {
    Row sums{};
    for (int k = 0; k < depth; ++k)
      for (int n = 0; n < kRows; ++n)
        sums.part[n / 4][n % 4] = fused(left[k], right[k][n], sums.part[n / 4][n % 4]);
    return sums;
  }

  /// Sums of 32 bits that wrap around, as the instructions' do. Those of one instruction have 64 products at most, which floats
  /// hold exactly.
  template <class A, class B>
  static void products_of_bytes(int c, int a, int b) {
    ModelState& s = model_state();
    const int rows = s.config.rows[c], depth = s.config.rows[b], columns = s.config.bytes[c] / 4;
    Row right[4][kRows];  // [byte of the dword][depth] of columns
    for (int k = 0; k < depth; ++k)
      for (int i = 0; i < 4; ++i)
        for (int n = 0; n < kRows; ++n) right[i][k].part[n / 4][n % 4] = float(B(s.data[b][k][4 * n + i]));
    for (int m = 0; m < rows; ++m) {
      float sums[kRows] = {};
      for (int i = 0; i < 4; ++i) {
        Row left;
        for (int k = 0; k < kRows; ++k) left.part[k / 4][k % 4] = float(A(s.data[a][m][4 * k + i]));
        const Row some = plain_sums(left, right[i], depth);
        for (int n = 0; n < columns; ++n) sums[n] += some[n];
      }
      for (int n = 0; n < columns; ++n) {
        uint32_t sum;
        std::memcpy(&sum, &s.data[c][m][4 * n], sizeof sum);
        sum += uint32_t(int32_t(sums[n]));
        std::memcpy(&s.data[c][m][4 * n], &sum, sizeof sum);
      }
      std::memset(&s.data[c][m][4 * columns], 0, size_t(kBytes - 4 * columns));
    }
  }
};

/// Calls work(Unit()) where the processor has tiles and the system lets this process use them, else work(Model()).
template <class Work>
void on_tiles(const Work& work) {
#if defined(__x86_64__)
  if (tile_unit().state == TileUnit::State::usable) return work(Unit());
#endif
  work(Model());
}

}  // namespace klab::tiles
