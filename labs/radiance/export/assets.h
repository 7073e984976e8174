// The page's frame, script and shaders: the files next to this one, as strings.
#pragma once

namespace klab::viewer {

const char* html();           // with {{names}} that page.cpp fills in
const char* script();         // viewer.js
const char* splat_script();   // splats.js
const char* common_shader();  // common.glsl: rays, and the grid's cells
const char* harmonics();      // harmonics.glsl
const char* hash_shader();    // hash.glsl
const char* voxel_shader();   // voxels.glsl
const char* splat_shader();   // splats.glsl

}  // namespace klab::viewer
