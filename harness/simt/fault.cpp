#include "harness/simt/fault.h"

#include <ucontext.h>

#include <cstdio>

#include "harness/simt/executor.h"
#include "harness/simt/memory.h"
#include "harness/simt/modules.h"

namespace klab::simt {
namespace {

/// Returns the program counter at the fault; nullptr on processors whose context is not known.
const char* place_of(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<const char*>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const char*>(machine.pc);
#else
  (void)machine;
  return nullptr;
#endif
}

Finding finding_of(int signal, const siginfo_t* info, const Lane& lane) {
  if (signal == SIGFPE)
    return {.kind = Kind::trap, .text = "integer division by zero, whose result a GPU does not define"};
  // x86-64 reports a misaligned access as a fault without an address, other processors as SIGBUS.
  if (signal == SIGBUS || info->si_code == SI_KERNEL)
    return {.kind = Kind::misaligned, .text = "an access that is not aligned to its size"};
  const auto* at = static_cast<const char*>(info->si_addr);
  const char* stack = lane.fiber != nullptr ? lane.fiber->stack : nullptr;
  if (stack != nullptr && at < stack && at >= stack - (64 << 10))
    return {.kind = Kind::out_of_bounds, .text = "the thread's local memory is used up (256 KiB)"};
  Finding f{.kind = Kind::out_of_bounds};
  if (const Allocation* a = allocation_at(at); a != nullptr) {
    if (!a->live) f.kind = Kind::use_after_free;
    const int64_t off = at < a->begin ? a->begin - at : at - (a->begin + a->bytes);
    f.text = "access to " + a->name + " (" + std::to_string(a->bytes) + " bytes), " +
             (!a->live ? "which has been freed"
                       : std::to_string(off) +
                             (at < a->begin ? " bytes before its beginning" : " bytes past its end"));
    return f;
  }
  char hex[32];
  std::snprintf(hex, sizeof hex, "%p", info->si_addr);
  f.text = std::string("access to ") + hex + ", which is no device memory" +
           (reinterpret_cast<uintptr_t>(at) < 4096 ? " (a null pointer)" : "");
  return f;
}

}  // namespace

void kernel_fault(int signal, const siginfo_t* info, const void* context) {
  if (signal != SIGSEGV && signal != SIGBUS && signal != SIGFPE) return;
  if (running == nullptr || running->lane == nullptr) return;
  const char* pc = place_of(context);
  // Outside kernels the fault may be klab's own, with data in an unknown state.
  if (pc == nullptr || module_at(pc) == nullptr) return;
  Finding f = finding_of(signal, info, *running->lane);
  // +1 because source_of() expects a return address, which is behind the call
  const SourceLine at = source_of(pc + 1);
  f.file = at.file;
  f.line = at.line;
  sigset_t mine;
  sigemptyset(&mine);
  sigaddset(&mine, signal);
  // this handler never returns, so the signal would stay blocked
  pthread_sigmask(SIG_UNBLOCK, &mine, nullptr);
  running->abandon(std::move(f));
}

}  // namespace klab::simt
