#include "harness/simt/grid_run.h"

#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "harness/simt/executor.h"
#include "harness/simt/program_symbols.h"
#include "harness/simt/trace.h"
#include "harness/simt/unwatched.h"

namespace klab::simt {
namespace {

constexpr uint64_t kAhead = 1024;  // blocks that may run ahead of their turn

std::atomic<bool> no_more{false};
std::atomic<int> adding{0};

}  // namespace

uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

void stop_adding() {
  // of a millisecond: after that, the thread that adds is the interrupted one and cannot finish
  constexpr int kTries = 1000;
  no_more = true;
  for (int k = 0; k < kTries && adding != 0; ++k) usleep(1000);
}

BlockOrder::BlockOrder(const unsigned (&grid)[3], const unsigned (&cluster)[3], uint64_t seed)
    : BlockOrder(uint64_t(grid[0]) * grid[1] * grid[2] / (uint64_t(cluster[0]) * cluster[1] * cluster[2]),
                 seed) {
  std::copy(grid, grid + 3, grid_);
  std::copy(cluster, cluster + 3, cluster_);
}

BlockOrder::BlockOrder(uint64_t blocks, uint64_t seed, bool by_number) : units_(blocks) {
  if (by_number) return;
  // Maps n -> n·step + begin with step and blocks coprime.
  step_ = blocks > 2 ? mixed(seed) % blocks | 1 : 1;
  const auto coprime = [](uint64_t a, uint64_t b) {
    while (b != 0) a = std::exchange(b, a % b);
    return a == 1;
  };
  while (!coprime(step_, blocks)) step_ += 2;
  begin_ = mixed(seed + 1) % blocks;
}

uint64_t BlockOrder::operator[](uint64_t n) const {
  const uint64_t rank = n % cluster_blocks();
  const auto unit =
      uint64_t((__extension__(unsigned __int128)(n / cluster_blocks()) * step_ + begin_) % units_);
  if (cluster_blocks() == 1) return unit;
  const uint64_t across = grid_[0] / cluster_[0], down = grid_[1] / cluster_[1];
  const uint64_t x = unit % across * cluster_[0] + rank % cluster_[0],
                 y = unit / across % down * cluster_[1] + rank / cluster_[0] % cluster_[1],
                 z = unit / across / down * cluster_[2] + rank / cluster_[0] / cluster_[1];
  return x + grid_[0] * (y + grid_[1] * z);
}

bool is_watched(uint64_t n, double share) {
  return share >= 1 || n == 0 || uint64_t(double(n) * share) != uint64_t(double(n - 1) * share);
}

void Releases::One::widen(size_t from, size_t to) {
  if (until.empty()) first = from;
  if (from < first) {
    until.insert(until.begin(), first - from, 0);
    first = from;
  }
  if (to > first + until.size()) until.resize(to - first, 0);
}

GridRun::GridRun(const Launch& l, std::string name, Session& s, Profile* profile)
    : launch(l),
      kernel(std::move(name)),
      session(s),
      traced(profile != nullptr),
      order(uint64_t(l.grid[0]) * l.grid[1] * l.grid[2], s.options().seed, is_of_library(l.kernel)),
      profile_(profile),
      first_interval_(Trace::new_intervals(1)) {}

GridRun::GridRun(const Launch& l, std::string name, Session& s, Profile* profile,
                 const unsigned (&cluster)[3])
    : launch(l),
      kernel(std::move(name)),
      session(s),
      traced(profile != nullptr),
      order(l.grid, cluster, s.options().seed),
      profile_(profile),
      first_interval_(Trace::new_intervals(1)) {}

/// Returns whether the next block may begin. At the start of a wave, all blocks of earlier waves must have
/// ended, so that the flow it begins with is known.
bool GridRun::may_begin(bool watched) {
  if (next_ - ended_ >= kAhead) return false;
  if (!watched) return true;
  if (KnownFlow::begins_wave(watched_taken_)) {
    if (ended_ < next_) return false;
    flow_.begin_wave();
  }
  return true;
}

bool GridRun::take(Turn& turn, size_t edges_known) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (next_ >= order.size() || is_over(next_)) return false;
    turn.watched = traced && is_watched(next_, background != nullptr ? session.options().share
                                                                     : share_now(session.options()));
    if (may_begin(turn.watched)) break;
    ++sleepers_;
    moved_.wait(lock);
    --sleepers_;
  }
  turn.number = next_++;
  watched_taken_ += turn.watched;
  turn.edges = flow_.known();
  turn.news.assign(flow_.edges().begin() + std::ptrdiff_t(std::min(edges_known, turn.edges)),
                   flow_.edges().begin() + std::ptrdiff_t(turn.edges));
  return true;
}

bool GridRun::take_cluster(std::vector<Turn>& turns, size_t edges_known) {
  const std::lock_guard lock(mutex_);
  if (next_ >= order.size() || is_over(next_)) return false;
  const uint64_t blocks = order.cluster_blocks();
  Turn one{.watched = traced && is_watched(next_ / blocks, share_now(session.options()))};
  if (one.watched && KnownFlow::begins_wave(watched_taken_ / blocks)) flow_.begin_wave();
  one.edges = flow_.known();
  one.news.assign(flow_.edges().begin() + std::ptrdiff_t(std::min(edges_known, one.edges)),
                  flow_.edges().begin() + std::ptrdiff_t(one.edges));
  turns.assign(blocks, one);
  for (Turn& turn : turns) turn.number = next_++;
  watched_taken_ += one.watched ? blocks : 0;
  return true;
}

bool GridRun::wait_for(uint64_t turn) {
  // Spin briefly first: usually the earlier blocks are about to end.
  for (int k = 0; k < 50 && ended_.load(std::memory_order_acquire) < turn && !is_over(turn); ++k)
    std::this_thread::yield();
  std::unique_lock lock(mutex_);
  ++sleepers_;
  moved_.wait(lock, [&] { return ended_ == turn || is_over(turn); });
  --sleepers_;
  return !is_over(turn);
}

void GridRun::ended(BlockResult result) {
  const std::lock_guard lock(mutex_);
  // Blocks behind one that ended the launch are abandoned.
  if (result.fatal || result.error) last_ = std::min(last_.load(), result.turn);
  waiting_.emplace(result.turn, std::move(result));
  bool moved = false;
  for (auto at = waiting_.find(ended_); at != waiting_.end(); at = waiting_.find(ended_)) {
    ++adding;
    if (!is_over(ended_) && !no_more) add(at->second);
    --adding;
    waiting_.erase(at);
    ++ended_;
    moved = true;
  }
  if ((moved || last_ != ~uint64_t(0)) && sleepers_ > 0) moved_.notify_all();
}

void GridRun::add(BlockResult& r) {
  watched_ += r.watched;
  session.add_work(r.work);
  for (const Finding& f : r.findings) {
    if (f.kind == Kind::barrier_divergence && std::exchange(divergence_told_, true)) continue;
    session.add(f);
  }
  if (profile_ != nullptr && r.watched) {
    for (const Site& s : r.sites) profile_->add(s);
    LaunchRecord& record = profile_->launches.back();
    record.barriers = std::max(record.barriers, r.barriers);
    record.thread_accesses = std::max(record.thread_accesses, r.accesses);
    flow_.add(r.edges);
  }
  if (r.fatal) fatal_ = r.fatal;
  if (r.error) error_ = r.error;
  if (block_done != nullptr && !r.fatal && !r.error) block_done(r.turn + 1, order.size(), kernel);
}

uint32_t GridRun::intervals(uint64_t turn, uint32_t count) {
  const std::lock_guard lock(intervals_mutex_);
  const uint32_t first = Trace::new_intervals(count);
  chunks_.push_back({first, turn});
  return first;
}

uint64_t GridRun::turn_of(uint32_t interval) {
  const std::lock_guard lock(intervals_mutex_);
  const auto behind = std::ranges::upper_bound(chunks_, interval, {}, &Chunk::first);
  return behind == chunks_.begin() ? 0 : (behind - 1)->turn;
}

uint16_t GridRun::number_of_site(const Site& s) {
  const std::lock_guard lock(sites_mutex_);
  return sites_.site(s.pc, s.space, s.write, s.atomic, s.merges, s.width);
}

const void* GridRun::place_of_site(uint16_t number) {
  const std::lock_guard lock(sites_mutex_);
  return sites_[number].pc;
}

bool GridRun::is_atomic(uint16_t number) {
  const std::lock_guard lock(sites_mutex_);
  return sites_[number].atomic;
}

}  // namespace klab::simt
