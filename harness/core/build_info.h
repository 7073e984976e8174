// What this build is. The definition is generated when it is built.
#pragma once

#include <string>

namespace klab {

struct BuildInfo {
  std::string compiler;  // "GNU 12.2.0"
  std::string flags;     // build type and those that change code
  std::string commit;    // git describe; "unknown" outside a checkout
  bool dirty = false;    // built with changes that are not committed
  std::string onednn;    // version, or "none"
  std::string openblas;
  std::string benchmark;
};

const BuildInfo& build_info();

}  // namespace klab
