// Pictures that browsers wait for: threads of the server hand in requests, the thread that holds the model answers them one at a
// time. Without a waiting browser that thread has nothing to do.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "labs/radiance/run/run_viewer.h"
#include "labs/radiance/view/view_request.h"

namespace klab {

/// A picture for a browser.
struct LivePicture {
  Camera camera;  // of this size
  Picture picture;
  int64_t version = 0;  // of the model: it differs after each training step
  double seconds = 0;   // to copy the model and to render
  bool full = false;    // there is no larger one for this request
};

/// Makes pictures of the newest model, and keeps the copy of a model for the next picture of the same version.
class ModelCopy {
 public:
  explicit ModelCopy(const ViewedRun& run) : run_(run) {}
  /// Throws BadRequest for a field that cannot be cropped.
  Picture make(int64_t version, const ViewRequest& request, const Camera& camera);
  /// Frees the copy of the model.
  void forget();

 private:
  const ViewedRun& run_;
  int64_t version_ = -1;
  std::optional<GridBox> box_;
  std::unique_ptr<FieldModel> model_;
  std::function<Picture(const Camera&)> pictures_;
};

class LivePictures {
 public:
  /// How long a picture may take: fewer pixels keep to it.
  struct Pace {
    double moving, resting;  // seconds
  };

  enum class Outcome { made, nothing_new, replaced, too_many, closed };
  struct Answer {
    Outcome outcome = Outcome::nothing_new;
    std::shared_ptr<const LivePicture> frame;  // if made
    std::string refused;                       // why there is none, for a request that cannot be answered
  };

  /// Waits until the request's picture is made, or there was nothing new for some seconds. A second request of a client takes
  /// the place of its first. Called by threads of the server.
  Answer wait_for(const ViewRequest& request);
  /// No more pictures: everyone who waits is told.
  void close();

  /// Returns whether a browser waits; costs a load.
  bool waited_for() const { return waiting_.load(std::memory_order_relaxed) > 0; }
  /// Makes the picture that was waited for longest, unless every waiting browser has the best picture of this version.
  /// Returns the seconds that it took, 0 if there was none to make.
  double serve(ModelCopy& copy, int64_t version, const Pace& pace);
  /// Waits for a request that serve() has not seen, at most this long.
  void wait_for_request(std::chrono::milliseconds most);

  struct Statistics {
    int64_t frames = 0;
    double seconds = 0, longest = 0;  // of all frames
    double per_second = 0;            // frames in the last seconds
    int browsers = 0;                 // that asked in the last seconds
  };
  Statistics statistics() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    ViewRequest request;
    int64_t number;  // rises in the order of arrival
    bool done = false, replaced = false;
    std::shared_ptr<const LivePicture> frame;
    std::string refused;
  };
  struct Client {
    std::shared_ptr<Waiting> waiting;
    double pixels[2] = {0, 0};  // that keep to the pace: while it moves, while it rests
    double pixel_seconds = 0;   // of the last picture
    Clock::time_point seen;
  };

  std::shared_ptr<Waiting> next(int64_t version, const Pace& pace, Camera& camera, bool& full);
  Camera size_for(const Client& client, const ViewRequest& request, int64_t version, const Pace& pace) const;
  void learn(Client& client, const ViewRequest& request, const LivePicture& frame, const Pace& pace);
  void forget_old_clients();

  mutable std::mutex mutex_;
  std::condition_variable answered_, asked_;
  std::map<std::string, Client> clients_;
  std::atomic<int> waiting_{0};
  int64_t numbers_ = 0, considered_ = 0;  // requests: that came, and that serve() has seen
  bool closed_ = false;
  Statistics all_;
  std::map<int64_t, Clock::time_point> recent_;  // frames of the last seconds, by number
};

}  // namespace klab
