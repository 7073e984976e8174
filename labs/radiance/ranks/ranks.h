// The processes that train together: mpirun -n N klab train ... starts N of them, and they find each other by MPI where klab was
// built with it. A process that was started alone is the only rank, and everything here does nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "labs/radiance/ranks/exchange.h"
#include "labs/radiance/ranks/last_words.h"

namespace klab {

struct MpiCalls;

class Ranks {
 public:
  /// Those of this process; found at the first call. Throws std::runtime_error when it was started as one of several, and klab
  /// was built without MPI.
  static Ranks& here();

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool first() const { return rank_ == 0; }

  /// In place: each element becomes the sum of all ranks', the same bits on every rank.
  void sum(std::span<float> values);
  void sum(std::span<double> values);
  /// What rank 0 has; texts may differ in length.
  void broadcast(std::span<double> values);
  void broadcast(std::string& text);
  /// Everybody's text, by rank, on every rank.
  std::vector<std::string> gather(const std::string& text);
  /// From each rank to each, itself included: pieces of `send` by receiver, into pieces of `receive` by sender. What one sends
  /// must be what the other expects.
  void all_to_all(const void* send, std::span<const Piece> to, void* receive, std::span<const Piece> from);
  /// These calls, for an Exchange.
  Carrier carrier();
  /// Waits until all are here, without keeping a processor busy: for what takes long on one of them.
  void wait_for_all();

  /// Where several train: what is said, once, when one of them is killed, besides that it was. `remedy`: what to do with the
  /// checkpoint, if there is one then.
  void if_killed(const std::string& checkpoint, const std::string& remedy);
  /// Whether this rank is the one that says why all end; one on each machine is.
  bool may_speak();
  /// Does that on every rank. Where there are several, whoever fails ends all, since the others wait for it, after one of them has said
  /// why: what all of them say, the first says.
  int run(const std::function<int()>& work);
  /// Ends every rank with this exit code, at once.
  [[noreturn]] void end_all(int code);

  /// Bytes that this rank has sent to others so far: of sums by the ring's count, 2·(N-1)/N of each array, else what it gave away.
  int64_t bytes_sent() const { return bytes_sent_; }
  /// Of what travels by another way.
  void count_sent(int64_t bytes) { bytes_sent_ += bytes; }

 private:
  Ranks();
  ~Ranks();
  const MpiCalls* mpi_ = nullptr;  // where there are several
  int rank_ = 0, size_ = 1;
  int64_t bytes_sent_ = 0;
  std::unique_ptr<LastWords> last_words_;
};

/// Throws std::runtime_error, the same on every rank, when `what` differs between ranks: "rank 1 has another scene than rank 0:
/// ...". Each fact is a name and its text.
void require_alike(Ranks& ranks, const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace klab
