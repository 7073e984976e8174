// The debug information of a module, for the files that read it.
#pragma once

#include <elfutils/libdw.h>

#include <functional>

#include "harness/simt/modules.h"

namespace klab::simt {

/// Calls `each` for every unit of a module's debug information.
void each_unit(const Module& module, const std::function<void(Dwarf_Die* unit)>& each);

}  // namespace klab::simt
