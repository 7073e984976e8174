#include "labs/radiance/evaluate/picture_queue.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace klab {
namespace {

/// Hands out the stretches of all views, in order.
class Queue {
 public:
  Queue(std::span<const Camera> cameras, int64_t pixels)
      : cameras_(cameras), pixels_(pixels), views_(cameras.size()) {
    for (size_t i = 0; i < cameras.size(); ++i) {
      views_[i].begin = stretches_;
      views_[i].left = (int64_t(cameras[i].width) * cameras[i].height + pixels - 1) / pixels;
      stretches_ += views_[i].left;
    }
  }

  struct Stretch {
    size_t view;
    int64_t first, pixels;
    Picture* picture;
  };
  /// Returns false if there is none left.
  bool take(Stretch& s) {
    const std::scoped_lock lock(mutex_);
    if (next_ >= stretches_) return false;
    while (at_ + 1 < views_.size() && views_[at_ + 1].begin <= next_) ++at_;
    View& v = views_[at_];
    const Camera& c = cameras_[at_];
    if (v.begin == next_) v.picture = Renderer::empty_picture(c);
    s = {at_, (next_ - v.begin) * pixels_, pixels_, &v.picture};
    s.pixels = std::min(pixels_, int64_t(c.width) * c.height - s.first);
    ++next_;
    return true;
  }
  /// Returns whether this was its view's last stretch.
  bool ended(const Stretch& s) {
    const std::scoped_lock lock(mutex_);
    return --views_[s.view].left == 0;
  }
  void forget(const Stretch& s) { views_[s.view].picture = Picture(); }
  /// Stops handing out stretches.
  void stop() {
    const std::scoped_lock lock(mutex_);
    next_ = stretches_;
  }

 private:
  struct View {
    int64_t begin = 0, left = 0;  // stretches
    Picture picture;
  };
  std::span<const Camera> cameras_;
  int64_t pixels_, stretches_ = 0, next_ = 0;
  size_t at_ = 0;
  std::mutex mutex_;
  std::vector<View> views_;
};

/// Runs `work` on threads whose calls have one thread each. After an error `stop` ends the others; the first error is rethrown.
void on_workers(int workers, const std::function<void()>& work, const std::function<void()>& stop) {
  std::mutex mutex;
  std::exception_ptr error;
  const auto guarded = [&] {
    try {
      omp_set_num_threads(1);  // for the calls of this thread
      work();
    } catch (...) {
      stop();
      const std::scoped_lock lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < std::max(1, workers); ++i) threads.emplace_back(guarded);
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace

void render_all(const Model& model, const Plan& plan, std::span<const Camera> cameras, const QueueOptions& o,
                const std::function<void(size_t, const Picture&)>& done) {
  Queue queue(cameras, o.pixels);
  const auto work = [&] {
    Renderer renderer(model, plan, o.pixels);
    for (Queue::Stretch s{}; queue.take(s);) {
      renderer.draw(cameras[s.view], s.first, s.pixels, *s.picture);
      if (!queue.ended(s)) continue;
      done(s.view, *s.picture);
      queue.forget(s);
    }
  };
  on_workers(o.workers, work, [&] { queue.stop(); });
}

void render_all(const FieldModel& model, const Plan& plan, std::span<const Camera> cameras,
                const QueueOptions& o, const std::function<void(size_t, const Picture&)>& done) {
  if (const Model* hash = model.as_hash()) return render_all(*hash, plan, cameras, o, done);
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    const FieldPictures pictures = model.renderer(plan, backend_named("cpu"), o.pixels);
    for (size_t i = next++; i < cameras.size(); i = next++) done(i, pictures(cameras[i]));
  };
  on_workers(o.workers, work, [&] { next = cameras.size(); });
}

}  // namespace klab
