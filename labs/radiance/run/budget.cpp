#include "labs/radiance/run/budget.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <set>

#include "harness/check/cases.h"
#include "labs/radiance/run/stage_ceilings.h"

namespace klab {
namespace {

constexpr int64_t kMega = 1'000'000;
constexpr int64_t kLargePage = 2 << 20, kSmallTensor = 1 << 20;  // bytes, of memory.cpp and backend.cpp
// What measuring ceilings takes in addition to the arrays of stage_ceilings.h.
constexpr int64_t kCeilingLoops = 25 * kMega;
// Threads' stacks, plans, names, what the library keeps of what was given back: measured as 20 MB or so.
constexpr int64_t kLoose = 32 * kMega;

int64_t picture_bytes(std::span<const View> views) {
  int64_t bytes = 0;
  for (const View& v : views) bytes += 4 * v.pixels() + int64_t(v.depth.size() * sizeof(float));
  return bytes;
}

/// Bytes of the lists of pixels that count, which views may share: the scene's own, and the copy for drawing
/// rays.
int64_t list_bytes(std::span<const View> views) {
  std::set<const std::vector<int32_t>*> lists;
  int64_t bytes = 0;
  for (const View& v : views)
    if (v.with_ray && lists.insert(v.with_ray.get()).second) bytes += 2 * 4 * int64_t(v.with_ray->size());
  return bytes;
}

/// Returns the pool's options for a choice of resident pictures.
PicturePool::Options pool_of(const MemoryFacts& f, const MemoryChoice& c) {
  return {.resident = c.resident, .ahead = f.ahead, .workers = f.workers};
}

/// Bytes of the step's tensors by owner, without the pictures.
struct OfLists {
  int64_t table = 0, optimizer = 0, grid = 0, batch = 0;
};

OfLists of_lists(const MemoryFacts& f, const Config& c) {
  Config one = c;
  one.batch_samples = std::max<int64_t>(1, c.batch_samples / f.parts);
  one.first_rays = std::max<int64_t>(1, c.first_rays / f.parts);
  // Pictures are counted separately; arrays with an element for each view are small.
  const int64_t views = int64_t(f.scene->train.size());
  Memory memory;
  const TrainStep t(memory, one, f.scene->cascades, {.views = views, .pixels = views}, f.sizes);
  std::set<int> table, optimizer;
  for (const Part part : kParts) {
    const auto p = size_t(part);
    table.insert(t.parameters[p].tensor);
    for (const TensorPlace& place :
         std::initializer_list<TensorPlace>{t.gradient[p], t.m[p], t.v[p], t.steps[p], t.average[p]})
      if (place.exists()) optimizer.insert(place.tensor);
  }
  const std::set<int> grid = {t.cell_values.tensor, t.bits.tensor};
  OfLists sums;
  for (size_t i = 0; i < memory.tensors().size(); ++i) {
    const int at = int(i);
    int64_t bytes = memory.tensors()[i].bytes();
    // Arrays are whole large pages; so are all tensors of the batch except small ones.
    if (bytes >= kSmallTensor || table.contains(at) || optimizer.contains(at) || grid.contains(at))
      bytes = (bytes + kLargePage - 1) / kLargePage * kLargePage;
    (table.contains(at)       ? sums.table
     : optimizer.contains(at) ? sums.optimizer
     : grid.contains(at)      ? sums.grid
                              : sums.batch) += bytes;
  }
  if (f.own_parts > 1) sums.optimizer += sums.table;  // sums of the parts' gradients
  return sums;
}

/// While the rungs of an op are timed.
int64_t bytes_to_time(const std::vector<PlannedCall>& calls, int64_t cold) {
  int64_t most = 0;
  for (const PlannedCall& call : calls) {
    const LabOp* op = find_op(call.op);
    if (op == nullptr || !(call.times > 0)) continue;
    most = std::max(most, bytes_to_measure(*op, call.shape, cold));
  }
  return most;
}

/// Bytes of the arrays that the ceilings keep from their first sample on.
int64_t ceiling_bytes(const std::vector<PlannedCall>& calls) {
  return calls.empty() ? StageCeilings::kMostBytes : StageCeilings::bytes_of(calls, omp_get_max_threads());
}

std::string pictures_text(const MemoryFacts& f, const MemoryChoice& c) {
  const auto all = int64_t(f.scene->train.size());
  if (c.resident == 0) return fmt::format("all {} for training, {} for testing", all, f.scene->test.size());
  return fmt::format("{} of {} at a time, {} read ahead by {} thread{}", c.resident, all, f.ahead, f.workers,
                     f.workers == 1 ? "" : "s");
}

}  // namespace

int64_t MemoryAccount::total() const {
  int64_t sum = 0;
  for (const Share& s : shares) sum += s.bytes;
  return sum;
}

int64_t MemoryAccount::of(const std::string& owner) const {
  const auto at = std::ranges::find(shares, owner, &Share::owner);
  return at == shares.end() ? 0 : at->bytes;
}

MemoryAccount memory_account(const MemoryFacts& f, const MemoryChoice& c) {
  const Scene& scene = *f.scene;
  // Lenses and masks were read before f.program was measured; only their copies are added.
  const int64_t program = f.program + kLoose + list_bytes(scene.train) / 2;
  int64_t pictures = picture_bytes(scene.train) + picture_bytes(scene.test), decoding = 0;
  if (c.resident > 0) {
    pictures = PicturePool::bytes_of(scene.train, pool_of(f, c));
    decoding = PicturePool::bytes_to_decode(scene.train, pool_of(f, c));
  } else if (scene.on_the_disk()) {
    decoding = PicturePool::bytes_to_decode(scene.train, {.workers = omp_get_max_threads()});
  }
  int64_t largest = 0, reading = 0;  // a test view, and reading it where it is still on the disk
  for (const View& v : scene.test) {
    largest = std::max(largest, v.pixels());
    if (c.resident > 0 && v.source) reading = std::max(reading, v.source->bytes_to_read);
  }
  const OfLists lists = f.trainer > 0 ? OfLists{} : of_lists(f, c.config);
  const int64_t trainer = f.trainer + lists.table + lists.optimizer + lists.grid + lists.batch;
  const int64_t model = f.trainer > 0 ? f.model : lists.table;
  const int64_t drawing = f.trainer > 0 ? 0 : Renderer::bytes_of(c.config, c.pixels);
  // Three phases: before the first step, during the steps, and after the last one. The largest counts. What the
  // evaluation will take is timed before ceilings are measured.
  const int64_t probe = f.trainer > 0 || !f.evaluated || scene.test.empty()
                            ? 0
                            : Renderer::bytes_of(c.config, std::min(kProbePixels, c.pixels));
  const int64_t ceilings = c.ceilings ? ceiling_bytes(f.timed) : 0;
  // One thread takes steps, samples ceilings and saves: the loops of a sample are gone when a model is copied.
  const int64_t sampling = c.ceilings ? kCeilingLoops : 0;
  const int64_t beside =
      std::max(ceilings + std::max({model, f.resumed, sampling}), probe + std::max(model, f.resumed));
  const int64_t before = std::max(bytes_to_time(f.timed, c.cold) + f.resumed - trainer, int64_t{0});
  const int64_t behind = f.evaluated && !scene.test.empty()
                             ? model + std::max(drawing + 72 * largest, reading) + ceilings - trainer
                             : 0;
  const int64_t scratch = std::max({beside, before, behind, int64_t{0}});
  // All pictures are decoded before there is a trainer.
  if (c.resident == 0) decoding = std::max(decoding + f.resumed - trainer - scratch, int64_t{0});
  MemoryAccount account;
  account.shares = {{"program", program, "code, libraries, stacks"},
                    {"pictures", pictures + decoding + f.load_room, pictures_text(f, c)}};
  const Config& k = c.config;
  if (f.trainer > 0)
    account.shares.push_back({"trainer", f.trainer, f.trainer_text});
  else
    account.shares.insert(
        account.shares.end(),
        {{"table", lists.table, fmt::format("2^{} entries a level, and the networks", k.log2_table)},
         {"optimizer", lists.optimizer, "gradients, moments, averages"},
         {"grid", lists.grid,
          fmt::format("{}^3 cells, {} cascade{}", k.grid, scene.cascades, scene.cascades == 1 ? "" : "s")},
         {"batch", lists.batch, fmt::format("{} samples a step", k.batch_samples)}});
  account.shares.push_back({"scratch", scratch,
                            c.ceilings ? "ceilings; saving, timing, test pictures"
                                       : "saving, timing, test pictures; no ceilings"});
  return account;
}

}  // namespace klab
