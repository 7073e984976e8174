// Counts requests as the compiled code makes them: addresses come from the run on the host, widths and numbers of instructions
// from the machine code (compiled_code.h).
//
// What one pass through the compiled code moves for a line is known: so many bytes a lane, by instructions of such widths. The
// addresses of the source's accesses fill one pass after the other. An address that the pass holds already has been loaded, and
// lies in a register, unless it is the same access again in a loop that the compiled code has as well. A pass that is full, or that a barrier or a store ends behind which values are no longer known, is cut
// into requests: neighbors in memory go together as far as the widths allow.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/simt/compiled_code.h"
#include "harness/simt/flow.h"
#include "harness/simt/modules.h"
#include "harness/simt/profile.h"

namespace klab::simt {

/// Requests, lanes, bytes, sectors, wavefronts, collisions of one request. `address`: of the lanes in `mask`.
Counts cost_of(Space space, bool write, bool atomic, uint32_t bytes, uint32_t mask, const uintptr_t* address);

class CompiledCounter {
 public:
  /// `code` nullptr: nothing is counted.
  /// `flow`: what is seen of the kernel's blocks of code while it runs.
  void launch_begins(const CompiledCode* code, const std::string& kernel, Profile* profile, Flow* flow);
  bool counts() const { return kernel_ != nullptr; }
  /// The site is in that block of code.
  void seen(uint16_t site, uintptr_t block) {
    if (block_of_.size() <= site) block_of_.resize(size_t(site) + 1, 0);
    block_of_[site] = block;
  }
  void request(unsigned warp, uint16_t site, uint32_t bytes, uint32_t mask, const uintptr_t* address);
  /// All threads have met: what they loaded before, they load again.
  void barrier();
  void warp_synchronized(unsigned warp);
  void block_ended();

 private:
  struct Request {
    uint32_t mask, bytes;
    uint16_t site;
    uintptr_t address[32];
  };
  struct Pass {
    uint16_t site = 0;  // of its first access
    unsigned bytes = 0;
    std::vector<Request> held;
    std::vector<Request> again;  // what it held already
  };
  static constexpr int kUnknown = -2, kNone = -1;

  const CompiledAccess* compiled(uint16_t site);
  bool unrolled(const CompiledAccess& a, uint16_t site);
  Pass& pass_of(unsigned warp, size_t access);
  void settle(const CompiledAccess& a, Pass& pass);
  void count(const Request& r, uint16_t site, unsigned rows);
  void settle_kind(unsigned warp, Space space, bool write);
  template <class Wanted>
  void settle_all(Wanted wanted);

  const CompiledKernel* kernel_ = nullptr;
  Profile* profile_ = nullptr;
  Flow* flow_ = nullptr;
  std::vector<uintptr_t> block_of_;        // of each site
  std::vector<int> access_of_;             // of each site, as an index of the kernel's accesses
  std::vector<SourceLine> line_of_;        // of each site, once asked for
  std::vector<std::vector<Pass>> passes_;  // of each warp, by access
};

}  // namespace klab::simt
