#include "harness/simt/unwatched.h"

#include <algorithm>

#include "harness/simt/memory.h"
#include "harness/simt/shadow.h"

namespace klab::simt {

double (*share_of_blocks)() = nullptr;
void (*launch_was_watched)(uint64_t watched_blocks, uint64_t blocks) = nullptr;

double share_now(const Options& options) {
  return share_of_blocks != nullptr ? std::min(options.share, share_of_blocks()) : options.share;
}

void written_unwatched(const void* p, size_t bytes) {
  if (!watching || !is_device(p)) return;
  const auto* c = static_cast<const char*>(p);
  Allocation* a = owner_of(c);
  if (a == nullptr || !a->live || c < a->begin || c + bytes > a->begin + a->bytes) return;
  Cell* cells = shadow_of(*a);
  const auto from = size_t(c - a->begin), to = from + bytes;
  for (size_t w = from / 4; w < (to + 3) / 4; ++w) {
    const size_t first = w * 4 < from ? from - w * 4 : 0, last = std::min<size_t>(to - w * 4, 4);
    const auto mask = uint8_t((1u << last) - (1u << first));
    if ((__atomic_load_n(&cells[w].defined, __ATOMIC_RELAXED) & mask) == mask) continue;
    const HeldCell held(cells[w]);
    cells[w].defined |= mask;
  }
}

}  // namespace klab::simt
