// Accesses that an agent makes in a thread's stead (async_order.h): bulk copies, matrix products, the copy engine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/simt/trace_peers.h"

namespace klab::simt {

class TraceAgents : public TracePeers {
 public:
  /// Checks a read by an agent of shared memory, whole words, ordered as the running thread's accesses are. The first error is
  /// reported at `file`:`line`, and ends the check: false.
  /// `owner`: of the agent, if that is another block of the cluster.
  bool agent_reads(const char* p, size_t bytes, uint16_t agent, uint16_t sync, const void* pc,
                   const char* file, int line, const TraceAgents* owner = nullptr);
  /// Checks the write that initializes a barrier, which is not counted.
  void barrier_written(char* p, const void* pc);
  /// Checks the issue of a copy to shared memory; the data are in flight until agent_landed().
  /// `owner`: of the memory and of the agent, if that is another block of the cluster, which has the address `p`. `reduces`: it
  /// combines with what is there, in any order with others that do.
  void agent_writes(char* p, size_t bytes, uint16_t agent, uint16_t sync, const void* pc,
                    TraceAgents* owner = nullptr, bool reduces = false);
  /// The same for a copy in flight that the running thread has issued itself.
  void agent_takes(char* p, size_t bytes, uint16_t agent, uint16_t sync);
  void agent_landed(char* p, size_t bytes, uint16_t sync);
  /// A bulk copy will write these bytes of global memory, or has written them.
  void engine_pending(const char* p, size_t bytes, bool pending);
  /// Checks an access of the copy engine to neighbors in global memory.
  void copy_engine_accesses(const char* p, size_t bytes, bool write, const void* pc, bool atomic = false);

 private:
  bool agent_reads_word(Cell& cell, const char* word, uint16_t agent, uint16_t sync, uint32_t when,
                        uint16_t site, const char* file, int line);
  /// Returns false if the write is wrong, and has been reported.
  bool agent_may_write(Cell& cell, const char* word, uint16_t site, bool reduces);
};

}  // namespace klab::simt
