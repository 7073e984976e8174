// Properties of this build. The definition is generated during the build.
#pragma once

#include <string>

namespace klab {

struct BuildInfo {
  std::string compiler;  // "GNU 12.2.0"
  std::string flags;     // build type, and flags that change the code
  /// Instruction sets of the kernels' vectors: "AVX3", "all"; empty if the build does not say.
  std::string isa;
  std::string commit;  // git describe; "unknown" outside a checkout
  bool dirty = false;  // built with uncommitted changes
  std::string onednn;  // version, or "none"
  std::string openblas;
  std::string benchmark;
};

const BuildInfo& build_info();

}  // namespace klab
