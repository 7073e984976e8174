// Says what is wrong with an access: which thread, which memory, which other access. A finding waits if only later accesses tell
// whether it holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/simt/contain.h"
#include "harness/simt/finding.h"
#include "harness/simt/memory.h"
#include "harness/simt/shared_memory.h"
#include "harness/simt/trace_count.h"
#include "harness/simt/trace_order.h"

namespace klab::simt {

class TraceFind : public TraceOrder {
 public:
  /// Reports an index outside its array, as checked by the compiler; `array` is the array's type.
  void bad_index(int64_t index, const std::string& array, const char* file, int line, const void* pc);
  /// Reports a structure at an address that is no multiple of its alignment, as checked by the compiler. Ends the launch.
  void bad_alignment(const void* p, size_t alignment, bool write, const std::string& type, const char* file,
                     int line, const void* pc);

 protected:
  void launch_begins(Executor& executor, Session& session, Profile* profile, const Launch& launch,
                     GridRun* grid);

  uint16_t site_of(const void* pc, Space space, uint8_t how, size_t bytes) {
    return count_.site_of(pc, space, how, bytes);
  }
  const void* place_of(uint16_t site) const { return count_.place_of(site); }
  void place(Finding& finding, const void* pc) const;

  /// Reports an access that nothing orders behind an earlier one.
  void race(Cell& cell, bool with_writer, const char* p, unsigned bytes, uint8_t how, uint16_t site,
            bool shared);
  /// Reports two writes of one statement of a library, of which either may be lost, when the word is read.
  bool is_read_after_loss(const Cell& cell, const char* word);
  [[noreturn]] void misaligned(const void* p, size_t bytes, uint8_t how, const void* pc);
  /// Reports an access outside the kernel's memory. Ends the launch, or returns if the kernel may go on.
  void illegal(const void* p, size_t bytes, uint8_t how, const void* pc);
  /// Handles an address outside all memory that has a shadow. Returns true for parameters, tables and
  /// __constant__ memory (and counts accesses to the last); else sets the __device__ variable that contains it.
  /// Any other address is illegal, and counts as handled.
  bool is_constant(const char* c, size_t bytes, uint8_t how, const void* pc, Allocation** variable);
  /// Ends the launch for the bad index that bad_index() left to the access that was to follow.
  void index_was_bad();
  void settle();  // judges the pending write, which may have changed nothing, and undoes illegal accesses
  void judge();
  /// Returns the structure that the running access is a piece of, or nullptr.
  const char* structure() const {
    return executor_->aggregate.bytes != 0 ? executor_->aggregate.begin : nullptr;
  }
  std::string who(uint32_t interval, uint16_t thread) const;
  /// Names a word of shared memory, also of another block.
  std::string name_in_shared(const char* p, uint16_t site) const;
  /// Returns whether bytes hold the number 1, as a flag does.
  static bool is_one(const char* p, unsigned bytes);

  Session* session_ = nullptr;
  TraceCount count_;
  SharedMemory shared_;
  SharedMemory* owner_ = &shared_;  // of the block whose shared memory is accessed
  const char* parameters_ = nullptr;
  size_t parameter_bytes_ = 0;
  Contained contained_;
  struct BadIndex {
    const Lane* lane = nullptr;  // nullptr: none
    Finding finding;
  } bad_index_;
  /// Two writes to one word of shared memory whose order is not known, which does no harm until the word is read.
  struct Loss {
    const char* word = nullptr;
    uint32_t interval = 0;  // of the second write
    uint16_t writer = 0;
    Finding finding;
  };
  std::vector<Loss> losses_;
  bool unsettled_ = false;  // one of these two is pending, or a doubt

 private:
  Finding illegal_access(const char* c, size_t bytes, uint8_t how) const;
  /// Prepares for an illegal access whose memory can be made to look harmless.
  bool may_go_on(const char* c, size_t bytes, uint8_t how);
  /// Names the readers of a set that are not ordered before the running thread.
  std::string readers_of(uint16_t set) const;
  std::string who_am_i() const;

  struct Doubt {
    const char* p = nullptr;
    unsigned bytes = 0;
    char before[16] = {};
    bool may_be_flag = false;    // a word that becomes 1 is a flag, which needs no order
    Cell* until_read = nullptr;  // reported only if the word is read
    Finding finding;
  } doubt_;
};

}  // namespace klab::simt
