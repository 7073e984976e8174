// Models copies between host and device memory on a bus with two directions. Copies on one stream are
// sequential, and so are copies in one direction; otherwise streams and directions overlap. Time is measured
// in bytes of one direction; kernels take no time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace klab::simt {

enum class Direction : uint8_t { up, down };

class Bus {
 public:
  /// Adds a copy on a stream. Stream 0 runs everything else; other streams begin after the work that stream 0
  /// has done so far.
  void copy(int stream, Direction direction, size_t bytes);
  /// Makes later work on stream 0 wait for all streams.
  void join();

  /// Returns the bytes copied in both directions.
  int64_t bytes() const { return bytes_; }
  /// Returns the bytes that one direction carries, or could have carried, between the first copy and the end
  /// of the last.
  int64_t path() const;

 private:
  std::vector<int64_t> ready_ = {0};  // by stream: when its last copy ends
  std::array<int64_t, 2> free_{};     // by direction
  int64_t bytes_ = 0;
};

}  // namespace klab::simt
