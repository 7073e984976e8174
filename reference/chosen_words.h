// Random words that lie just below the one at which the next of several things is chosen: rounded to a float they choose it, or one
// behind the last. For the boundaries of contracts that draw views and places (draw_rays, error_map_weigh).
#pragma once

#include <cstdint>

namespace klab {

/// Whether a word that is rounded to 24 bits may choose the next of `count` things, or one behind the last.
inline bool is_below_next(uint32_t word, int64_t count) {
  constexpr uint64_t kStep = 32;
  return word * uint64_t(count) >> 32 != (word + kStep) * uint64_t(count) >> 32;
}

/// Keys found by search: with kHighSeed above them, in step 1, the word of ray 0 that chooses its view, or its place in it, is just
/// below that of the next.
struct ChosenKey {
  int64_t views;  // 0: below that behind the last, whatever their number is
  uint32_t seed;
};
inline constexpr uint32_t kHighSeed = 0x9E3779B9;
inline constexpr ChosenKey kViewKeys[] = {{0, 428669053}, {2, 152730965}, {3, 582631924},
                                          {3, 180998417}, {4, 181917942}, {4, 222652045}};
inline constexpr uint32_t kPlaceKey = 300309054;

}  // namespace klab
