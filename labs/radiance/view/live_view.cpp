#include "labs/radiance/view/live_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/records/input.h"
#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/run/stop.h"
#include "labs/radiance/view/page.h"

namespace klab {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

// A picture of a run that trains takes its share of a quarter of a second, or of a second and a half while nothing moves.
constexpr LivePictures::Pace kWhileTraining{.moving = 0.2 * 0.25, .resting = 0.2 * 1.5};
constexpr LivePictures::Pace kAlone{.moving = 1.0 / 15, .resting = 1.0};
constexpr double kMostCredit = 0.1;  // seconds
constexpr auto kShareTime = 5s;      // over which a share is shown
constexpr auto kPause = 100ms;       // until signals are asked for again
constexpr auto kSaving = 120s;
constexpr double kReadingShare = 0.05;  // of the time, for reading metrics.csv
constexpr size_t kPoints = 400;         // of a curve
constexpr size_t kPhotos = 6;
constexpr int kMostPhoto = 1600;  // pixels of a side

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

HttpReply json_reply(const json& value) {
  return {.type = "application/json",
          .body = value.dump(-1, ' ', false, json::error_handler_t::replace),
          .facts = ""};
}

HttpReply text_reply(int status, const std::string& text) {
  return {.status = status, .body = text, .facts = ""};
}

HttpReply bytes_reply(std::string bytes, const json& facts) {
  return {.type = "application/octet-stream", .body = std::move(bytes), .facts = facts.dump()};
}

void replace(std::string& text, const std::string& mark, const char* by) {
  text.replace(text.find(mark), mark.size(), by);
}

json number_or_null(double v) { return std::isfinite(v) ? json(v) : json(nullptr); }

/// Returns a curve of at most kPoints points: means over stretches of equal length. Leaves out values that are not finite.
json curve_of(const std::vector<double>& x, const std::vector<double>& y) {
  json points = json::array();
  const size_t stretch = std::max<size_t>(1, (y.size() + kPoints - 1) / kPoints);
  for (size_t begin = 0; begin < y.size(); begin += stretch) {
    double sum_x = 0, sum_y = 0;
    int count = 0;
    for (size_t i = begin; i < std::min(begin + stretch, y.size()); ++i)
      if (std::isfinite(x[i]) && std::isfinite(y[i])) sum_x += x[i], sum_y += y[i], ++count;
    if (count > 0) points.push_back({sum_x / count, sum_y / count});
  }
  return points;
}

struct CurveText {
  const char *column, *title, *unit;
  bool logarithmic;
};
constexpr CurveText kPlotted[] = {{"loss", "loss", "", true},
                                  {"psnr_batch", "PSNR of the batch", "dB", false},
                                  {"psnr_unseen", "PSNR of unseen views", "dB", false},
                                  {"learning_rate", "learning rate", "", true}};

}  // namespace

LiveView::LiveView(int port)
    : wanted_port_(port), server_(port, [this](const HttpRequest& request) { return answer(request); }) {}

LiveView::~LiveView() { end(); }

std::string LiveView::address() const {
  std::string text = server_.address();
  if (server_.port() != wanted_port_)
    text += fmt::format("\nnote      port {} is in use: this is port {}", wanted_port_, server_.port());
  return text;
}

void LiveView::begin(ViewedRun run) {
  const std::lock_guard lock(mutex_);
  run_ = std::move(run);
  if (run_.scene != nullptr) first_ = orbit_of(*run_.scene);
  if (run_.field == "frequency") crop_ = "a field of frequency has no cells that could be left out";
  copy_.emplace(run_);
  began_ = last_end_ = Clock::now();
  phase_ = Phase::training;
}

void LiveView::publish(FieldTrainer& trainer, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  step_ = trainer.steps_done();
  training_ = seconds_between(began_, now) - viewing_ - paused_for_;
  stages_.assign(trainer.profile().seconds().begin(), trainer.profile().seconds().end());
  while (!past_.empty() && now - past_.front().first > kShareTime) past_.pop_front();
  past_.emplace_back(now, viewing_);
  const double time = seconds_between(past_.front().first, now);
  share_ = time > 0 ? (viewing_ - past_.front().second) / time : 0;
}

void LiveView::save_if_asked() {
  {
    const std::lock_guard lock(mutex_);
    if (!save_.asked) return;
    save_.asked = false;
  }
  std::string failure;
  try {
    run_.save();
  } catch (const std::runtime_error& e) {  // the run itself is not harmed
    failure = e.what();
  } catch (const std::bad_alloc&) {
    failure = "there is no memory for it";
  }
  const std::lock_guard lock(mutex_);
  save_.done = true;
  save_.failure = failure;
  changed_.notify_all();
}

void LiveView::wait_while_paused(FieldTrainer& trainer) {
  const auto paused = [&] {
    const std::lock_guard lock(mutex_);
    return paused_ && !stop_requested;
  };
  if (!paused()) return;
  const auto begin = Clock::now();
  fmt::print(stderr, "note      paused at step {} by the page\n", trainer.steps_done());
  while (paused()) {
    save_if_asked();
    if (frames_.serve(*copy_, trainer.steps_done(), kAlone) == 0) frames_.wait_for_request(kPause);
  }
  fmt::print(stderr, "note      training again\n");
  past_.clear();
  const std::lock_guard lock(mutex_);
  paused_for_ += seconds_between(begin, Clock::now());
}

double LiveView::between_steps(FieldTrainer& trainer) {
  if (!frames_.waited_for() && !asked_.load(std::memory_order_relaxed)) return 0;  // no browser is open
  const auto begin = Clock::now();
  asked_ = false;
  credit_ = std::min(kMostCredit, credit_ + kShare / (1 - kShare) * seconds_between(last_end_, begin));
  publish(trainer, begin);
  save_if_asked();
  double viewed = 0;
  while (credit_ > 0) {
    const double took = frames_.serve(*copy_, trainer.steps_done(), kWhileTraining);
    if (took == 0) break;
    credit_ -= took;
    viewed += took;
  }
  {
    const std::lock_guard lock(mutex_);
    viewing_ += viewed;
  }
  wait_while_paused(trainer);
  copy_->forget();  // the step changes the model
  last_end_ = Clock::now();
  return seconds_between(begin, last_end_);
}

double LiveView::trained() {
  const std::lock_guard lock(mutex_);
  phase_ = Phase::trained;
  paused_ = false;
  frames_.close();
  changed_.notify_all();
  return viewing_;
}

void LiveView::end() {
  {
    const std::lock_guard lock(mutex_);
    phase_ = Phase::ended;
    changed_.notify_all();
  }
  frames_.close();
  server_.stop();
}

void LiveView::show(ViewedRun model, std::vector<std::pair<std::string, double>> stages, int64_t steps) {
  begin(std::move(model));
  {
    const std::lock_guard lock(mutex_);
    phase_ = Phase::showing;
    stages_ = std::move(stages);
    step_ = steps;
  }
  while (!stop_requested)
    if (frames_.serve(*copy_, steps, kAlone) == 0) frames_.wait_for_request(kPause);
  end();
}

HttpReply LiveView::answer(const HttpRequest& request) {
  const bool get = request.method == "GET";
  Phase phase{};
  {
    const std::lock_guard lock(mutex_);
    phase = phase_;
  }
  if (get && request.path.empty()) return page();
  if (phase == Phase::starting) return text_reply(503, "the run has not started to train");
  if (phase == Phase::ended) return text_reply(410, "the run has ended");
  try {
    if (get && request.path == "state") return state(request.query);
    if (get && request.path == "views") return views();
    if (get && request.path == "frame") return frame(request.query);
    if (get && request.path == "photo") return photo(request.query);
    if (!get && request.path == "pause") return pause(request.query);
    if (!get && request.path == "save") return save();
  } catch (const BadRequest& e) {
    return text_reply(400, e.what());
  }
  return text_reply(404, "");
}

HttpReply LiveView::page() const {
  std::string text = live_page::html();
  replace(text, "{{style}}", live_page::style());
  replace(text, "{{script}}", live_page::script());
  return {.type = "text/html; charset=utf-8", .body = text, .facts = ""};
}

HttpReply LiveView::frame(const Query& query) {
  const ViewRequest request = view_request(query, run_.scene);
  asked_ = true;
  const LivePictures::Answer answer = frames_.wait_for(request);
  switch (answer.outcome) {
    case LivePictures::Outcome::nothing_new:
      return text_reply(answer.refused.empty() ? 204 : 400, answer.refused);
    case LivePictures::Outcome::replaced:
      return text_reply(204, "");
    case LivePictures::Outcome::too_many:
      return text_reply(503, "too many windows watch this run: close some");
    case LivePictures::Outcome::closed:
      return text_reply(410, "there are no more pictures: the training has ended");
    case LivePictures::Outcome::made:
      break;
  }
  const LivePicture& made = *answer.frame;
  const Picture& p = made.picture;
  json facts = {{"width", p.width},        {"height", p.height}, {"version", made.version},
                {"seconds", made.seconds}, {"full", made.full},  {"full_width", request.camera.width}};
  std::shared_ptr<const Photo> truth;
  if (request.view) {
    truth = photo_of_size(*request.view, p.width, p.height);
    facts["psnr"] = number_or_null(psnr(p.rgb, truth->rgb));
  }
  using Shows = ViewRequest::Shows;
  std::string bytes = request.shows == Shows::depth     ? depth_bytes(p)
                      : request.shows == Shows::normals ? normal_bytes(p, made.camera)
                      : request.shows == Shows::error   ? error_bytes(p, *truth)
                                                        : color_bytes(p.rgb, request.exposure);
  return bytes_reply(std::move(bytes), facts);
}

HttpReply LiveView::photo(const Query& query) {
  const auto at = query.find("view");
  if (at == query.end()) throw BadRequest("\"view\" is missing");
  const ViewNumber number = view_number(at->second, run_.scene);
  const Camera& own = view_of(*run_.scene, number).camera;
  const double most = number_of(query, "width", 1, 1e5);
  const double share =
      std::min({1.0, most / own.width, double(kMostPhoto) / std::max(own.width, own.height)});
  const auto side = [&](int pixels) { return std::max(1, int(std::lround(share * pixels))); };
  const auto picture = photo_of_size(number, side(own.width), side(own.height));
  const float exposure = query.contains("exposure") ? float(number_of(query, "exposure", -10, 10)) : 0.F;
  return bytes_reply(color_bytes(picture->rgb, exposure),
                     {{"width", picture->width}, {"height", picture->height}});
}

std::shared_ptr<const Photo> LiveView::photo_of_size(const ViewNumber& number, int width, int height) {
  const std::string name = fmt::format("{} {} {} {}", number.test, number.index, width, height);
  const std::lock_guard lock(photos_mutex_);
  for (const auto& [known, photo] : photos_)
    if (known == name) return photo;
  std::shared_ptr<const Photo> made;
  try {
    made = std::make_shared<Photo>(photo_of(view_of(*run_.scene, number), run_.black, width, height));
  } catch (const std::runtime_error& e) {
    throw BadRequest(as_utf8(e.what()));
  }
  if (photos_.size() == kPhotos) photos_.erase(photos_.begin());
  photos_.emplace_back(name, made);
  return made;
}

// Its lines are read again when reading took its share of the time since.
std::shared_ptr<const MetricsColumns> LiveView::metrics() {
  const std::lock_guard lock(metrics_mutex_);
  const auto begin = Clock::now();
  if (begin < next_reading_) return metrics_;
  try {
    metrics_ = std::make_shared<MetricsColumns>(read_metrics(run_.folder / "metrics.csv"));
  } catch (const std::runtime_error&) {
    metrics_ = nullptr;  // a model without its run has no curves
  }
  const auto end = Clock::now();
  next_reading_ = end + std::chrono::milliseconds(500) +
                  std::chrono::duration_cast<Clock::duration>((end - begin) / kReadingShare);
  return metrics_;
}

HttpReply LiveView::state(const Query& query) {
  asked_ = true;
  const LivePictures::Statistics frames = frames_.statistics();
  const auto lines = metrics();
  json out;
  {
    const std::lock_guard lock(mutex_);
    const char* phase = phase_ == Phase::showing   ? "showing"
                        : phase_ == Phase::trained ? "trained"
                        : paused_                  ? "paused"
                                                   : "training";
    out = {{"phase", phase},
           {"run", as_utf8(run_.folder.string())},
           {"field", run_.field},
           {"step", step_},
           {"training_seconds", training_},
           {"viewing_seconds", viewing_},
           {"paused_seconds", paused_for_},
           {"share", share_},
           {"most_share", kShare},
           {"most_credit", kMostCredit}};
    double sum = 0;
    for (const auto& [stage, seconds] : stages_) sum += seconds;
    out["stages"] = json::array();
    for (const auto& [stage, seconds] : stages_)
      out["stages"].push_back({stage, seconds / std::max(sum, 1e-9)});
  }
  out["frames"] = {{"count", frames.frames},
                   {"longest", frames.longest},
                   {"per_second", frames.per_second},
                   {"browsers", frames.browsers}};
  out["server_seconds"] = server_.processor_seconds();
  const size_t count = lines ? lines->at("step").size() : 0;
  out["lines"] = count;
  const bool known = query.contains("lines") && query.at("lines") == std::to_string(count);
  if (!lines || known || !lines->contains("seconds")) return json_reply(out);
  out["curves"] = json::array();
  for (const CurveText& c : kPlotted) {
    const auto at = lines->find(c.column);
    if (at == lines->end()) continue;
    const json points = curve_of(lines->at("seconds"), at->second);
    if (points.empty()) continue;
    out["curves"].push_back(
        {{"title", c.title}, {"unit", c.unit}, {"logarithmic", c.logarithmic}, {"points", points}});
  }
  return json_reply(out);
}

HttpReply LiveView::views() const {
  json out = {{"field", run_.field},
              {"scene", run_.scene != nullptr ? as_utf8(run_.scene->name) : ""},
              {"no_crop", crop_},
              {"side", run_.scene != nullptr ? run_.scene->side() : 1},
              {"camera",
               {{"target", {first_.target.x, first_.target.y, first_.target.z}},
                {"azimuth", first_.azimuth},
                {"elevation", first_.elevation},
                {"distance", first_.distance},
                {"fov", first_.fov}}}};
  for (const bool test : {false, true}) {
    json names = json::array();
    if (run_.scene != nullptr)
      for (const View& v : test ? run_.scene->test : run_.scene->train)
        names.push_back({as_utf8(v.name), v.camera.width, v.camera.height});
    out[test ? "test" : "train"] = names;
  }
  return json_reply(out);
}

HttpReply LiveView::pause(const Query& query) {
  const double on = number_of(query, "on", 0, 1);
  const std::lock_guard lock(mutex_);
  if (phase_ != Phase::training) throw BadRequest("this run is not training: there is nothing to pause");
  paused_ = on != 0;
  asked_ = true;
  return json_reply({{"paused", paused_}});
}

HttpReply LiveView::save() {
  std::unique_lock lock(mutex_);
  if (phase_ != Phase::training) throw BadRequest("this run is not training: there is nothing to save");
  save_ = {.asked = true, .failure = ""};
  asked_ = true;
  if (!changed_.wait_for(lock, kSaving, [&] { return save_.done || phase_ != Phase::training; }) ||
      !save_.done)
    return text_reply(503, "the present step does not end: nothing was saved");
  if (!save_.failure.empty()) return text_reply(500, as_utf8(save_.failure));
  return json_reply({{"saved", as_utf8((run_.folder / "checkpoint.safetensors").string())}, {"step", step_}});
}

}  // namespace klab
