// Exchange of only those blocks that some rank has touched.
#include <algorithm>
#include <bit>

#include "labs/radiance/ranks/exchange.h"

namespace klab {
namespace {

constexpr int64_t kFloatExchangeTouched = sizeof(float);

bool bit_of(const uint8_t* bits, int64_t i) { return (bits[i / 8] >> (i % 8) & 1) != 0; }
void set_bit(uint8_t* bits, int64_t i) { bits[i / 8] = uint8_t(bits[i / 8] | 1 << (i % 8)); }

/// Returns whether any value is neither +0 nor -0; NaN and infinity count.
bool holds_gradient(const float* g, int64_t count) {
  uint32_t any = 0;
  for (int64_t i = 0; i < count; ++i) any |= std::bit_cast<uint32_t>(g[i]);
  return any << 1 != 0;
}

}  // namespace

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
    const int64_t bytes =
        r == me ? 0 : touched_floats(p, me, bits_of_all_.data() + r * mask) * kFloatExchangeTouched;
    from.push_back({room, bytes});
    room += bytes;
  }
  received_.resize(size_t(room / kFloatExchangeTouched));
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
    to.push_back({before * kFloatExchangeTouched, (int64_t(sent_.size()) - before) * kFloatExchangeTouched});
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
  for (const Piece& piece : from) next.push_back(received_.data() + piece.at / kFloatExchangeTouched);
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
    const int64_t bytes =
        r == me ? 0 : touched_floats(p, r, bits_.data() + masks[size_t(r)].at) * kFloatExchangeTouched;
    from.push_back({room, bytes});
    room += bytes;
  }
  received_.resize(size_t(room / kFloatExchangeTouched));
  carrier_.all_to_all(sent_.data(),
                      pieces(nowhere, [&](int r) { return not_to_me(r, own * kFloatExchangeTouched); }),
                      received_.data(), from);
  for (int r = 0; r < carrier_.size; ++r) {
    if (r == me) continue;
    const float* next = received_.data() + from[size_t(r)].at / kFloatExchangeTouched;
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
