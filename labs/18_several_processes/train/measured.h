// Runs of klab train with one and two ranks, and messages between two: the input of the scaling model, and
// the measurements that it is compared with.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "labs/18_several_processes/train/cost_of_sharing.h"

namespace klab::scaling {

/// One training.
struct Setup {
  std::string name;  // of its folder
  int ranks = 1, threads = 1;
  double batch = 1;  // factor on the config's batch
  std::string exchange = "dense";
};

/// Its result.
struct Run {
  Setup setup;
  double steps = 0, seconds = 0;  // seconds of a step
  double samples_per_second = 0;
  double bytes_sent = 0;                   // by a rank in a step
  double sharing = 0, optimizer = 0;       // seconds of a step
  double grid = 0;                         // seconds of a step for the occupancy grid
  double touched = 0, touched_by_any = 0;  // shares of blocks; with --exchange touched only
};

struct What {
  std::string scene = "built-in", config, plan = "best";
  int downscale = 1;
  int64_t steps = 60;
  uint64_t seed = 1;
  std::filesystem::path out;
};

/// Returns all setups to measure: one rank with the batch, half of it, and two threads; two ranks with the
/// batch (strong) and with twice the batch (weak), in each way.
std::vector<Setup> setups();

/// Trains in separate processes unless the run exists. Throws std::runtime_error naming the log if that fails
/// or was interrupted.
Run train(const What& what, const Setup& setup);

/// A message between two ranks in one direction: bytes and seconds.
struct Message {
  double bytes = 0, seconds = 0;
};
/// Sends messages between ranks 0 and 1 of this run; both must call it. Returns the fastest of some rounds.
std::vector<Message> messages_between();
/// Starts two processes that measure the same.
std::vector<Message> measure_messages(const std::filesystem::path& out);

/// Throws std::runtime_error, saying what to install, if this klab has no MPI or there is no mpirun.
void require_mpi();

}  // namespace klab::scaling
