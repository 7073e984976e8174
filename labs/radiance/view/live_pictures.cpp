#include "labs/radiance/view/live_pictures.h"

#include <algorithm>
#include <cmath>

namespace klab {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 5s;       // of a browser without a new picture; it asks again
constexpr auto kRecent = 3s;         // over which frames and browsers are counted
constexpr size_t kMostClients = 16;  // whose sizes are kept
constexpr double kLeastPixels = 64 * 48, kFirstPixels = 160 * 120;
constexpr double kLongest = 4;  // seconds of a picture that replaces a coarser one of the same model

bool rests(const ViewRequest& request) { return !request.moving; }

}  // namespace

Picture ModelCopy::make(int64_t version, const ViewRequest& request, const Camera& camera) {
  if (!model_ || version != version_ || (box_ && !request.box)) {
    forget();  // before its successor takes memory
    model_ = run_.model();
    version_ = version;
    box_.reset();
  }
  if (request.box != box_) {
    pictures_ = nullptr;
    if (!model_->keep_inside(*request.box))
      throw BadRequest("a field of " + run_.field +
                       " has no cells that could be left out: crop fields of hash, voxels or gaussians");
    box_ = request.box;
  }
  model_->ask_for_depth(request.needs_depth());
  if (!pictures_) pictures_ = run_.pictures(*model_);
  return pictures_(camera);
}

void ModelCopy::forget() {
  pictures_ = nullptr;
  model_.reset();
}

LivePictures::Answer LivePictures::wait_for(const ViewRequest& request) {
  std::unique_lock lock(mutex_);
  if (closed_) return {.outcome = Outcome::closed, .frame = nullptr, .refused = ""};
  forget_old_clients();
  if (!clients_.contains(request.client) && clients_.size() >= kMostClients)
    return {.outcome = Outcome::too_many, .frame = nullptr, .refused = ""};
  Client& client = clients_[request.client];
  if (client.waiting) client.waiting->done = client.waiting->replaced = true;
  const auto mine =
      std::make_shared<Waiting>(Waiting{.request = request, .number = ++numbers_, .refused = ""});
  client.waiting = mine;
  client.seen = Clock::now();
  ++waiting_;
  answered_.notify_all();
  asked_.notify_all();
  answered_.wait_for(lock, kPatience, [&] { return mine->done || closed_; });
  --waiting_;
  const auto at = clients_.find(request.client);
  if (at != clients_.end() && at->second.waiting == mine) at->second.waiting.reset();
  Answer answer{.outcome = Outcome::nothing_new, .frame = mine->frame, .refused = mine->refused};
  if (mine->frame)
    answer.outcome = Outcome::made;
  else if (mine->replaced)
    answer.outcome = Outcome::replaced;
  else if (closed_)
    answer.outcome = Outcome::closed;
  return answer;
}

void LivePictures::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  answered_.notify_all();
  asked_.notify_all();
}

void LivePictures::wait_for_request(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  asked_.wait_for(lock, most, [&] { return numbers_ != considered_ || closed_; });
}

// Keeps the sides' ratio; the largest is the request's own size.
Camera LivePictures::size_for(const Client& client, const ViewRequest& request, int64_t version,
                              const Pace& pace) const {
  const Camera& full = request.camera;
  const double most = double(full.width) * double(full.height);
  double pixels = client.pixels[rests(request)];
  if (pixels == 0) pixels = std::max(kFirstPixels, client.pixels[0]);
  // A picture that only gets finer has at least twice the pixels of the one before.
  if (rests(request) && request.version == version && request.width > 0) {
    const double had = most * std::pow(double(request.width) / double(full.width), 2);
    const double finer = std::max(pixels, 2 * had);
    const bool quick = finer * client.pixel_seconds <= std::max(kLongest, pace.resting);
    pixels = quick ? finer : had;
  }
  const double share = std::sqrt(std::clamp(pixels / most, std::min(1.0, kLeastPixels / most), 1.0));
  const auto side = [&](int pixels_of_side) { return std::max(1, int(std::lround(share * pixels_of_side))); };
  return resized(full, side(full.width), side(full.height));
}

// Chooses among the requests that have not yet the best picture of this version.
std::shared_ptr<LivePictures::Waiting> LivePictures::next(int64_t version, const Pace& pace, Camera& camera,
                                                          bool& full) {
  std::shared_ptr<Waiting> found;
  considered_ = numbers_;
  for (const auto& [name, client] : clients_) {
    const std::shared_ptr<Waiting>& w = client.waiting;
    if (!w || w->done || (found && found->number < w->number)) continue;
    const Camera size = size_for(client, w->request, version, pace);
    if (w->request.version == version && w->request.width >= size.width) continue;
    found = w;
    camera = size;
    full = size.width == w->request.camera.width;
  }
  return found;
}

// The pixels of the next picture follow from the time of this one, whatever it depends on.
void LivePictures::learn(Client& client, const ViewRequest& request, const LivePicture& frame,
                         const Pace& pace) {
  const double pixels = double(frame.camera.width) * double(frame.camera.height);
  const double aim = request.moving ? pace.moving : pace.resting;
  client.pixel_seconds = frame.seconds / pixels;
  client.pixels[rests(request)] =
      std::max(kLeastPixels, pixels * std::clamp(aim / std::max(frame.seconds, 1e-6), 0.25, 2.0));
}

double LivePictures::serve(ModelCopy& copy, int64_t version, const Pace& pace) {
  auto frame = std::make_shared<LivePicture>();
  std::shared_ptr<Waiting> asked;
  {
    const std::lock_guard lock(mutex_);
    asked = next(version, pace, frame->camera, frame->full);
  }
  if (!asked) return 0;
  const auto begin = Clock::now();
  std::string refused;
  try {
    frame->picture = copy.make(version, asked->request, frame->camera);
  } catch (const std::bad_alloc&) {
    refused = "there is no memory for a picture";
  } catch (const std::runtime_error& e) {  // what is wrong with the training shows in its next step
    refused = e.what();
  }
  const auto end = Clock::now();
  frame->version = version;
  frame->seconds = std::chrono::duration<double>(end - begin).count();
  const std::lock_guard lock(mutex_);
  asked->done = true;
  asked->refused = refused;
  if (refused.empty()) asked->frame = frame;
  if (const auto at = clients_.find(asked->request.client); at != clients_.end() && refused.empty())
    learn(at->second, asked->request, *frame, pace);
  ++all_.frames;
  all_.seconds += frame->seconds;
  all_.longest = std::max(all_.longest, frame->seconds);
  recent_[all_.frames] = end;
  while (end - recent_.begin()->second > kRecent) recent_.erase(recent_.begin());
  answered_.notify_all();
  return std::max(frame->seconds, 1e-9);
}

LivePictures::Statistics LivePictures::statistics() const {
  const std::lock_guard lock(mutex_);
  Statistics now = all_;
  const auto since = Clock::now() - kRecent;
  const auto frames = std::ranges::count_if(recent_, [&](const auto& f) { return f.second > since; });
  now.per_second = double(frames) / std::chrono::duration<double>(kRecent).count();
  now.browsers = int(std::ranges::count_if(
      clients_, [&](const auto& c) { return c.second.waiting != nullptr || c.second.seen > since; }));
  return now;
}

void LivePictures::forget_old_clients() {
  if (clients_.size() < kMostClients) return;
  const auto since = Clock::now() - kRecent;
  std::erase_if(clients_, [&](const auto& c) { return !c.second.waiting && c.second.seen < since; });
}

}  // namespace klab
