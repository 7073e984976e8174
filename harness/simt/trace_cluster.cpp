// Order between the blocks of a cluster, and uses of shared memory beyond the end of its block.
#include <algorithm>

#include "harness/simt/cluster.h"
#include "harness/simt/modules.h"
#include "harness/simt/trace.h"

namespace klab::simt {

void Trace::joins_cluster(Cluster* cluster, unsigned rank) {
  cluster_ = cluster;
  rank_ = rank;
  owner_ = this;
}

int Trace::rank_of(uint32_t interval) const {
  if (cluster_ == nullptr) return -1;
  if (is_of_my_block(interval)) return int(rank_);
  for (unsigned rank = 0; rank < cluster_->blocks(); ++rank) {
    const ClusterBlock& block = (*cluster_)[rank];
    if (rank != rank_ && block.begun && block.trace != nullptr && block.trace->is_of_my_block(interval))
      return int(rank);
  }
  return -1;
}

bool Trace::is_fenced(const Cell& c) const {
  const int rank = rank_of(c.write_interval);
  if (rank < 0 || unsigned(rank) == rank_) return async_.is_fenced(c.write_interval, c.writer, c.write_sync);
  const Trace& other = *(*cluster_)[unsigned(rank)].trace;
  return other.async_.is_fenced(c.write_interval, c.writer, c.write_sync) ||
         async_.is_fenced_in(unsigned(rank), c.write_interval, c.writer, c.write_sync);
}

void Trace::uses_peer(unsigned rank, const void* pc, const char* file, int line) {
  if (uses_.size() < cluster_->blocks()) uses_.resize(cluster_->blocks());
  std::vector<Use>& of = uses_[rank];
  if (of.size() < executor_->threads()) of.resize(executor_->threads());
  const AsyncOrder::Moment moment = now();
  of[moment.thread] = {moment.interval, moment.sync, pc, file, line};
}

void Trace::check_uses_by_peers() {
  for (unsigned rank = 0; rank < cluster_->blocks(); ++rank) {
    const ClusterBlock& block = (*cluster_)[rank];
    if (rank == rank_ || !block.begun || block.trace->uses_.size() <= rank_) continue;
    const std::vector<Use>& uses = block.trace->uses_[rank_];
    for (unsigned thread = 0; thread < uses.size(); ++thread) {
      const Use& use = uses[thread];
      if (use.interval == 0 || async_.is_over_in(rank, use.interval, uint16_t(thread), use.sync)) continue;
      Finding f{.kind = Kind::use_after_free,
                .file = use.file,
                .line = use.line,
                .text = "uses shared memory of the block of rank " + std::to_string(rank_) +
                        " of the cluster, which may have ended: nothing makes that block wait "
                        "(cluster.sync() before its end)"};
      if (use.pc != nullptr) place(f, use.pc);
      f = executor_->placed(std::move(f));
      const uint64_t b = executor_->grid->order[block.turn];
      const unsigned *grid = executor_->grid_dim, *size = executor_->block_dim;
      f.block[0] = unsigned(b % grid[0]), f.block[1] = unsigned(b / grid[0] % grid[1]),
      f.block[2] = unsigned(b / grid[0] / grid[1]);
      f.thread[0] = thread % size[0], f.thread[1] = thread / size[0] % size[1],
      f.thread[2] = thread / size[0] / size[1];
      executor_->add(f);
      break;
    }
  }
}

bool Trace::has_waited_for_launch() const {
  return block_waited_for_launch_ || (executor_->lane != nullptr && executor_->lane->waited_for_launch);
}

std::atomic<bool> launch_before_was_waited_for{false};

void Trace::waited_for_launch_before() {
  launch_before_was_waited_for = true;
  executor_->lane->waited_for_launch = true;
  waited_for_launch_ = true;
}

}  // namespace klab::simt
