// Copies between the host's memory and the device's, as a bus with two directions would carry them: those of one stream one
// after the other, those of one direction one after the other, streams and directions beside each other. Time is counted
// in bytes of one direction; kernels take none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace klab::simt {

enum class Direction : uint8_t { up, down };

class Bus {
 public:
  /// A copy is asked for on a stream; 0 is the one that everything else runs on, others begin after what it did so far.
  void copy(int stream, Direction direction, size_t bytes);
  /// What stream 0 does next waits for all streams.
  void join();

  /// Bytes copied, both directions.
  int64_t bytes() const { return bytes_; }
  /// Bytes that one direction carries, or could have carried, from the first copy to the end of the last.
  int64_t path() const;

 private:
  std::vector<int64_t> ready_ = {0};  // of each stream: when its last copy ends
  std::array<int64_t, 2> free_{};     // of each direction
  int64_t bytes_ = 0;
};

}  // namespace klab::simt
