#include "harness/simt/wgmma.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "harness/simt/async_block.h"
#include "harness/simt/executor.h"
#include "harness/simt/trace.h"
#include "reference/formats.h"

namespace klab::simt {
namespace {

/// A signaling NaN as a float, and no likely sum as an integer.
constexpr uint32_t kPattern = 0x7FA5D00FU;

/// A matrix in shared memory (PTX manual, "Matrix Descriptor Format"); bytes.
struct Descriptor {
  uint32_t start, lead, stride, swizzle, span;
  unsigned base;
  explicit Descriptor(uint64_t bits)
      : start(uint32_t(bits & 0x3FFF) << 4),
        lead(uint32_t(bits >> 16 & 0x3FFF) << 4),
        stride(uint32_t(bits >> 32 & 0x3FFF) << 4),
        base(unsigned(bits >> 49 & 7)) {
    constexpr uint32_t kModes[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                   CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_32B};
    swizzle = kModes[bits >> 62];
    span = 16U << swizzle;
  }
  /// Address of 16 bytes. Along k: of row `i`, piece `q` along k. Turned: of piece `q` along the rows, at depth `i`. (PTX manual,
  /// "Strides"; groups of 8 are `stride` apart, and what lies beyond the swizzle's span is `lead` apart.)
  uint32_t at(bool turned, uint32_t i, uint32_t q) const {
    uint32_t address = start + i % 8 * span;
    if (swizzle == CU_TENSOR_MAP_SWIZZLE_NONE)
      address += turned ? q * stride + i / 8 * lead : i / 8 * stride + q * lead;
    else if (turned)
      address += i / 8 * stride + q / (span / 16) * lead + q % (span / 16) * 16;
    else
      address += i / 8 * stride + q * 16;
    return uint32_t(swizzled(address, swizzle));
  }
};

double value_of(WgmmaType type, const char* p) {
  static const auto tables = [] {
    std::array<std::array<double, 256>, 2> t{};
    for (unsigned k = 0; k < 256; ++k) t[0][k] = decode(kE4m3, k), t[1][k] = decode(kE5m2, k);
    return t;
  }();
  uint16_t two = 0;
  uint32_t four = 0;
  switch (type) {
    case WgmmaType::f16:
      std::memcpy(&two, p, 2);
      return double(float_from_half(two));
    case WgmmaType::bf16:
      std::memcpy(&two, p, 2);
      return double(float_from_bfloat16(two));
    case WgmmaType::tf32:
      std::memcpy(&four, p, 4);
      return double(std::bit_cast<float>(four & 0xFFFFE000U));
    case WgmmaType::e4m3:
      return tables[0][uint8_t(*p)];
    case WgmmaType::e5m2:
      return tables[1][uint8_t(*p)];
    case WgmmaType::s8:
      return double(int8_t(*p));
    case WgmmaType::u8:
      return double(uint8_t(*p));
  }
  return 0;
}

/// Calls `each(row, k, p)` for 16 bytes of a matrix: from that row and depth on, along k, or along the rows if turned.
template <class Each>
void each_piece(const Descriptor& d, bool turned, int rows, int depth, int element, Each each) {
  const int in_piece = 16 / element;
  for (int i = 0; i < (turned ? depth : rows); ++i)
    for (int q = 0; q < (turned ? rows : depth) / in_piece; ++q) {
      auto* p = static_cast<const char*>(shared_pointer(d.at(turned, uint32_t(i), uint32_t(q))));
      turned ? each(q * in_piece, i, p) : each(i, q * in_piece, p);
    }
}

/// Row and column of D that element `e` (0, 1) of register r of a lane holds (PTX manual, "Matrix fragments for
/// wgmma.mma_async.m64nNk16", figure of D).
struct PlaceOfSum {
  int row, column;
};
PlaceOfSum place_of_sum(unsigned w, unsigned lane, int block, int half, int e) {
  return {int(16 * w + lane / 4) + 8 * half, 8 * block + int(lane % 4) * 2 + e};
}

}  // namespace

WarpGroups::Group& WarpGroups::group_of(unsigned warp) {
  const size_t k = warp / kWarps;
  if (groups_.size() <= k) groups_.resize(k + 1);
  if (groups_[k] == nullptr) {
    groups_[k] = std::make_unique<Group>();
    if (executor_.trace != nullptr) groups_[k]->agent = executor_.trace->new_agent(AgentKind::products);
  }
  return *groups_[k];
}

void WarpGroups::report(Group& g, const char* file, int line, const char* text) {
  if (std::exchange(g.told, true)) return;
  executor_.report({.kind = Kind::in_flight, .file = file, .line = line, .text = text});
}

void WarpGroups::take(Group& g, Sums& s, unsigned w, const Slot* const* lanes) {
  const Slot& one = *lanes[0];
  const int registers = one.what->registers();
  bool changed = false, pattern = false;
  const bool known = s.fences[w] != 0;  // these registers have had sums before
  for (unsigned lane = 0; lane < 32; ++lane) {
    s.d[w][lane] = *lanes[lane]->d;
    if (lanes[lane]->d->each != nullptr) {
      s.each[w][lane].assign(lanes[lane]->d->each, lanes[lane]->d->each + registers);
      s.d[w][lane].each = s.each[w][lane].data();
    }
    for (int r = 0; r < registers; ++r) {
      uint32_t* const at = s.d[w][lane].at(r);
      const uint32_t bits = *at;
      pattern = pattern || bits == kPattern;
      const bool halves = s.type == WgmmaSum::f16;
      const int block = halves ? r / 2 : r / 4, half = halves ? r % 2 : r / 2 % 2;
      for (int e = halves ? 0 : r % 2; e < (halves ? 2 : r % 2 + 1); ++e) {
        const PlaceOfSum p = place_of_sum(w, lane, block, half, e);
        uint32_t& value = s.value[size_t(p.row * s.n + p.column)];
        const uint32_t now =
            halves ? std::bit_cast<uint32_t>(float_from_half(uint16_t(bits >> (16 * e)))) : bits;
        changed = changed || now != value;
        value = now;
      }
      *at = kPattern;
    }
  }
  s.held[w] = ~0U;
  if (one.what->add && pattern)
    report(g, one.file, one.line,
           "wgmma adds to registers of another product that is in flight: wgmma.wait_group must come first");
  if (g.fences[w] == 0 || (known && changed && one.what->add && g.fences[w] == s.fences[w]))
    report(g, one.file, one.line,
           g.fences[w] == 0
               ? "the first wgmma of a kernel needs a wgmma.fence before it, for registers that threads have "
                 "written"
               : "the sums have been changed since they were waited for, and no wgmma.fence lies between");
}

WarpGroups::Sums& WarpGroups::sums_for(Group& g, Product& p, unsigned w, const Slot* const* lanes) {
  const uint32_t* const first = lanes[0]->d->at(0);
  const auto same = [&](const Sums& s) {
    return s.n == p.what.n && s.type == p.what.sum && s.d[w][0].at(0) == first;
  };
  if (p.sums != nullptr) return *p.sums;
  for (Sums& s : g.sums)
    if ((s.held[w] != 0 || s.fences[w] != 0) && same(s)) return s;
  Sums& s = g.sums.emplace_back();
  s.n = p.what.n;
  s.type = p.what.sum;
  s.value.assign(size_t(kRows * s.n), 0);
  return s;
}

void WarpGroups::issue(unsigned warp, const Slot* const* lanes) {
  const Slot& one = *lanes[0];
  const unsigned w = warp % kWarps;
  if (warp / kWarps * kWarps + kWarps > executor_.warps())
    executor_.end_launch({.kind = Kind::in_flight,
                          .file = one.file,
                          .line = one.line,
                          .text = "wgmma needs four warps, the first a multiple of four: the block has " +
                                  std::to_string(executor_.warps())});
  Group& g = group_of(warp);
  for (unsigned lane = 1; lane < 32; ++lane)
    if (lanes[lane]->a != one.a || lanes[lane]->b != one.b)
      report(g, one.file, one.line, "lanes of a warp give wgmma different matrix descriptors");
  const uint64_t number = g.issued[w]++;
  if (number == g.first + g.products.size())
    g.products.push_back({*one.what, one.a_registers != nullptr, one.a, one.b, one.file, one.line});
  Product& p = g.products[size_t(number - g.first)];
  if (p.what.n != one.what->n || p.what.a != one.what->a || p.what.sum != one.what->sum || p.b != one.b ||
      (!p.from_registers && p.a != one.a) || p.what.add != one.what->add)
    report(g, one.file, one.line, "the four warps of a group issue different products");
  p.sums = &sums_for(g, p, w, lanes);
  Sums& s = *p.sums;
  s.last[w] = number;
  if (s.held[w] == 0) {
    take(g, s, w, lanes);
  } else {
    for (unsigned lane = 0; lane < 32; ++lane)
      for (int r = 0; r < one.what->registers(); ++r)
        if (*s.d[w][lane].at(r) != kPattern)
          report(g, one.file, one.line,
                 "a register of the sums was written while a product of them was in flight");
  }
  if (one.a_registers != nullptr) {
    p.a_registers.resize(size_t(kWarps * 32 * 4));
    for (unsigned lane = 0; lane < 32; ++lane)
      std::copy_n(lanes[lane]->a_registers, 4, p.a_registers.begin() + std::ptrdiff_t((w * 32 + lane) * 4));
  }
  check_reads(g, p, warp, one.pc);
  p.issued |= 1U << w;
  if (p.issued == 15) executor_.wake(&g);
}

/// Checks the tiles that a warp's part of a product reads: its rows of A, all of B.
void WarpGroups::check_reads(Group& g, const Product& p, unsigned warp, const void* pc) {
  const unsigned w = warp % kWarps;
  const auto number = uint16_t(std::min<uint64_t>(g.committed[w], 0xFFFE));
  const auto check = [&](const char* name, uint64_t bits, bool turned, int rows, bool own_rows) {
    const Descriptor d(bits);
    const auto refuse = [&](const std::string& text) {
      executor_.end_launch({.kind = Kind::out_of_bounds,
                            .file = p.file,
                            .line = p.line,
                            .text = std::string("the matrix descriptor of ") + name + text});
    };
    if (d.base != 0)
      refuse(" has a base offset, which is not modeled on the host: align the tile to 1024 bytes");
    bool good = true;
    each_piece(d, turned, rows, p.what.depth(), p.what.element(), [&](int row, int, const char* at) {
      if (!executor_.is_shared(at, 16)) refuse(" reaches beyond the block's shared memory");
      if (!good || executor_.trace == nullptr || (own_rows && unsigned(row) / 16 != w)) return;
      good = executor_.trace->agent_reads(at, 16, g.agent, number, pc, p.file, p.line);
    });
    if (executor_.trace == nullptr) return;
    std::string other = executor_.async().other_layout(
        shared_pointer(d.at(turned, 0, 0)), {d.swizzle, d.stride, unsigned(turned ? p.what.depth() : rows)});
    if (other.empty() && turned && d.swizzle != CU_TENSOR_MAP_SWIZZLE_NONE &&
        uint32_t(rows * p.what.element()) > d.span)
      other = executor_.async().other_lead(shared_pointer(d.start), shared_pointer(d.start + d.lead), d.lead);
    if (!other.empty())
      executor_.report({.kind = Kind::in_flight,
                        .file = p.file,
                        .line = p.line,
                        .text = std::string("the matrix descriptor of ") + name + " says " + other});
  };
  if (!p.from_registers) check("A", p.a, p.what.turned_a, kRows, true);
  check("B", p.b, p.what.turned_b, p.what.n, false);
}

void WarpGroups::fence(unsigned warp) { ++group_of(warp).fences[warp % kWarps]; }

void WarpGroups::commit(unsigned warp, const char* file, int line) {
  Group& g = group_of(warp);
  const unsigned w = warp % kWarps;
  const uint64_t number = g.committed[w]++;
  if (number == g.ends.size())
    g.ends.push_back(g.issued[w]);
  else if (g.ends[size_t(number)] != g.issued[w])
    report(g, file, line, "the four warps of a group commit different products");
}

bool WarpGroups::is_issued(const Group& g, uint64_t group) const {
  const uint64_t end = g.ends[size_t(group)];
  return std::ranges::all_of(g.issued, [=](uint64_t n) { return n >= end; });
}

void WarpGroups::wait(int left, const char* file, int line) {
  const unsigned warp = executor_.lane->warp;
  Group& g = group_of(warp);
  const uint64_t committed = g.committed[warp % kWarps];
  if (committed <= uint64_t(left)) return;
  const uint64_t until = committed - uint64_t(left);
  while (!is_issued(g, until - 1)) executor_.wait_until_woken(&g, "wgmma.wait_group", file, line);
  make(g, g.ends[size_t(until - 1)]);
  deliver(g, g.ends[size_t(until - 1)]);
  if (executor_.trace != nullptr)
    executor_.trace->agent_known(g.agent, uint16_t(std::min<uint64_t>(until, 0xFFFF)));
}

void WarpGroups::make(Group& g, uint64_t until) {
  for (; g.first < until; ++g.first) {
    multiply(g.products.front());
    g.products.pop_front();
  }
}

void WarpGroups::multiply(const Product& p) {
  typedef double Eight __attribute__((vector_size(64)));
  alignas(64) double b[kMostDepth][kMostColumns] = {};
  double a[kRows][kMostDepth] = {};
  const int element = p.what.element(), depth = p.what.depth(), n = p.what.n;
  const auto read = [&](const Descriptor& d, bool turned, int rows, WgmmaType type, auto set) {
    each_piece(d, turned, rows, depth, element, [&](int row, int k, const char* at) {
      for (int e = 0; e < 16 / element; ++e)
        set(row + (turned ? e : 0), k + (turned ? 0 : e), value_of(type, at + e * element));
    });
  };
  read(Descriptor(p.b), p.what.turned_b, n, p.what.b,
       [&](int row, int k, double x) { b[k][row] = p.what.minus_b ? -x : x; });
  const auto set_a = [&](int row, int k, double x) { a[row][k] = p.what.minus_a ? -x : x; };
  if (!p.from_registers) {
    read(Descriptor(p.a), p.what.turned_a, kRows, p.what.a, set_a);
  } else {
    // A lane has four registers: rows lane/4 and 8 below, the first and the second half of the depth (PTX manual, "Matrix
    // fragments for wgmma.mma_async", figures of A).
    const int in_register = 4 / element;
    for (int t = 0; t < kWarps * 32 * 4; ++t) {
      const int w = t / 128, lane = t / 4 % 32, r = t % 4;
      const auto* at = reinterpret_cast<const char*>(&p.a_registers[size_t(t)]);
      for (int e = 0; e < in_register; ++e)
        set_a(16 * w + lane / 4 + 8 * (r % 2), lane % 4 * in_register + e + depth / 2 * (r / 2),
              value_of(p.what.a, at + e * element));
    }
  }
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < n; column += 8) {
      Eight sum{};
      for (int k = 0; k < depth; ++k) {
        const double x = a[row][k];
        sum += Eight{x, x, x, x, x, x, x, x} * *reinterpret_cast<const Eight*>(&b[k][column]);
      }
      uint32_t* const to = &p.sums->value[size_t(row * n + column)];
      for (int e = 0; e < 8; ++e) {
        if (p.what.sum == WgmmaSum::s32) {
          const int64_t all = int64_t(sum[e]) + (p.what.add ? int32_t(to[e]) : 0);
          to[e] = p.what.saturates ? uint32_t(std::clamp<int64_t>(all, INT32_MIN, INT32_MAX)) : uint32_t(all);
        } else {
          const double all = sum[e] + (p.what.add ? double(std::bit_cast<float>(to[e])) : 0);
          to[e] = std::bit_cast<uint32_t>(p.what.sum == WgmmaSum::f16 ? float_from_half(half_from_double(all))
                                                                      : float(all));
        }
      }
    }
}

/// Writes sums that no product in flight uses to the running lane's registers.
void WarpGroups::deliver(Group& g, uint64_t until) {
  const Lane& me = *executor_.lane;
  const unsigned w = me.warp % kWarps;
  for (Sums& s : g.sums) {
    if ((s.held[w] >> me.lane & 1) == 0 || s.last[w] >= until) continue;
    s.held[w] &= ~(1U << me.lane);
    s.fences[w] = g.fences[w];
    const bool halves = s.type == WgmmaSum::f16;
    for (int r = 0; r < (halves ? s.n / 4 : s.n / 2); ++r) {
      const int block = halves ? r / 2 : r / 4, half = halves ? r % 2 : r / 2 % 2;
      const auto value = [&](int e) {
        const PlaceOfSum p = place_of_sum(w, me.lane, block, half, e);
        return s.value[size_t(p.row * s.n + p.column)];
      };
      const auto bits = [&](int e) { return uint32_t(half_from_float(std::bit_cast<float>(value(e)))); };
      *s.d[w][me.lane].at(r) = halves ? bits(1) << 16 | bits(0) : value(r % 2);
    }
  }
}

void WarpGroups::block_ended() {
  for (auto& g : groups_) {
    if (g == nullptr || g->products.empty()) continue;
    const Product& p = g->products.front();
    const bool apart = p.issued != 15;
    report(*g, p.file, p.line,
           apart ? "only a part of the four warps of a group has issued this wgmma"
                 : "the block has ended while this wgmma was in flight: its sums were never waited for "
                   "(wgmma.commit_group, wgmma.wait_group)");
  }
}

}  // namespace klab::simt
