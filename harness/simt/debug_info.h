// The debug information of a module, for the files that read it.
#pragma once

#include <elfutils/libdw.h>

#include <functional>

#include "harness/simt/modules.h"

namespace klab::simt {

/// Calls `each` for every unit of a module's debug information.
void each_unit(const Module& module, const std::function<void(Dwarf_Die* unit)>& each);

/// Calls `each` for every scope that contains the code before a return address: blocks, functions that were inlined
/// there, the function, innermost first.
void each_scope_at(const void* return_address, const std::function<void(Dwarf_Die* scope)>& each);

/// The machine code of a function: from its first byte to the one behind its last.
struct FunctionRange {
  const char *begin = nullptr, *end = nullptr;
};
/// Returns the function that contains the code before a return address, nulls if it is not known.
FunctionRange function_at(const void* return_address);

}  // namespace klab::simt
