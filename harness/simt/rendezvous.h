// Where threads of a block wait for each other: barriers, meetings of lanes, waits for something that another thread does.
#pragma once

#include <array>
#include <cstdint>

#include "harness/simt/fibers.h"

namespace klab::simt {

class Rendezvous : public Fibers {
 public:
  // The next functions are called on a fiber.
  void wait_for_grid(const char* file, int line);
  int wait_at_barrier(Vote vote, int predicate, const char* file, int line);
  void wait_for_lanes(Meeting what, unsigned mask, void* slot, void (*act)(void* const*, unsigned),
                      const char* name, const char* file, int line);
  /// Suspends the running thread until another calls wake() with the same `what`. Returns false if it was woken because no
  /// thread of the block could go on.
  bool wait_until_woken(const void* what, const char* name, const char* file, int line);
  bool wake(const void* what);

 protected:
  Rendezvous() = default;
  ~Rendezvous() = default;

  /// Holds the meetings of a warp for which all lanes are there. Returns whether there are any.
  bool hold_meetings(unsigned warp);
  /// Lets threads go on that wait at the barrier, if all that have not ended do.
  bool release_barrier();
  bool all_at_grid() const;

  std::array<uint8_t, 32> in_meetings_{};  // by warp: lanes that wait for others of it
  int vote_ = 0;
  bool divergence_told_ = false;
};

}  // namespace klab::simt
