// Implements cluster_api.h, but for copies.
#include "harness/simt/cluster_api.h"

#include <algorithm>
#include <string>

#include "harness/simt/async_api.h"
#include "harness/simt/cluster.h"
#include "harness/simt/trace.h"

namespace klab::simt {

unsigned cluster_rank() { return running->cluster != nullptr ? running->cluster->rank() : 0; }
unsigned cluster_blocks() { return running->cluster != nullptr ? running->cluster->blocks() : 1; }
unsigned cluster_size(int d) { return running->cluster != nullptr ? running->cluster->size(d) : 1; }
unsigned block_in_cluster(int d) { return running->block[d] % cluster_size(d); }
unsigned cluster_of_grid(int d) { return running->block[d] / cluster_size(d); }
unsigned clusters_of_grid(int d) { return running->grid_dim[d] / cluster_size(d); }
bool is_in_cluster() { return running->cluster != nullptr; }

namespace {

[[noreturn]] void no_rank(const char* name, unsigned rank, const char* file, int line) {
  running->abandon({.kind = Kind::out_of_bounds,
                    .file = file,
                    .line = line,
                    .text = std::string(name) + " of rank " + std::to_string(rank) + ": the cluster has " +
                            std::to_string(cluster_blocks()) + " blocks"});
}

}  // namespace

void cluster_arrive(bool release, const char* file, int line) {
  if (running->cluster != nullptr) running->cluster->arrive(release, file, line);
}

void cluster_wait(const char* file, int line) {
  if (running->cluster != nullptr)
    running->cluster->wait(file, line);
  else
    barrier(Vote::sync, 0, file, line);
}

void* map_shared(const void* p, unsigned rank, const char* file, int line) {
  if (rank >= cluster_blocks()) no_rank("mapa", rank, file, line);
  Cluster* const cluster = running->cluster;
  if (cluster == nullptr) return const_cast<void*>(p);
  const Cluster::Place there = cluster->peer_at(p);
  char* const at = cluster->at_rank(there.rank >= 0 ? there.own : p, rank);
  if (at == nullptr)
    running->abandon({.kind = Kind::out_of_bounds,
                      .file = file,
                      .line = line,
                      .text = "mapa of an address that is not in the block's shared memory"});
  return at;
}

uint32_t map_shared_address(uint32_t address, unsigned rank, const char* file, int line) {
  return shared_address(map_shared(shared_pointer(address), rank, file, line));
}

unsigned rank_of_shared(const void* p) {
  const Cluster::Place there = running->cluster != nullptr ? running->cluster->peer_at(p) : Cluster::Place{};
  return there.rank >= 0 ? unsigned(there.rank) : cluster_rank();
}

void wait_for_launch_before() {
  if (running->trace != nullptr) running->trace->waited_for_launch_before();
}

void trigger_next_launch() { next_launch_was_triggered = true; }

}  // namespace klab::simt
