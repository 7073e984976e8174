// The built-in scene as files: read again, it is the same scene.
#include <gtest/gtest.h>

#include "labs/radiance/scene/save_scene.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

TEST(SaveScene, ReadsBackTheSameViews) {
  const TempFolder folder;
  const Scene scene = built_in_scene({.downscale = 20, .seed = 3});
  save_scene(folder.path(), scene);
  const Scene back = load_scene(folder.path().string(), {});
  EXPECT_EQ(back.scale, 1);
  EXPECT_EQ(back.cascades, scene.cascades);
  EXPECT_EQ(back.near, scene.near);
  EXPECT_TRUE(back.has_alpha());
  EXPECT_TRUE(back.notes.empty()) << back.notes.front();
  for (const auto& [views, originals] : {std::pair{&back.train, &scene.train}, {&back.test, &scene.test}}) {
    ASSERT_EQ(views->size(), originals->size());
    for (size_t i = 0; i < views->size(); ++i) {
      const View &a = (*views)[i], &b = (*originals)[i];
      EXPECT_EQ(a.image.rgba, b.image.rgba) << b.name;
      for (size_t k = 0; k < 12; ++k) EXPECT_NEAR(a.camera.pose[k], b.camera.pose[k], 1e-5) << b.name;
      EXPECT_NEAR(a.camera.fx, b.camera.fx, 1e-4);
      EXPECT_NEAR(a.camera.cy, b.camera.cy, 1e-4);
    }
  }
}

}  // namespace
}  // namespace klab
