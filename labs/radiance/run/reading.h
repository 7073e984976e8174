// Reads scenes with a progress line.
#pragma once

#include <fmt/format.h>

#include "harness/report/table.h"
#include "labs/radiance/scene/scene.h"

namespace klab {

/// Calls load_scene() with a line on the terminal that counts pictures and is removed at the end.
inline Scene load_scene_visibly(const std::string& what, SceneOptions options) {
  Progress line;
  options.progress = [&](size_t done, size_t all) {
    line.show(fmt::format("reading   {} of {} pictures", done, all));
  };
  return load_scene(what, options);
}

/// Calls load_pictures() the same way.
inline void load_pictures_visibly(std::vector<View>& views) {
  Progress line;
  load_pictures(views, [&](size_t done, size_t all) {
    line.show(fmt::format("reading   {} of {} pictures", done, all));
  });
}

}  // namespace klab
