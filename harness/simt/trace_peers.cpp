#include "harness/simt/trace_peers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "harness/simt/cluster.h"
#include "harness/simt/trace.h"

namespace klab::simt {

void TracePeers::joins_cluster(Cluster* cluster, unsigned rank) {
  cluster_ = cluster;
  rank_ = shared_.rank = rank;
  owner_ = &shared_;
}

void TracePeers::block_begins() {
  TraceCheck::block_begins();
  if (cluster_ != nullptr) turn_on_async();
  uses_.clear();
}

void TracePeers::access_peer(const void* p, size_t bytes, uint8_t how, const void* pc) {
  const auto* c = static_cast<const char*>(p);
  const Cluster::Place there = cluster_->peer_at(p);
  const ClusterBlock& block = (*cluster_)[unsigned(there.rank)];
  if (there.left < bytes) return illegal(p, bytes, how, pc);
  if (unsettled_) index_was_bad();
  if ((bytes & (bytes - 1)) == 0 && bytes <= 16 && reinterpret_cast<uintptr_t>(p) % bytes != 0)
    misaligned(p, bytes, how, pc);
  const uint16_t site = site_of(pc, Space::shared, how, bytes);
  owner_ = &block.trace->shared_;
  if (block.ended) {
    Finding f{.kind = Kind::use_after_free,
              .text = std::string((how & kWrite) != 0 ? "writes " : "reads ") + name_in_shared(c, site) +
                      ", which has ended: its shared memory is gone"};
    place(f, pc);
    owner_ = &shared_;
    executor_->report(std::move(f));
    return count_.log(*executor_->lane, p, bytes, site);
  }
  executor_->access = {c, bytes};
  for (size_t done = 0; done < bytes;) {
    const size_t in_word = reinterpret_cast<uintptr_t>(there.own + done) % 4;
    const size_t n = std::min<size_t>(4 - in_word, bytes - done);
    watch(owner_->cell(there.own + done - in_word), const_cast<char*>(c + done - in_word), unsigned(in_word),
          unsigned(in_word + n), how, site, true);
    done += n;
  }
  owner_ = &shared_;
  uses_peer(unsigned(there.rank), pc, "", 0);
  count_.log(*executor_->lane, p, bytes, site);
}

void TracePeers::uses_peer(unsigned rank, const void* pc, const char* file, int line) {
  if (uses_.size() < cluster_->blocks()) uses_.resize(cluster_->blocks());
  std::vector<Use>& of = uses_[rank];
  if (of.size() < executor_->threads()) of.resize(executor_->threads());
  const AsyncOrder::Moment moment = now();
  of[moment.thread] = {moment.interval, moment.sync, pc, file, line};
}

void TracePeers::check_uses_by_peers() {
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

}  // namespace klab::simt
