// The page's frame, script and shaders: the files next to this one, as strings.
#pragma once

namespace klab::viewer {

const char* html();           // with {{names}} that page.cpp fills in
const char* script();         // viewer.js
const char* common_shader();  // common.glsl: what all shaders begin with
const char* hash_shader();    // hash.glsl
const char* voxel_shader();   // voxels.glsl

}  // namespace klab::viewer
