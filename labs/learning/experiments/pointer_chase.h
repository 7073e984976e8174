// A pointer chase: a chain through memory in which each load returns the address of the next. No load can start before the one
// in front of it has ended, so the time of a load is its latency.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace klab::learning {

class PointerChase {
 public:
  enum class Order { ascending, random };
  struct Settings {
    int64_t bytes = 0;    // of the memory that the chain visits
    int64_t stride = 64;  // bytes from stop to stop in order of addresses
    Order order = Order::random;
    bool huge_pages = false;  // asks the system for huge pages; otherwise for pages of the usual size
    uint64_t seed = 1;
  };
  /// Links the stops to one cycle. Throws std::invalid_argument for fewer than two stops or a stride that is no multiple of a
  /// pointer's size, and std::bad_alloc if the system refuses the memory.
  explicit PointerChase(const Settings& settings);
  ~PointerChase();
  PointerChase(const PointerChase&) = delete;
  PointerChase& operator=(const PointerChase&) = delete;

  int64_t stops() const { return stops_; }
  /// Follows the chain from where the last call ended, at first from stop 0, and returns the stop that it reaches.
  int64_t follow(int64_t loads);
  /// Returns the nanoseconds of processor time of a load: the least of some rounds.
  double nanoseconds();
  /// Returns the share of the memory that lies in huge pages; nullopt if the system does not tell.
  std::optional<double> huge_share() const;

 private:
  char* begin_ = nullptr;  // of the stops
  void* mapping_ = nullptr;
  size_t mapped_ = 0;
  int64_t bytes_ = 0, stride_ = 0, stops_ = 0;
  void** at_ = nullptr;
};

}  // namespace klab::learning
