// Many views at once through one queue.
//
// Frame by frame, all threads share every call, wait for each other behind it, and wait for whoever writes the file. Here the
// queue holds stretches of pixels of all views, in order; each thread takes the next one and does all of it, marching, networks and
// compositing, by itself, and whoever ends a view's last stretch writes its file, while the others are at the next views.
#pragma once

#include <functional>
#include <span>

#include "labs/radiance/evaluate/renderer.h"

namespace klab {

struct QueueOptions {
  int workers = 1;
  int64_t pixels = Renderer::kRays;  // of a stretch
};

/// Renders every camera and hands its picture to `done`, on the thread that ended it: pictures come in nearly the cameras' order, two
/// calls of `done` may overlap. The pictures are Renderer::render()'s with as many pixels at a time, bit by bit. Throws what a
/// worker threw first, when all have ended; the model must outlive the call.
void render_all(const Model& model, const Plan& plan, std::span<const Camera> cameras,
                const QueueOptions& options, const std::function<void(size_t index, const Picture&)>& done);

}  // namespace klab
