#include "labs/radiance/ranks/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

namespace klab {
namespace {

constexpr int64_t kFloat = sizeof(float);
constexpr int64_t kTile = 1024;  // floats whose sums stay in the first cache
// floats that travel at a time: few enough for a cache, and enough that ranks seldom wait for each other
constexpr int64_t kPiece = 1 << 18;
constexpr int64_t kTeam = 1 << 14;  // floats from which on threads pay
// floats of a cache line, which is the unit in which touched memory is read anyway
constexpr int64_t kLine = 16;

bool bit_of(const uint8_t* bits, int64_t i) { return (bits[i / 8] >> (i % 8) & 1) != 0; }
void set_bit(uint8_t* bits, int64_t i) { bits[i / 8] = uint8_t(bits[i / 8] | 1 << (i % 8)); }

/// Returns whether any value is neither +0 nor -0; NaN and infinity count.
bool holds_gradient(const float* g, int64_t count) {
  uint32_t any = 0;
  for (int64_t i = 0; i < count; ++i) any |= std::bit_cast<uint32_t>(g[i]);
  return any << 1 != 0;
}

}  // namespace

Exchange::Way Exchange::way_named(const std::string& name) {
  if (name == "dense") return Way::dense;
  if (name == "sharded") return Way::sharded;
  if (name == "touched") return Way::touched;
  throw std::invalid_argument(
      fmt::format("--exchange {}: is no way; there are dense, sharded and touched", name.substr(0, 40)));
}

Exchange::Exchange(Way way, Carrier carrier, int64_t group)
    : way_(way), carrier_(std::move(carrier)), block_(group * std::max<int64_t>(1, kLine / group)) {}

Exchange::Touched& Exchange::Touched::operator+=(const Touched& o) {
  blocks += o.blocks;
  touched += o.touched;
  own_blocks += o.own_blocks;
  own_touched += o.own_touched;
  return *this;
}

int64_t Exchange::Parts::first(int rank) const { return std::min(count, first_block(rank) * block); }

int64_t Exchange::Parts::block_length(int64_t number) const {
  return std::min(block, count - number * block);
}

std::vector<Piece> Exchange::pieces(const std::function<int64_t(int)>& at,
                                    const std::function<int64_t(int)>& bytes) const {
  std::vector<Piece> list;
  for (int r = 0; r < carrier_.size; ++r) list.push_back({at(r), bytes(r)});
  return list;
}

void Exchange::sum_and_scale(std::span<float> values, float scale) {
  if (carrier_.size > 1) carrier_.sum(values);
  if (scale == 1) return;
#pragma omp parallel for schedule(static) if (values.size() > 100000)
  for (float& v : values) v *= scale;
}

std::pair<int64_t, int64_t> Exchange::part(int rank, int64_t count) const {
  if (way_ == Way::dense) return {0, count};
  const Parts p = parts_of(count);
  return {p.first(rank), p.first(rank + 1)};
}

void Exchange::reduce(std::span<float> table, float scale) {
  const Parts p = parts_of(int64_t(table.size()));
  if (carrier_.size == 1 || way_ == Way::dense) return sum_and_scale(table, scale);
  if (way_ == Way::touched) return reduce_touched(p, table, scale);
  reduce_all(p, table, scale);
}

void Exchange::complete(std::span<float> parameters) {
  if (carrier_.size == 1 || way_ == Way::dense) return;
  const Parts p = parts_of(int64_t(parameters.size()));
  if (way_ == Way::touched)
    gather_touched(p, parameters);
  else
    gather_all(p, parameters);
}

void Exchange::sum_small(std::span<float> values, float scale) {
  if (carrier_.size == 1 || way_ == Way::dense) return sum_and_scale(values, scale);
  const Parts p = parts_of(int64_t(values.size()));
  reduce_all(p, values, scale);
  gather_all(p, values);
}

void Exchange::collect(void* elements, int64_t element_bytes, int64_t per, int64_t parameters,
                       bool everywhere) {
  if (carrier_.size == 1 || way_ == Way::dense) return;
  const Parts p = parts_of(parameters);
  const auto at = [&](int r) { return (p.first(r) + per - 1) / per * element_bytes; };
  const auto bytes = [&](int r) { return at(r + 1) - at(r); };
  const int me = carrier_.rank;
  // Own elements are in place already.
  const auto travels = [&](int from, int to) { return from != to && (everywhere || to == 0); };
  const auto to = pieces([&](int) { return at(me); }, [&](int r) { return travels(me, r) ? bytes(me) : 0; });
  const auto from = pieces(at, [&](int r) { return travels(r, me) ? bytes(r) : 0; });
  carrier_.all_to_all(elements, to, elements, from);
}

// The own part becomes the sum, in the order of the ranks, and the parts that were sent become zero. Works on
// a piece of each part at a time, so that received values are added and sent ones are cleared while they are
// in a cache.
void Exchange::reduce_all(const Parts& p, std::span<float> values, float scale) {
  const int me = carrier_.rank;
  const int64_t piece = std::max(kTile, kPiece / (carrier_.size - 1));
  int64_t longest = 0;
  for (int r = 0; r < carrier_.size; ++r) longest = std::max(longest, p.length(r));
  received_.resize(size_t(std::min(piece, longest) * (carrier_.size - 1)));
  for (int64_t at = 0; at < longest; at += piece) {
    const auto length = [&](int r) { return std::clamp(p.length(r) - at, int64_t{0}, piece); };
    const int64_t own = length(me);
    // where the values of rank r are received
    const auto slot = [&](int r) { return own * (r < me ? r : r - 1); };
    const auto to = pieces([&](int r) { return (p.first(r) + at) * kFloat; },
                           [&](int r) { return r == me ? 0 : length(r) * kFloat; });
    const auto from = pieces([&](int r) { return r == me ? 0 : slot(r) * kFloat; },
                             [&](int r) { return r == me ? 0 : own * kFloat; });
    carrier_.all_to_all(values.data(), to, received_.data(), from);
    float* const sum = values.data() + p.first(me) + at;
#pragma omp parallel for schedule(static) if (own > kTeam)
    for (int64_t i = 0; i < own; i += kTile) {
      const int64_t n = std::min(kTile, own - i);
      std::array<float, kTile> tile{};
      for (int r = 0; r < carrier_.size; ++r) {
        const float* const g = r == me ? sum + i : received_.data() + slot(r) + i;
        for (int64_t k = 0; k < n; ++k) tile[size_t(k)] += g[k];
      }
      for (int64_t k = 0; k < n; ++k) sum[i + k] = scale * tile[size_t(k)];
    }
    for (int r = 0; r < carrier_.size; ++r)
      if (r != me) std::fill_n(values.data() + p.first(r) + at, length(r), 0.0F);
  }
}

void Exchange::gather_all(const Parts& p, std::span<float> values) {
  const int me = carrier_.rank;
  const auto to = pieces([&](int) { return p.first(me) * kFloat; },
                         [&](int r) { return r == me ? 0 : p.length(me) * kFloat; });
  const auto from = pieces([&](int r) { return p.first(r) * kFloat; },
                           [&](int r) { return r == me ? 0 : p.length(r) * kFloat; });
  carrier_.all_to_all(values.data(), to, values.data(), from);
}

// Sends bits to the owners of blocks, then the values of the blocks that are set, and lets the owners sum.
void Exchange::reduce_touched(const Parts& p, std::span<float> values, float scale) {
  const int me = carrier_.rank;
  const int64_t mask = p.mask_bytes(me);
  const std::vector<Piece> bits_to = mask_pieces(p), values_to = pack(p, values);
  bits_of_all_.resize(size_t(mask * carrier_.size));
  carrier_.all_to_all(bits_.data(), bits_to, bits_of_all_.data(),
                      pieces([&](int r) { return r * mask; }, [&](int) { return mask; }));
  int64_t room = 0;
  std::vector<Piece> from;
  for (int r = 0; r < carrier_.size; ++r) {
    const int64_t bytes = r == me ? 0 : touched_floats(p, me, bits_of_all_.data() + r * mask) * kFloat;
    from.push_back({room, bytes});
    room += bytes;
  }
  received_.resize(size_t(room / kFloat));
  carrier_.all_to_all(sent_.data(), values_to, received_.data(), from);
  sum_touched(p, values, from, scale);
}

// Appends every block of other ranks that has a gradient to sent_, by rank, sets its bit in bits_, and clears
// it.
std::vector<Piece> Exchange::pack(const Parts& p, std::span<float> values) {
  const std::vector<Piece> masks = mask_pieces(p);
  bits_.assign(size_t(masks.back().at + masks.back().bytes), 0);
  sent_.clear();  // grows to the touched size
  std::vector<Piece> to;
  for (int r = 0; r < carrier_.size; ++r) {
    const auto before = int64_t(sent_.size());
    for (int64_t b = p.first_block(r); b < p.first_block(r + 1); ++b) {
      float* const block = values.data() + b * p.block;
      const int64_t n = p.block_length(b);
      if (!holds_gradient(block, n)) continue;
      set_bit(bits_.data() + masks[size_t(r)].at, b - p.first_block(r));
      ++counts_.touched;
      if (r == carrier_.rank) continue;
      sent_.insert(sent_.end(), block, block + n);
      std::fill_n(block, n, 0.0F);
    }
    counts_.blocks += p.first_block(r + 1) - p.first_block(r);
    to.push_back({before * kFloat, (int64_t(sent_.size()) - before) * kFloat});
  }
  return to;
}

// Sums the own part over the ranks that have touched it, in the order of the ranks.
void Exchange::sum_touched(const Parts& p, std::span<float> values, std::span<const Piece> from,
                           float scale) {
  const int me = carrier_.rank;
  const int64_t mask = p.mask_bytes(me), first = p.first_block(me);
  touched_.assign(size_t(mask), 0);
  std::vector<const float*> next;
  for (const Piece& piece : from) next.push_back(received_.data() + piece.at / kFloat);
  std::vector<float> sum(size_t(p.block), 0.0F);
  for (int64_t b = first; b < p.first_block(me + 1); ++b) {
    float* const own = values.data() + b * p.block;
    const int64_t n = p.block_length(b);
    std::fill(sum.begin(), sum.end(), 0.0F);
    for (int r = 0; r < carrier_.size; ++r) {
      if (!bit_of(bits_of_all_.data() + r * mask, b - first)) continue;
      set_bit(touched_.data(), b - first);
      const float* const g = r == me ? own : next[size_t(r)];
      for (int64_t i = 0; i < n; ++i) sum[size_t(i)] += g[i];
      if (r != me) next[size_t(r)] += n;
    }
    ++counts_.own_blocks;
    if (!bit_of(touched_.data(), b - first)) continue;
    ++counts_.own_touched;
    for (int64_t i = 0; i < n; ++i) own[i] = scale * sum[size_t(i)];
  }
}

// Sends the bits of all touched blocks, then these blocks.
void Exchange::gather_touched(const Parts& p, std::span<float> values) {
  const int me = carrier_.rank;
  const std::vector<Piece> masks = mask_pieces(p);
  const auto not_to_me = [&](int r, int64_t bytes) { return r == me ? 0 : bytes; };
  const auto nowhere = [](int) { return int64_t(0); };
  bits_.resize(size_t(masks.back().at + masks.back().bytes));
  carrier_.all_to_all(touched_.data(), pieces(nowhere, [&](int r) { return not_to_me(r, p.mask_bytes(me)); }),
                      bits_.data(),
                      pieces([&](int r) { return masks[size_t(r)].at; },
                             [&](int r) { return not_to_me(r, masks[size_t(r)].bytes); }));
  const int64_t own = touched_floats(p, me, touched_.data());
  sent_.resize(size_t(std::max<int64_t>(own, 1)));
  float* to = sent_.data();
  each_touched(p, me, touched_.data(),
               [&](int64_t at, int64_t n) { to = std::copy_n(values.data() + at, n, to); });
  int64_t room = 0;
  std::vector<Piece> from;
  for (int r = 0; r < carrier_.size; ++r) {
    const int64_t bytes = r == me ? 0 : touched_floats(p, r, bits_.data() + masks[size_t(r)].at) * kFloat;
    from.push_back({room, bytes});
    room += bytes;
  }
  received_.resize(size_t(room / kFloat));
  carrier_.all_to_all(sent_.data(), pieces(nowhere, [&](int r) { return not_to_me(r, own * kFloat); }),
                      received_.data(), from);
  for (int r = 0; r < carrier_.size; ++r) {
    if (r == me) continue;
    const float* next = received_.data() + from[size_t(r)].at / kFloat;
    each_touched(p, r, bits_.data() + masks[size_t(r)].at, [&](int64_t at, int64_t n) {
      std::copy_n(next, n, values.data() + at);
      next += n;
    });
  }
}

// Places the bits of the ranks' parts one after the other.
std::vector<Piece> Exchange::mask_pieces(const Parts& p) const {
  std::vector<Piece> list;
  int64_t at = 0;
  for (int r = 0; r < carrier_.size; ++r) {
    list.push_back({at, p.mask_bytes(r)});
    at += p.mask_bytes(r);
  }
  return list;
}

template <class Use>
void Exchange::each_touched(const Parts& p, int part, const uint8_t* bits, const Use& use) {
  const int64_t first = p.first_block(part);
  for (int64_t b = first; b < p.first_block(part + 1); ++b)
    if (bit_of(bits, b - first)) use(b * p.block, p.block_length(b));
}

int64_t Exchange::touched_floats(const Parts& p, int part, const uint8_t* bits) {
  int64_t count = 0;
  each_touched(p, part, bits, [&](int64_t, int64_t n) { count += n; });
  return count;
}

}  // namespace klab
