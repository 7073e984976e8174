// Which branches of a traced module watched runs have entered.
//
// The compiler calls __sanitizer_cov_trace_pc() at the beginning of every basic block (hooks.cpp). A byte for each address of the module
// keeps whether that call was ever made from there; the calls themselves are found in the machine code.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/simt/modules.h"

namespace klab::simt {

/// The marks of one module.
struct EnteredCode {
  const char* begin = nullptr;
  size_t bytes = 0;
  uint8_t* marks = nullptr;  // one for each byte of code
};

inline constexpr int kMarkedModules = 4;
extern EnteredCode entered_code[kMarkedModules];
extern std::atomic<int> entered_modules;  // of these, those that are in use

/// Marks the branch with that return address. Calls from several threads write the same value.
inline void mark_entered(const void* return_address) {
  const auto* const at = static_cast<const char*>(return_address);
  for (int k = 0; k < entered_modules.load(std::memory_order_acquire); ++k) {
    const EnteredCode& code = entered_code[k];
    const auto offset = size_t(at - code.begin);
    if (offset >= code.bytes) continue;
    std::atomic_ref<uint8_t> mark(code.marks[offset]);
    if (mark.load(std::memory_order_relaxed) == 0) mark.store(1, std::memory_order_relaxed);
    return;
  }
}

/// Begins to mark the branches of a module; modules beyond kMarkedModules are left out.
void mark_branches_of(const Module& module);

/// Returns the lines of a source file with branches of device code that no watched run has entered, in ascending order. Only
/// functions of which some branch was entered are searched, and a line counts as entered where one of its branches was, in
/// any instance of a template. Empty where no watched run has entered the file.
std::vector<int> lines_not_entered(const std::string& file);

}  // namespace klab::simt
