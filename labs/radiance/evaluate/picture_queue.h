// Renders many views through one queue.
//
// Frame by frame, all threads share every call, wait for each other after it, and wait for the one that
// writes the file. Here a queue holds stretches of pixels of all views, in order. Each thread takes the next
// stretch and computes all of it alone: marching, networks and compositing. The thread that finishes a view's
// last stretch writes its file while the others continue with the next views. Fields that draw pictures as a whole have whole
// pictures in the queue.
#pragma once

#include <functional>
#include <span>

#include "labs/radiance/evaluate/field_model.h"

namespace klab {

struct QueueOptions {
  int workers = 1;
  int64_t pixels = Renderer::kRays;  // of a stretch
};

/// Renders every camera and passes its picture to `done`, on the thread that finished it. Pictures arrive
/// nearly in the cameras' order, and two calls of `done` may overlap. The pictures equal those of
/// Renderer::render() with the same number of pixels at a time, bit by bit. Rethrows the first error of a
/// worker after all have ended. The model must outlive the call.
void render_all(const Model& model, const Plan& plan, std::span<const Camera> cameras,
                const QueueOptions& options, const std::function<void(size_t index, const Picture&)>& done);

/// The same for a field of any kind on the processor. Those without stretches: each worker has a renderer of its own, and draws whole
/// pictures, `pixels` at a time.
void render_all(const FieldModel& model, const Plan& plan, std::span<const Camera> cameras,
                const QueueOptions& options, const std::function<void(size_t index, const Picture&)>& done);

}  // namespace klab
