#include "labs/radiance/ranks/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

}  // namespace klab
