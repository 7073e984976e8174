// Loops that stay scalar, for rungs whose story is one element at a time: both compilers turn such loops into
// vectors on their own, and then there is nothing to compare the vectorized rung with.
//
//   KLAB_SCALAR_FUNCTION void run(const Args& x) {
//     KLAB_SCALAR_LOOP
//     for (int64_t i = 0; i < n; ++i) ...
//   }
//
// GCC holds vectorization off for a function, Clang for a loop (its innermost one), so a rung has both.
#pragma once

#if defined(__clang__)
#define KLAB_SCALAR_FUNCTION
#define KLAB_SCALAR_LOOP _Pragma("clang loop vectorize(disable) interleave(disable)")
#else
#define KLAB_SCALAR_FUNCTION __attribute__((optimize("no-tree-vectorize")))
#define KLAB_SCALAR_LOOP
#endif
