#include "labs/18_several_processes/train/cost_of_sharing.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace klab::scaling {

double Gradient::touched_by_any(int64_t ranks) const {
  return 1 - std::pow(1 - std::min(touched, 1.0), 1 + double(ranks - 1) * (1 - alike));
}

double bytes_sent(Exchange::Way way, int64_t ranks, const Gradient& g) {
  const double others = double(ranks - 1) / double(ranks);
  if (way != Exchange::Way::touched) return 2 * others * g.bytes;
  const double bits = g.bytes / g.block / 8;
  return others * (2 * bits + (g.touched + g.touched_by_any(ranks)) * g.bytes);
}

double seconds_to_reduce(Algorithm algorithm, int64_t ranks, double bytes, const Link& link) {
  if (ranks <= 1) return 0;
  const auto n = double(ranks);
  if (algorithm == Algorithm::ring) return 2 * (n - 1) * (link.latency + bytes / n / link.bandwidth);
  return std::ceil(std::log2(n)) * (link.latency + bytes / link.bandwidth);
}

double seconds_to_share(Exchange::Way way, int64_t ranks, const Gradient& g, const Link& link) {
  if (ranks <= 1) return 0;
  if (way == Exchange::Way::dense)
    return std::min(seconds_to_reduce(Algorithm::ring, ranks, g.bytes, link),
                    seconds_to_reduce(Algorithm::recursive_doubling, ranks, g.bytes, link));
  // One message to each of the others and one back; twice as many if bits are sent before the values.
  const double messages = (way == Exchange::Way::touched ? 4 : 2) * double(ranks - 1);
  return messages * link.latency + bytes_sent(way, ranks, g) / link.bandwidth;
}

double seconds_of_step(Exchange::Way way, int64_t ranks, double samples, const Step& step, const Gradient& g,
                       const Link& link) {
  const double own = way == Exchange::Way::dense ? 1.0 : 1.0 / double(ranks);
  return step.fixed + step.grid / double(ranks) + own * step.optimizer + samples * step.per_sample +
         seconds_to_share(way, ranks, g, link);
}

Link link_from(double small, double small_seconds, double large, double large_seconds) {
  if (!(large > small) || !(large_seconds > 0) || !(small_seconds > 0))
    throw std::invalid_argument(
        "messages take time, and one is longer: remove messages.json, and they are measured again");
  // On a busy machine a message waits for its turn, and its length does not show: return a lower bound.
  if (large_seconds <= small_seconds) return {.latency = large_seconds, .bandwidth = large / large_seconds};
  const double bandwidth = (large - small) / (large_seconds - small_seconds);
  return {.latency = std::max(0.0, small_seconds - small / bandwidth), .bandwidth = bandwidth};
}

}  // namespace klab::scaling
