// Counts requests as the compiled code makes them. Addresses come from the run on the host; widths and
// numbers of instructions come from the machine code (compiled_code.h).
//
// The machine code says how many bytes one pass moves for a line, and with instructions of which widths. The
// source's accesses fill one pass after the other. An address that the pass already holds is in a register,
// unless the same access repeats in a loop that the compiled code has too. A pass ends when it is full, or at
// a barrier or a store after which its values may be stale. It is then cut into requests: neighbors in memory
// are merged as far as the widths allow.
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

/// Returns requests, lanes, bytes, sectors, wavefronts and collisions of one request. `address` has an entry
/// for each lane in `mask`.
Counts cost_of(Space space, bool write, bool atomic, uint32_t bytes, uint32_t mask, const uintptr_t* address);

class CompiledCounter {
 public:
  /// Starts counting for a launch; counts nothing if `code` is nullptr. `flow` holds the blocks of code seen
  /// while the kernel runs.
  void launch_begins(const CompiledCode* code, const std::string& kernel, Profile* profile, Flow* flow);
  bool counts() const { return kernel_ != nullptr; }
  /// Records the block of code that contains the site.
  void seen(uint16_t site, uintptr_t block) {
    if (block_of_.size() <= site) block_of_.resize(size_t(site) + 1, 0);
    block_of_[site] = block;
  }
  void request(unsigned warp, uint16_t site, uint32_t bytes, uint32_t mask, const uintptr_t* address);
  /// Counts a request of the copy engine: one instruction makes one.
  void engine_request(uint16_t site, const Counts& cost);
  /// Ends all passes: after a barrier, threads load values again.
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
    uint16_t site = 0;  // site of its first access
    unsigned bytes = 0;
    std::vector<Request> held;
    std::vector<Request> again;  // accesses to addresses that the pass already held
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
  std::vector<uintptr_t> block_of_;        // by site
  std::vector<int> access_of_;             // by site: index into the kernel's accesses
  std::vector<SourceLine> line_of_;        // by site, looked up on first use
  std::vector<std::vector<Pass>> passes_;  // by warp and access
};

}  // namespace klab::simt
