// Where the tensors of a checked call begin: kernels believe more of pointers than a contract promises.
#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

namespace klab {

/// Where tensors begin, relative to 64 bytes.
enum class Alignment {
  whole,    // all on them
  odd,      // each by another odd number of elements
  vectors,  // each by another one of 4, 12, 8 and 2 elements: on 16 bytes, but not on 32 or 64; on 8 only
  mixed,    // some on 64 bytes, the others by anything
};
inline constexpr Alignment kAlignments[] = {Alignment::whole, Alignment::odd, Alignment::vectors,
                                            Alignment::mixed};

/// How many elements each tensor begins behind 64 bytes. Every third turn one tensor alone is off, for variants that look at one pointer and believe the others.
inline std::vector<int64_t> offsets_for(size_t tensors, Alignment alignment, size_t turn) {
  constexpr int64_t vectors[] = {4, 12, 8, 2}, mixed[] = {0, 1, 4, 0, 12, 2, 0, 3, 8};
  std::vector<int64_t> list(tensors, 0);
  for (size_t k = 0; k < tensors; ++k) {
    if (alignment == Alignment::mixed) list[k] = mixed[(5 * k + turn) % std::size(mixed)];
    if (turn % 3 == 2 && k != turn / 3 % tensors) continue;
    if (alignment == Alignment::odd) list[k] = int64_t(1 + 2 * k) % 16;
    if (alignment == Alignment::vectors) list[k] = vectors[(k + turn / 9) % std::size(vectors)];
  }
  return list;
}

/// The same where whole vectors fit in every row. One tensor alone is off, each in turn: a kernel that moves vectors all the same has not
/// tested that pointer.
inline std::vector<int64_t> offsets_of_one(size_t tensors, Alignment alignment, size_t turn) {
  std::vector<int64_t> list(tensors, 0);
  if (alignment != Alignment::whole && tensors > 0)
    list[turn % tensors] = alignment == Alignment::odd ? 1 : alignment == Alignment::vectors ? 2 : 3;
  return list;
}

}  // namespace klab
