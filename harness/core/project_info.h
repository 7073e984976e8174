// The project that a program belongs to: klab, or one that builds its own kernels with klab as a library.
#pragma once

#include <string>

namespace klab {

struct ProjectInfo {
  std::string name = "klab";  // of the program
  std::string commit;         // that its rows carry, as in BuildInfo
  bool dirty = false;
};

/// Returns klab itself, or the project that has registered itself.
const ProjectInfo& project_info();

/// Names another project. The source that KlabKernels.cmake generates for it has one of these.
class ProjectRegistrar {
 public:
  explicit ProjectRegistrar(ProjectInfo project);
};

}  // namespace klab
