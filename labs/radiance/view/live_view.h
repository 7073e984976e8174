// The live view: a page on 127.0.0.1 that shows a run while it trains, or a trained model.
//
//   threads of the server   read requests, wait for pictures, make bytes of them, read metrics.csv
//   the thread that trains  copies the model and renders between two steps, for at most kShare of the time; it touches no
//                           parameter, so a watched run learns what an unwatched one does
//
//   GET  /TOKEN/            the page
//   GET  /TOKEN/state       JSON: step, rates, shares, and the curves if there are new lines
//   GET  /TOKEN/views       JSON: the scene's views, the first camera, the box
//   GET  /TOKEN/frame       bytes of sRGB, and JSON about them in the header X-Klab
//   GET  /TOKEN/photo       the same of a view's own picture
//   POST /TOKEN/pause       ?on=1 or 0
//   POST /TOKEN/save        writes a checkpoint
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/web/http_server.h"
#include "labs/radiance/evaluate/shown.h"
#include "labs/radiance/run/metrics.h"
#include "labs/radiance/run/run_viewer.h"
#include "labs/radiance/view/live_pictures.h"

namespace klab {

class LiveView : public RunViewer {
 public:
  /// The most of a training's time that pictures take, over the time that somebody watches.
  static constexpr double kShare = 0.2;

  /// Listens from now on, and answers requests from begin() on. Throws like HttpServer.
  explicit LiveView(int port);
  ~LiveView() override;

  /// The address with its token; a port that is not the wanted one is explained.
  std::string address() const override;
  void begin(ViewedRun run) override;
  double between_steps(FieldTrainer& trainer) override;
  double trained() override;
  void end() override;

  /// Shows a trained model until a signal ends the program.
  void show(ViewedRun model, std::vector<std::pair<std::string, double>> stages, int64_t steps);

 private:
  enum class Phase { starting, training, trained, showing, ended };
  using Clock = std::chrono::steady_clock;
  struct Save {  // of a checkpoint, that a browser asked for
    bool asked = false, done = false;
    std::string failure;
  };

  HttpReply answer(const HttpRequest& request);
  HttpReply page() const;
  HttpReply state(const Query& query);
  HttpReply views() const;
  HttpReply frame(const Query& query);
  HttpReply photo(const Query& query);
  HttpReply pause(const Query& query);
  HttpReply save();
  std::shared_ptr<const Photo> photo_of_size(const ViewNumber& number, int width, int height);
  std::shared_ptr<const MetricsColumns> metrics();
  void publish(FieldTrainer& trainer, Clock::time_point now);
  void save_if_asked();
  void wait_while_paused(FieldTrainer& trainer);

  int wanted_port_;
  ViewedRun run_;
  std::string crop_;  // why the field cannot be cropped; empty: it can
  Orbit first_;
  LivePictures frames_;
  std::optional<ModelCopy> copy_;  // of the thread that trains

  // For the thread that trains only:
  Clock::time_point began_, last_end_;
  double credit_ = 0;                                      // seconds that pictures may take now
  std::deque<std::pair<Clock::time_point, double>> past_;  // what viewing_ was in the last seconds

  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  Phase phase_ = Phase::starting;
  bool paused_ = false;
  Save save_;
  int64_t step_ = 0;
  double training_ = 0, viewing_ = 0, paused_for_ = 0;  // seconds
  double share_ = 0;                                    // of the last seconds, that pictures took
  std::vector<std::pair<std::string, double>> stages_;  // seconds
  std::atomic<bool> asked_{false};                      // anything, since between_steps() was last here

  std::mutex metrics_mutex_;
  std::shared_ptr<const MetricsColumns> metrics_;
  Clock::time_point next_reading_;
  std::mutex photos_mutex_;
  std::vector<std::pair<std::string, std::shared_ptr<const Photo>>> photos_;  // the last ones

  HttpServer server_;  // the last member: its threads use the others
};

}  // namespace klab
