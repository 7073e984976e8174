// The processes that train together. `mpirun -n N klab train ...` starts N of them; they find each other by
// MPI if klab was built with it. A process that was started alone is the only rank, and everything here does
// nothing.
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
  /// Returns the ranks of this run; connects at the first call. Throws std::runtime_error if this process was
  /// started as one of several and klab was built without MPI.
  static Ranks& here();

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool first() const { return rank_ == 0; }

  /// Replaces each element by its sum over all ranks, in place; every rank gets the same bits.
  void sum(std::span<float> values);
  void sum(std::span<double> values);
  /// Copies rank 0's values to all ranks; texts may differ in length.
  void broadcast(std::span<double> values);
  void broadcast(std::string& text);
  /// Returns the texts of all ranks, indexed by rank, on every rank.
  std::vector<std::string> gather(const std::string& text);
  /// Sends a piece of `send` to each rank, itself included, and receives one from each. `to` is indexed by
  /// receiver, `from` by sender. Sizes must match on both sides.
  void all_to_all(const void* send, std::span<const Piece> to, void* receive, std::span<const Piece> from);
  /// Returns these calls as a Carrier for Exchange.
  Carrier carrier();
  /// Waits until all ranks have called it, sleeping instead of spinning: for long work on a single rank.
  void wait_for_all();

  /// Sets the text that is printed once if one of several ranks is killed. `remedy` tells how to resume from
  /// the checkpoint, if it exists then.
  void if_killed(const std::string& checkpoint, const std::string& remedy);
  /// Returns whether this rank may print why the run ends. One rank on each machine may.
  bool may_speak();
  /// Runs `work` on every rank. If one of several fails, all are terminated, because the others would wait
  /// for it. The error is printed first; an error shared by all ranks of a machine is printed by one of them
  /// only.
  int run(const std::function<int()>& work);
  /// Terminates every rank at once with this exit code.
  [[noreturn]] void end_all(int code);

  /// Bytes that this rank has sent to others so far. A sum counts as in a ring, 2·(N-1)/N of the array; every
  /// other call counts its bytes.
  int64_t bytes_sent() const { return bytes_sent_; }
  /// Adds bytes that were sent by other means.
  void count_sent(int64_t bytes) { bytes_sent_ += bytes; }

 private:
  Ranks();
  ~Ranks();
  const MpiCalls* mpi_ = nullptr;  // null if there is one rank
  int rank_ = 0, size_ = 1;
  int64_t bytes_sent_ = 0;
  std::unique_ptr<LastWords> last_words_;
};

/// Throws std::runtime_error, the same on every rank, if `facts` differ between ranks: "rank 1 has another
/// scene than rank 0: ...". Each fact is a name and its text.
void require_alike(Ranks& ranks, const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace klab
