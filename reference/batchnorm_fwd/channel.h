// Where the numbers of one channel of an [n,c,hw] tensor are, for the contracts that go channel by channel.
#pragma once

#include <cstdint>

namespace klab::normalization {

struct Channel {
  int64_t channel, c, hw;
  /// Position of the k-th of the channel's n·hw numbers.
  int64_t operator()(int64_t k) const { return (k / hw * c + channel) * hw + k % hw; }
};

}  // namespace klab::normalization
