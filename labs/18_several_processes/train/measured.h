// Runs of klab train with one and two ranks, and messages between two: what the model of scaling is fed with and held against.
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
  double batch = 1;  // times the batch of the config
  std::string exchange = "dense";
};

/// What it came to.
struct Run {
  Setup setup;
  double steps = 0, seconds = 0;  // a step
  double samples_per_second = 0;
  double bytes_sent = 0;                   // a step, of a rank
  double sharing = 0, optimizer = 0;       // seconds a step
  double grid = 0;                         // the same, of looks at the occupancy grid
  double touched = 0, touched_by_any = 0;  // shares of blocks; with --exchange touched only
};

struct What {
  std::string scene = "built-in", config, plan = "best";
  int downscale = 1;
  int64_t steps = 60;
  uint64_t seed = 1;
  std::filesystem::path out;
};

/// All that is measured: one rank with the batch, half of it, and two threads; two ranks with the batch (strong) and with twice the
/// batch (weak), in each way.
std::vector<Setup> setups();

/// Trains, in processes of their own, where it was not done yet. Throws std::runtime_error naming the log where that fails, or
/// when it was interrupted.
Run train(const What& what, const Setup& setup);

/// Messages between two ranks, each way in turn: bytes and the seconds that one takes.
struct Message {
  double bytes = 0, seconds = 0;
};
/// By rank 0 and 1 of those of this process: to be called by both. The fastest of some rounds.
std::vector<Message> messages_between();
/// The same, by processes that are started for it.
std::vector<Message> measure_messages(const std::filesystem::path& out);

/// Throws std::runtime_error where this klab has no MPI or there is no mpirun, saying what to install.
void require_mpi();

}  // namespace klab::scaling
