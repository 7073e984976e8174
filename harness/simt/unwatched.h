// Blocks of a watched launch that are not watched themselves: which share of the blocks is, and what the others write.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/simt/session.h"

namespace klab::simt {

/// In programs: returns the share of the blocks that begin now which is to be watched. nullptr: that of the options.
extern double (*share_of_blocks)();
/// In programs: called when a watched launch has ended.
extern void (*launch_was_watched)(uint64_t watched_blocks, uint64_t blocks);

double share_now(const Options& options);

/// Marks global memory as written by a block that is not watched, so that watched ones may read it.
void written_unwatched(const void* p, size_t bytes);

}  // namespace klab::simt
