// Pictures of a scene that do not all fit into memory: some of them are resident, and they take turns.
//
//   disk  ── workers read ahead ──▶  [ slot | slot | ... | slot ]   resident pictures, which rays are drawn from
//     ▲ once decoded, from a cache        └── the oldest gives its slot back when the next one takes its turn
//
// The order is a repeated permutation of the views, by a seed: the resident pictures after a number of turns
// do not depend on how fast they are read. A call of turn() waits for a picture that is not read yet.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "harness/program/memory.h"
#include "labs/radiance/scene/scene.h"

namespace klab {

class PicturePool {
 public:
  struct Options {
    int64_t resident = 16;  // pictures that rays are drawn from, at most as many as there are
    int64_t ahead = 2;      // pictures that are read before their turn, 1 or more
    int workers = 1;        // threads that read; 0: the caller of turn() does, when a picture's turn has come
    uint64_t seed = 1;      // of the order
    /// Folder for decoded pictures, 4 bytes a pixel, in a file without a name that disappears with this
    /// process. Empty: pictures are decoded at every turn, and so they are if the disk is full.
    std::filesystem::path cache{};
  };
  /// Takes views of pictures on the disk, which must outlive the pool. Reads the first ones, those that are
  /// resident after `turns`. Throws what View::picture() throws, std::bad_alloc, and std::invalid_argument
  /// for options out of range.
  PicturePool(std::span<const View> views, const Options& options, int64_t turns = 0);
  ~PicturePool();
  PicturePool(const PicturePool&) = delete;
  PicturePool& operator=(const PicturePool&) = delete;

  /// A resident picture: the view's index, and its first pixel in pixels().
  struct Place {
    int64_t view, first_pixel;
  };
  const std::vector<Place>& places() const { return places_; }
  const uint8_t* pixels() const { return memory_.data(); }  // RGBA
  int64_t room() const { return slots_ * slot_pixels_; }    // pixels

  /// Replaces the oldest picture by the next one; returns its index in places(). Rethrows an error from
  /// reading it; it is read again then, and the next call is for the same picture.
  size_t turn();
  int64_t turns() const { return turns_; }
  /// Returns the picture that comes with that turn, one of the next `ahead` (the next is number turns()), if
  /// it has been read; it stays in its place. Does not wait.
  std::optional<Place> coming(int64_t turn);
  /// Number of pictures that came from the cache.
  int64_t from_cache() const { return from_cache_; }

  /// Tells the system that the cache's pages need not stay in memory; they are read from the disk again.
  void forget_cached_pages() const;

  /// Return the memory of such a pool, and that of its workers while they decode, in bytes.
  static int64_t bytes_of(std::span<const View> views, const Options& options);
  static int64_t bytes_to_decode(std::span<const View> views, const Options& options);

 private:
  struct Request {
    int64_t number, slot;  // in the order, from 0
  };
  void work();
  void serve_first(std::unique_lock<std::mutex>& lock);
  void read(int64_t view, int64_t slot);
  bool read_cache(int64_t view, uint8_t* to);
  void write_cache(int64_t view, const Image& image);
  void open_cache(const std::filesystem::path& folder);
  void request(int64_t number, int64_t slot);
  void wait_for(int64_t number);
  int64_t view_of(int64_t number) const { return order_[size_t(number) % order_.size()]; }

  std::span<const View> views_;
  int64_t slot_pixels_ = 0, slots_ = 0, turns_ = 0;
  Array<uint8_t> memory_;
  std::vector<int64_t> order_;
  std::vector<Place> places_;
  int cache_ = -1;
  std::vector<std::atomic<bool>> cached_;  // by view
  std::atomic<int64_t> from_cache_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Request> wanted_;                 // not started
  std::map<int64_t, std::exception_ptr> done_;  // by number; null: no error
  std::map<int64_t, int64_t> on_the_way_;       // number to slot
  bool stop_ = false;
  std::vector<std::jthread> workers_;
};

}  // namespace klab
