// Matches a name on the command line (select.h) with recorded names, which need not exist in this program.
#pragma once

#include <string>

namespace klab {

/// Returns whether `what` means a variant with this id, or its lab or op.
bool means(const std::string& what, const std::string& lab, const std::string& op, const std::string& id);

}  // namespace klab
