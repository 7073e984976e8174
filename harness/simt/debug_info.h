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

}  // namespace klab::simt
