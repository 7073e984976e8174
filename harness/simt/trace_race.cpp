// Messages for accesses that nothing orders.
#include <algorithm>
#include <cstring>
#include <utility>

#include "harness/simt/cluster.h"
#include "harness/simt/modules.h"
#include "harness/simt/trace.h"

namespace klab::simt {
namespace {

const char* did(bool write, bool atomic) {
  return atomic ? "atomic access to " : write ? "writes " : "reads ";
}

std::string triple(uint64_t k, const unsigned* sizes) {
  return "(" + std::to_string(k % sizes[0]) + "," + std::to_string(k / sizes[0] % sizes[1]) + "," +
         std::to_string(k / sizes[0] / sizes[1]) + ")";
}

/// Says what is missing between an agent's access and a later one.
const char* why_agent(AgentKind kind) {
  return kind == AgentKind::copies
             ? ", and this thread knows of no wait for the phase that the copy completes"
         : kind == AgentKind::products
             ? ", and this thread knows of no wgmma.wait_group that has ended it"
             : ", and this thread knows of no cp.async.bulk.wait_group that has ended it";
}

}  // namespace

/// Names the readers of a set that are not ordered before the running thread.
std::string Trace::readers_of(uint16_t set) const {
  std::string products, warps;
  for (const ReaderSets::Reader& r : async_.readers()[set]) {
    if (AsyncOrder::is_agent(r.who)) {
      if (cluster_ == nullptr || is_of_my_block(r.interval)
              ? !async_.is_over(executor_->lane->warp, interval_, r.who, r.sync)
              : !ordered(r.interval, r.who, r.sync))
        products = why_agent(AsyncOrder::kind_of(r.who));
    } else {
      warps += (warps.empty() ? " (warps " : ", ") + std::to_string(r.who & 0xFF);
    }
  }
  if (!products.empty()) return products;
  return (warps.empty() ? "" : warps + ")") + " with no barrier between";
}

std::string Trace::who(uint32_t interval, uint16_t thread) const {
  if (thread == Cell::kGrid) return "other blocks";
  std::string text;
  if (is_of_another(interval)) text = "block " + triple(block_of(interval), executor_->grid_dim) + ", ";
  if (thread == Cell::kBlock || thread == AsyncOrder::kSeveral) return text + "other threads";
  if (AsyncOrder::is_agent(thread))
    return text + (AsyncOrder::kind_of(thread) == AgentKind::products ? "wgmma" : "a bulk copy");
  if (thread & Cell::kWarp) return text + "other lanes of warp " + std::to_string(thread & 0xFF);
  return text + "thread " + triple(thread, executor_->block_dim);
}

std::string Trace::name_in_shared(const char* p, uint16_t site) const {
  const Trace& o = *owner_;
  if (!o.static_.holds(p) && !o.dynamic_.holds(p) && cluster_ != nullptr)
    if (const Cluster::Place there = cluster_->peer_at(p); there.rank >= 0) p = there.own;
  const Module* m = o.static_.holds(p) && !o.dynamic_.holds(p) ? module_at(place_of(site)) : nullptr;
  const std::string name = m ? shared_name(*m, o.static_.offset(p))
                             : "dynamic shared memory, byte " + std::to_string(o.dynamic_.offset(p));
  if (&o == this) return name;
  return name + ", of block " +
         triple(executor_->grid->order[(*cluster_)[o.rank_].turn], executor_->grid_dim);
}

void Trace::race(const Cell& c, bool with_writer, const char* p, unsigned bytes, uint8_t how, uint16_t site,
                 bool shared) {
  const uint32_t interval = with_writer ? c.write_interval : c.read_interval;
  const uint16_t other_site = with_writer ? c.write_site : c.read_site;
  uint16_t thread = with_writer ? c.writer : c.reader;
  Finding f{.kind = shared ? Kind::shared_race : Kind::global_race};
  std::string what = "memory";
  if (shared) {
    what = name_in_shared(p, site);
  } else if (const Allocation* a = global_at(p)) {
    what = a->name + ", byte " + std::to_string(p - a->begin);
  }
  const bool other_block = is_of_another(interval) || thread == Cell::kGrid;
  const bool lacks_fence = unfenced_now_ != nullptr && [&] {
    const Unfenced* const mine = std::exchange(unfenced_now_, nullptr);
    const bool is_ordered = ordered(interval, thread, with_writer ? c.write_sync : c.read_sync);
    unfenced_now_ = mine;
    return is_ordered;
  }();
  const std::string why =
      AsyncOrder::is_agent(thread) ? why_agent(AsyncOrder::kind_of(thread))
      : lacks_fence ? ". This thread has seen by an atomic or a flag that it is there, but no fence "
                      "(__threadfence) lies between that and this access"
      : other_block ? " with nothing between the blocks that orders them"
      : thread == AsyncOrder::kSeveral  ? readers_of(c.read_sync)
      : shared || interval == interval_ ? " with no barrier between"
                                        : "";
  if (const EarlierWork* other = interval < launch_first_ ? unordered_at(interval) : nullptr;
      other != nullptr && other->until_wait) {
    f.text = did((how & kWrite) != 0, (how & kAtomic) != 0) + what + ", which " + other->what +
             (with_writer ? " writes" : " reads") +
             "; this launch may begin before that one has ended: griddepcontrol.wait "
             "(cudaGridDependencySynchronize) must come first";
    place(f, place_of(site));
    f = executor_->placed(std::move(f));
  } else if (interval < launch_first_) {
    f.kind = Kind::not_synchronized;
    f.text = did((how & kWrite) != 0, (how & kAtomic) != 0) + what + ", which " + other->what +
             (with_writer ? " has written" : " has read") + " in another stream; nothing orders this launch" +
             in_streams->at + " behind it (cudaStreamWaitEvent, cudaStreamSynchronize)";
    place(f, place_of(site));
    f = executor_->placed(std::move(f));
  } else if (comes_behind_me(interval)) {
    // That block ran ahead. Report the race as if that block had come after this one.
    if (thread == Cell::kGrid) thread = c.read_sync;
    const bool several = thread == Cell::kBlock || (thread & Cell::kWarp) != 0;
    f.text = did(with_writer, grid_->is_atomic(other_site)) + what + ", which " + who_am_i() +
             ((how & kWrite) != 0 ? " wrote" : " read") + " at line " +
             std::to_string(source_of(place_of(site)).line) + why +
             (several ? "; several threads of the block do" : "");
    place(f, place_of(other_site));
    f = executor_->placed(std::move(f));
    const uint64_t b = block_of(interval);
    const unsigned *grid = executor_->grid_dim, *block = executor_->block_dim;
    const unsigned t = thread == Cell::kBlock        ? 0
                       : (thread & Cell::kWarp) != 0 ? (thread & 0xFFU) * 32
                                                     : thread;
    f.block[0] = unsigned(b % grid[0]), f.block[1] = unsigned(b / grid[0] % grid[1]),
    f.block[2] = unsigned(b / grid[0] / grid[1]);
    f.thread[0] = t % block[0], f.thread[1] = t / block[0] % block[1], f.thread[2] = t / block[0] / block[1];
  } else {
    f.text = did((how & kWrite) != 0, (how & kAtomic) != 0) + what + ", which " + who(interval, thread) +
             (with_writer ? " wrote" : " read") + " at line " +
             std::to_string(source_of(place_of(other_site)).line) + why;
    place(f, place_of(site));
    f = executor_->placed(std::move(f));
  }
  // A plain read of a word that atomics write may be a hint for an atomic of the same thread (kDecides), which
  // may come later.
  if (with_writer && (how & (kWrite | kAtomic | kVolatile)) == 0 && c.write_atomic && !c.write_volatile)
    f.unless_hint = place_of(site);
  if (!with_writer && (how & kAtomic) != 0 && !c.read_atomic) f.unless_hint = place_of(other_site);
  const bool of_volatiles = (how & kVolatile) != 0 && !shared;
  if ((how & kWrite) && !(how & (kAtomic | kAsync)) &&
      (with_writer ? !c.write_atomic || c.write_volatile : of_volatiles)) {
    // Two threads that write the same value do no harm. Whether they do is known only after the write.
    if (doubt_.p != nullptr) return;
    doubt_.may_be_flag = of_volatiles;
    doubt_.p = p;
    unsettled_ = true;
    doubt_.bytes = bytes;
    std::memcpy(doubt_.before, p, bytes);
    doubt_.finding = std::move(f);
    return;
  }
  executor_->add(f);
}

std::string Trace::who_am_i() const {
  return "block " + triple(executor_->block_number, executor_->grid_dim) + ", thread " +
         triple(executor_->lane->thread, executor_->block_dim);
}

}  // namespace klab::simt
