// The folder of a site: written whole under another name next to it, then renamed.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "harness/cli/site/site.h"

namespace klab {

/// What the written site holds.
struct WrittenSite {
  size_t files = 0;
  int64_t bytes = 0;
};

/// Throws std::runtime_error in one line, before anything is made, if the site cannot be written to this folder: one that is no site of
/// klab or holds other files as well, a file, a place that cannot be written to.
void require_site_folder(const std::filesystem::path& folder);

/// Makes all pages and puts them into the folder. A former site there is replaced at the end; until then it stays as it is. `progress`
/// is called with the path that is being made. Returns nothing if `interrupted` returns true. Throws what pages throw, and
/// std::runtime_error if a file cannot be written. Nothing is left behind in either case.
std::optional<WrittenSite> write_site(Site& site, const std::filesystem::path& folder,
                                      const std::function<void(const std::string&)>& progress,
                                      const std::function<bool()>& interrupted);

}  // namespace klab
