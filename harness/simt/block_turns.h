// How far the blocks of a launch outnumber the threads that join their results.
//
// A kernel that adds one partial sum a block by one thread each is right while a grid has no more blocks than a block has threads. Whether
// a call went beyond that shows in its launches.
#pragma once

namespace klab::simt {

/// Forgets the launches of this host thread.
void reset_block_turns();

/// Returns the most blocks for each joining thread among the launches of this host thread since reset_block_turns(): 2 if a block had to
/// take two results a thread. A launch whose blocks pass a fence of the whole device may be joined by one of its own blocks; any launch by the
/// next one, if that has fewer blocks. 0 without a launch of either kind. Launches whose blocks run on several host threads
/// (simt::Options::threads) count without their fences.
double block_turns();

}  // namespace klab::simt
