#include "harness/core/project_info.h"

#include <utility>

#include "harness/core/build_info.h"

namespace klab {
namespace {

ProjectInfo& present_project() {
  static ProjectInfo info{.name = "klab", .commit = build_info().commit, .dirty = build_info().dirty};
  return info;
}

}  // namespace

const ProjectInfo& project_info() { return present_project(); }

ProjectRegistrar::ProjectRegistrar(ProjectInfo project) { present_project() = std::move(project); }

}  // namespace klab
