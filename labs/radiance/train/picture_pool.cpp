#include "labs/radiance/train/picture_pool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "harness/program/random.h"

namespace klab {
namespace {

int64_t largest_of(std::span<const View> views) {
  int64_t largest = 0;
  for (const View& v : views) largest = std::max(largest, v.pixels());
  return largest;
}

/// Returns the number of resident pictures, at most as many as there are.
int64_t resident_of(std::span<const View> views, const PicturePool::Options& o) {
  return std::min(o.resident, int64_t(views.size()));
}

}  // namespace

int64_t PicturePool::bytes_of(std::span<const View> views, const Options& o) {
  return 4 * largest_of(views) * (resident_of(views, o) + o.ahead);
}

int64_t PicturePool::bytes_to_decode(std::span<const View> views, const Options& o) {
  int64_t largest = 0;
  for (const View& v : views)
    if (v.source) largest = std::max(largest, v.source->bytes_to_read);
  return largest * std::max(1, o.workers);
}

PicturePool::PicturePool(std::span<const View> views, const Options& o, int64_t turns)
    : views_(views), slot_pixels_(largest_of(views)), turns_(turns), cached_(views.size()) {
  if (views.empty() || o.resident < 1 || o.ahead < 1 || o.workers < 0 || turns < 0)
    throw std::invalid_argument("a pool of pictures needs views, room, and something ahead");
  const int64_t resident = resident_of(views, o);
  slots_ = resident + o.ahead;
  const MemoryOwner owner("pictures");
  memory_ = Array<uint8_t>(4 * slot_pixels_ * slots_);
  order_.resize(views.size());
  std::iota(order_.begin(), order_.end(), int64_t{0});
  const Draws draws(o.seed, 0, 104);
  for (size_t i = order_.size(); i > 1; --i)  // Fisher and Yates
    std::swap(order_[i - 1], order_[size_t(draws.below(uint64_t(i), int64_t(i)))]);
  if (!o.cache.empty()) open_cache(o.cache);
  for (int64_t i = 0; i < slots_; ++i) request(turns_ + i, i);
  for (int i = 0; i < o.workers; ++i) workers_.emplace_back([this] { work(); });
  places_.resize(size_t(resident));
  try {
    for (int64_t i = 0; i < resident; ++i) {
      wait_for(turns_ + i);
      // By number, so that a resumed run has the same pictures in the same places.
      places_[size_t((turns_ + i) % resident)] = {view_of(turns_ + i), i * slot_pixels_};
    }
  } catch (...) {
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    workers_.clear();
    if (cache_ >= 0) close(cache_);
    throw;
  }
}

PicturePool::~PicturePool() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  workers_.clear();  // joins
  if (cache_ >= 0) close(cache_);
}

size_t PicturePool::turn() {
  const auto resident = int64_t(places_.size());
  const int64_t number = turns_ + resident;  // the next one
  const int64_t slot = [&] {
    const std::scoped_lock lock(mutex_);
    return on_the_way_.at(number);
  }();
  wait_for(number);
  const auto oldest = size_t(turns_ % resident);
  const int64_t free = places_[oldest].first_pixel / slot_pixels_;
  places_[oldest] = {view_of(number), slot * slot_pixels_};
  ++turns_;
  request(turns_ + slots_ - 1, free);
  return oldest;
}

std::optional<PicturePool::Place> PicturePool::coming(int64_t turn) {
  const int64_t number = turn + int64_t(places_.size());
  const std::scoped_lock lock(mutex_);
  const auto there = done_.find(number);
  if (there == done_.end() || there->second) return std::nullopt;  // an error is reported when its turn comes
  return Place{view_of(number), on_the_way_.at(number) * slot_pixels_};
}

void PicturePool::request(int64_t number, int64_t slot) {
  {
    const std::scoped_lock lock(mutex_);
    on_the_way_[number] = slot;
    wanted_.push_back({number, slot});
  }
  changed_.notify_all();
}

void PicturePool::wait_for(int64_t number) {
  std::unique_lock lock(mutex_);
  while (workers_.empty() && !done_.contains(number)) serve_first(lock);
  changed_.wait(lock, [&] { return done_.contains(number); });
  const std::exception_ptr error = done_.at(number);
  done_.erase(number);
  if (error) {
    wanted_.push_back({number, on_the_way_.at(number)});
    lock.unlock();
    changed_.notify_all();
    std::rethrow_exception(error);
  }
  on_the_way_.erase(number);
}

void PicturePool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !wanted_.empty(); });
    if (stop_) return;
    serve_first(lock);
  }
}

// Reads the requested picture whose turn comes first.
void PicturePool::serve_first(std::unique_lock<std::mutex>& lock) {
  const auto first = std::ranges::min_element(wanted_, {}, &Request::number);
  const Request mine = *first;
  wanted_.erase(first);
  lock.unlock();
  std::exception_ptr error;
  try {
    read(view_of(mine.number), mine.slot);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  done_[mine.number] = error;
  changed_.notify_all();
}

void PicturePool::read(int64_t view, int64_t slot) {
  uint8_t* to = memory_.data() + 4 * slot * slot_pixels_;
  if (read_cache(view, to)) {
    ++from_cache_;
    return;
  }
  const View& v = views_[size_t(view)];
  announce_allocation(v.source ? v.source->bytes_to_read : 0);
  const Image image = v.picture();
  std::copy(image.rgba.begin(), image.rgba.end(), to);
  write_cache(view, image);
}

void PicturePool::open_cache(const std::filesystem::path& folder) {
  cache_ = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (cache_ >= 0) return;
  std::string name = (folder / ".pictures_XXXXXX").string();
  cache_ = mkostemp(name.data(), O_CLOEXEC);
  if (cache_ >= 0) unlink(name.c_str());
}

void PicturePool::forget_cached_pages() const {
  if (cache_ >= 0) posix_fadvise(cache_, 0, 0, POSIX_FADV_DONTNEED);
}

void PicturePool::write_cache(int64_t view, const Image& image) {
  if (cache_ < 0) return;
  const int64_t begin = 4 * slot_pixels_ * view;
  for (size_t at = 0; at < image.rgba.size();) {
    const ssize_t n = pwrite(cache_, image.rgba.data() + at, image.rgba.size() - at, begin + int64_t(at));
    if (n <= 0) return;  // the disk is full: this picture stays uncached, and is decoded again
    at += size_t(n);
  }
  cached_[size_t(view)] = true;
}

bool PicturePool::read_cache(int64_t view, uint8_t* to) {
  if (!cached_[size_t(view)]) return false;
  // Maps only the part that is copied, so that no more of the file counts as this process's memory.
  const int64_t page = sysconf(_SC_PAGESIZE), begin = 4 * slot_pixels_ * view, from = begin / page * page;
  const auto bytes = size_t(4 * views_[size_t(view)].pixels());
  const size_t mapped = bytes + size_t(begin - from);
  void* map = mmap(nullptr, mapped, PROT_READ, MAP_PRIVATE, cache_, from);
  if (map == MAP_FAILED) return false;
  madvise(map, mapped, MADV_SEQUENTIAL);
  std::memcpy(to, static_cast<const uint8_t*>(map) + (begin - from), bytes);
  munmap(map, mapped);
  return true;
}

}  // namespace klab
