// Bulk copies and copies of tensor boxes (TMA): checks of their operands, to which blocks of a cluster they go, reductions.
#include <cstring>
#include <string>
#include <utility>

#include "harness/simt/async_api.h"
#include "harness/simt/bulk_reduce.h"
#include "harness/simt/cluster.h"
#include "harness/simt/memory.h"
#include "harness/simt/modules.h"
#include "harness/simt/peer_barrier.h"
#include "harness/simt/trace.h"
#include "harness/simt/unwatched.h"

namespace klab::simt {
namespace {

uint16_t number_of_phase(const Mbarrier& b) { return uint16_t(std::min<uint32_t>(b.phase, 0xFFFE)); }

/// Checks and counts a copy's side in global memory.
void engine(const CopyInFlight& c, bool write) {
  Trace* const trace = running->trace;
  if (c.reduces)
    for (const BoxRow& row : c.rows) running->in_turn(row.inside);
  if (trace == nullptr) {
    for (const BoxRow& row : c.rows)
      if (write && row.bytes > 0) written_unwatched(row.inside, row.bytes);
    return;
  }
  int64_t bytes = 0, sectors = 0;
  for (const BoxRow& row : c.rows) {
    if (row.bytes == 0) continue;
    trace->copy_engine_accesses(row.inside, row.bytes, write, c.pc, c.reduces);
    const auto from = reinterpret_cast<uintptr_t>(row.inside);
    bytes += row.bytes;
    sectors += int64_t((from + row.bytes - 1) / 32 - from / 32 + 1);
  }
  trace->copy_engine_counts(write, c.row_bytes, bytes, sectors, c.pc);
}

[[noreturn]] void refuse(Kind kind, const char* file, int line, const std::string& text) {
  running->abandon({.kind = kind, .file = file, .line = line, .text = text});
}

/// A copy's description; checks its alignment (PTX manual, "cp.async.bulk", "cp.async.bulk.tensor").
CopyInFlight copy_of(const void* shared, const char* name, size_t alignment, const char* file, int line,
                     const void* pc) {
  CopyInFlight c;
  c.to = static_cast<char*>(const_cast<void*>(shared));
  c.file = file;
  c.line = line;
  c.pc = pc;
  if (reinterpret_cast<uintptr_t>(shared) % alignment != 0)
    refuse(Kind::misaligned, file, line,
           std::string(name) + ": the address in shared memory is no multiple of " +
               std::to_string(alignment) + " bytes");
  return c;
}

void in_shared(const CopyInFlight& c, size_t bytes, const char* name) {
  if (!running->is_shared(c.to, bytes))
    refuse(Kind::out_of_bounds, c.file, c.line,
           std::string(name) + " of " + std::to_string(bytes) +
               " bytes reaches beyond the block's shared memory");
}

CopyInFlight bulk_copy(const void* shared, const void* global, uint32_t bytes, const char* file, int line,
                       const void* pc) {
  CopyInFlight c = copy_of(shared, "cp.async.bulk", 16, file, line, pc);
  if (bytes % 16 != 0 || bytes == 0 || reinterpret_cast<uintptr_t>(global) % 16 != 0)
    refuse(Kind::misaligned, file, line,
           "cp.async.bulk of " + std::to_string(bytes) +
               " bytes: the number and both addresses are multiples of 16");
  in_shared(c, bytes, "cp.async.bulk");
  c.row_bytes = c.bytes = bytes;
  c.rows = {{0, 0, bytes, static_cast<char*>(const_cast<void*>(global))}};
  return c;
}

/// Returns why the copy engine cannot read a tensor map at that address; empty if it can (PTX manual, "cp.async.bulk.tensor":
/// generic addresses of .param, .const and .global).
std::string no_place_of_map(const void* map) {
  const auto* const p = static_cast<const char*>(map);
  const Launch& launch = *running->launch;
  const auto* const parameters = static_cast<const char*>(launch.parameters);
  if (size_t(p - parameters) < launch.parameter_bytes) return "";
  if (size_t(p - running->lane->stack) < kStackOfThread)
    // klab-nvcc says which parameters of a program are constant; variants are compiled as they are.
    return running->arena == nullptr || running->async().is_constant(p, sizeof(CUtensorMap))
               ? ""
               : "with a tensor map in memory of the thread: the copy engine cannot read local variables, "
                 "nor "
                 "parameters that are not const __grid_constant__";
  if (is_device(p)) {
    const Allocation* const a = allocation_at(p);
    return a != nullptr && a->live && p >= a->begin && p + sizeof(CUtensorMap) <= a->begin + a->bytes
               ? ""
               : "with a tensor map in device memory that is not allocated, or was freed";
  }
  if (running->is_shared(p, 1))
    return "with a tensor map in shared memory, where the copy engine cannot read it";
  if (module_at(p) != nullptr) return "";
  return "with a tensor map in memory of the host: make it a const __grid_constant__ parameter of the "
         "kernel, or copy it to "
         "global or constant memory";
}

/// The elements that a tensor copy is for: a box, or pixels.
struct Elements {
  const int* at;
  bool pixels = false;
  const uint16_t* offsets = nullptr;
};

CopyInFlight tensor_copy(const void* shared, const CUtensorMap* map, int rank, const Elements& which,
                         const char* file, int line, const void* pc, TensorShape* read = nullptr) {
  CopyInFlight c = copy_of(shared, "cp.async.bulk.tensor", 128, file, line, pc);
  TensorShape shape;
  const auto fails = [&](const std::string& text) {
    refuse(Kind::out_of_bounds, file, line, "cp.async.bulk.tensor " + text);
  };
  if (const std::string why = no_place_of_map(map); !why.empty()) fails(why);
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0 || !read_tensor_map(map, shape))
    fails("with an address at which no tensor map lies (cuTensorMapEncodeTiled makes one)");
  if (shape.changed != 0)
    running->report({.kind = Kind::missing_wait,
                     .file = file,
                     .line = line,
                     .text =
                         "cp.async.bulk.tensor with a map that tensormap.replace has changed, and no "
                         "fence.proxy.tensormap::generic.acquire of it behind that: the copy may see the map "
                         "as it was"});
  if (rank != shape.rank)
    fails("of " + std::to_string(rank) + " dimensions with a map of " + std::to_string(shape.rank));
  if (which.pixels != (shape.pixels > 0))
    fails(which.pixels ? "with .im2col and a map of boxes: cuTensorMapEncodeIm2col makes one of pixels"
                       : "with a map of pixels (cuTensorMapEncodeIm2col), and without .im2col");
  c.rows = which.pixels ? rows_of_pixels(shape, which.at, which.offsets, &c.row_bytes)
                        : rows_of_box(shape, which.at, &c.row_bytes);
  c.outside = fill_pattern(shape);
  c.bytes = shape.box_bytes();
  c.swizzle = shape.swizzle;
  in_shared(c, c.bytes, "cp.async.bulk.tensor");
  if (read != nullptr) *read = shape;
  return c;
}

void load(CopyInFlight c, void* barrier, const char* name) {
  Mbarrier& b = running->async().mbarrier_at(barrier, name, c.file, c.line);
  if (running->trace != nullptr)
    running->trace->agent_writes(c.to, c.bytes, b.agent, number_of_phase(b), c.pc, nullptr, c.reduces);
  running->async().copy_issued(b, std::move(c));
}

/// The same to a block of the cluster; `barrier` has the address that the block itself has for it, as c.to has.
void load_to(unsigned rank, CopyInFlight c, void* barrier, const char* name) {
  Cluster* const cluster = running->cluster;
  if (cluster == nullptr || cluster->rank() == rank) return load(std::move(c), barrier, name);
  const PeerBarrier there = peer_barrier(cluster->at_rank(barrier, rank), name, c.file, c.line);
  if (there.gone) return;
  if (running->trace != nullptr)
    running->trace->agent_writes(c.to, c.bytes, there.barrier->agent, number_of_phase(*there.barrier), c.pc,
                                 (*cluster)[rank].trace, c.reduces);
  there.block->copy_issued(*there.barrier, std::move(c));
}

void load_multicast(const CopyInFlight& c, void* barrier, uint32_t blocks, const char* name) {
  const unsigned size = cluster_blocks();
  if (blocks == 0 || blocks >> size != 0)
    refuse(Kind::out_of_bounds, c.file, c.line,
           std::string(name) + " with .multicast::cluster to the blocks of the mask " +
               std::to_string(blocks) + ": the cluster has " + std::to_string(size));
  engine(c, false);
  for (unsigned rank = 0; rank < size; ++rank)
    if (blocks >> rank & 1) load_to(rank, c, barrier, name);
}

/// A place to which a block of the cluster is written: its rank, and the address that it has for it.
struct Target {
  unsigned rank;
  char* own;
};
Target target(void* to, size_t bytes, const char* name, const char* file, int line) {
  const Cluster::Place there = running->cluster != nullptr ? running->cluster->peer_at(to) : Cluster::Place{};
  const bool good = there.rank >= 0 ? there.left >= bytes : running->is_shared(to, bytes);
  if (!good)
    refuse(Kind::out_of_bounds, file, line,
           std::string(name) + " of " + std::to_string(bytes) + " bytes to no shared memory of the cluster");
  if (there.rank >= 0) return {unsigned(there.rank), there.own};
  return {cluster_rank(), static_cast<char*>(to)};
}
/// The barrier in the same block; its own address.
void* barrier_in(unsigned rank, void* barrier, const char* name, const char* file, int line) {
  const Target place = target(barrier, 8, name, file, line);
  if (place.rank != rank)
    refuse(Kind::barrier_misuse, file, line,
           std::string(name) + " to the block of rank " + std::to_string(rank) +
               " with a barrier in the block of rank " + std::to_string(place.rank) +
               ": both must be in the same block");
  return place.own;
}

BulkType type_of(const TensorShape& shape) {
  switch (CUtensorMapDataType(shape.type)) {
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
      return BulkType::s32;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
      return BulkType::u64;
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
      return BulkType::s64;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
      return BulkType::f16;
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return BulkType::bf16;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
      return BulkType::f32;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return BulkType::f64;
    default:
      return BulkType::u32;
  }
}

void store_reduced(CopyInFlight c, BulkReduce how, BulkType type, const char* name) {
  if (const std::string why = no_reduction(how, type); !why.empty())
    refuse(Kind::program, c.file, c.line, std::string(name) + ": " + why);
  c.reduces = true;
  c.how = how;
  c.type = type;
  engine(c, true);
  running->async().store_issued(c);
}

}  // namespace

PeerBarrier peer_barrier(void* p, const char* what, const char* file, int line) {
  Cluster* const cluster = running->cluster;
  const Cluster::Place there = cluster != nullptr ? cluster->peer_at(p) : Cluster::Place{};
  if (there.rank < 0) return {};
  const auto rank = unsigned(there.rank);
  if (!cluster->is_running(rank, std::string(what) + " on a barrier", file, line))
    return {nullptr, nullptr, rank, true};
  AsyncBlock* const block = (*cluster)[rank].async.get();
  Mbarrier* const b = block != nullptr ? block->barrier_of(there.own, p) : nullptr;
  if (b == nullptr)
    refuse(Kind::uninitialized, file, line,
           std::string(what) + " at shared memory of the block of rank " + std::to_string(rank) +
               " of the cluster in which no mbarrier.init has made a barrier");
  if (Trace* const trace = running->trace; trace != nullptr) {
    if (!trace->comes_before_me(b->began) && !b->is_known_behind(cluster->waited()))
      running->report(
          {.kind = Kind::shared_race,
           .file = file,
           .line = line,
           .text = std::string(what) + " on a barrier that the block of rank " + std::to_string(rank) +
                   " of the cluster has initialized, with no barrier of the cluster between" +
                   (cluster->waited() > 0
                        ? " that passes it on: barrier.cluster.arrive.relaxed does so only behind "
                          "fence.mbarrier_init"
                        : "")});
    trace->uses_peer(rank, nullptr, file, line);
  }
  return {b, block, rank};
}

void bulk_load(void* shared, const void* global, uint32_t bytes, void* barrier, const char* file, int line) {
  const Target to = target(shared, bytes, "cp.async.bulk", file, line);
  CopyInFlight c = bulk_copy(to.own, global, bytes, file, line, __builtin_return_address(0));
  void* const at = barrier_in(to.rank, barrier, "cp.async.bulk", file, line);
  engine(c, false);
  load_to(to.rank, std::move(c), at, "cp.async.bulk");
}

void bulk_load_multicast(void* shared, const void* global, uint32_t bytes, void* barrier, uint32_t blocks,
                         const char* file, int line) {
  load_multicast(bulk_copy(shared, global, bytes, file, line, __builtin_return_address(0)), barrier, blocks,
                 "cp.async.bulk");
}

void bulk_store(void* global, const void* shared, uint32_t bytes, const char* file, int line) {
  const CopyInFlight c = bulk_copy(shared, global, bytes, file, line, __builtin_return_address(0));
  engine(c, true);
  running->async().store_issued(c);
}

void bulk_reduce(BulkReduce how, BulkType type, void* global, const void* shared, uint32_t bytes,
                 const char* file, int line) {
  store_reduced(bulk_copy(shared, global, bytes, file, line, __builtin_return_address(0)), how, type,
                "cp.reduce.async.bulk");
}

namespace {

void load_elements(void* shared, const CUtensorMap* map, int rank, const Elements& which, void* barrier,
                   const char* file, int line, const void* pc) {
  constexpr const char* kName = "cp.async.bulk.tensor";
  const Cluster::Place there =
      running->cluster != nullptr ? running->cluster->peer_at(shared) : Cluster::Place{};
  void* const own = there.rank >= 0 ? there.own : shared;
  CopyInFlight c = tensor_copy(own, map, rank, which, file, line, pc);
  const Target to = target(shared, c.bytes, kName, file, line);
  void* const barrier_at = barrier_in(to.rank, barrier, kName, file, line);
  engine(c, false);
  load_to(to.rank, std::move(c), barrier_at, kName);
}

void store_elements(const CUtensorMap* map, int rank, const Elements& which, const void* shared,
                    const char* file, int line, const void* pc) {
  const CopyInFlight c = tensor_copy(shared, map, rank, which, file, line, pc);
  engine(c, true);
  running->async().store_issued(c);
}

}  // namespace

void tensor_load(void* shared, const CUtensorMap* map, int rank, const int* at, void* barrier,
                 const char* file, int line) {
  load_elements(shared, map, rank, {at}, barrier, file, line, __builtin_return_address(0));
}

void tensor_load_multicast(void* shared, const CUtensorMap* map, int rank, const int* at, void* barrier,
                           uint32_t blocks, const char* file, int line) {
  load_multicast(tensor_copy(shared, map, rank, {at}, file, line, __builtin_return_address(0)), barrier,
                 blocks, "cp.async.bulk.tensor");
}

void tensor_load_im2col(void* shared, const CUtensorMap* map, int rank, const int* at,
                        const uint16_t* offsets, void* barrier, uint32_t blocks, const char* file, int line) {
  const Elements which{at, true, offsets};
  const void* const pc = __builtin_return_address(0);
  if (blocks == 0) return load_elements(shared, map, rank, which, barrier, file, line, pc);
  load_multicast(tensor_copy(shared, map, rank, which, file, line, pc), barrier, blocks,
                 "cp.async.bulk.tensor");
}

void tensor_store(const CUtensorMap* map, int rank, const int* at, const void* shared, const char* file,
                  int line) {
  store_elements(map, rank, {at}, shared, file, line, __builtin_return_address(0));
}

void tensor_store_im2col(const CUtensorMap* map, int rank, const int* at, const void* shared,
                         const char* file, int line) {
  store_elements(map, rank, {at, true}, shared, file, line, __builtin_return_address(0));
}

void tensor_reduce(BulkReduce how, const CUtensorMap* map, int rank, const int* at, const void* shared,
                   const char* file, int line) {
  TensorShape shape;
  CopyInFlight c = tensor_copy(shared, map, rank, {at}, file, line, __builtin_return_address(0), &shape);
  store_reduced(std::move(c), how, type_of(shape), "cp.reduce.async.bulk.tensor");
}

void tensor_map_replace(void* map, MapField field, unsigned ordinal, uint64_t value, const char* file,
                        int line) {
  touch_from(map, sizeof(CUtensorMap), true, __builtin_return_address(0));
  if (const std::string why = replace_field(static_cast<CUtensorMap*>(map), field, ordinal, value);
      !why.empty())
    refuse(Kind::out_of_bounds, file, line, "tensormap.replace " + why);
}

/// All lanes of a warp copy together; the first does.
void tensor_map_copy(void* to, const void* from, const char* file, int line) {
  const auto copy = [](void* const* slots, unsigned present) {
    const auto& one = *static_cast<const std::pair<void*, const void*>*>(slots[__builtin_ctz(present)]);
    std::memcpy(one.first, one.second, sizeof(CUtensorMap));
  };
  if (running->lane->lane == 0) {
    touch_from(from, sizeof(CUtensorMap), false, __builtin_return_address(0));
    touch_from(to, sizeof(CUtensorMap), true, __builtin_return_address(0));
  }
  std::pair<void*, const void*> slot{to, from};
  running->wait_for_lanes(Meeting::matrix, ~0U, &slot, copy, "tensormap.cp_fenceproxy", file, line);
}

void tensor_map_acquire(void* map) {
  TensorShape shape;
  if (!read_tensor_map(static_cast<const CUtensorMap*>(map), shape)) return;
  shape.changed = 0;
  std::memcpy(map, &shape, sizeof shape);
}

void bulk_commit() { running->async().bulk_commit(); }

void bulk_wait(int left) { bulk_wait(left, false); }

void bulk_wait(int left, bool read) { running->async().bulk_wait(left, read); }

namespace {

/// How a copy to shared memory combines with what is there.
struct Reduction {
  BulkReduce how;
  BulkType type;
};
void reduces_by(CopyInFlight& c, const Reduction& r, const char* name) {
  if (const std::string why = no_reduction_in_shared(r.how, r.type); !why.empty())
    refuse(Kind::program, c.file, c.line, std::string(name) + ": " + why);
  c.reduces = true;
  c.how = r.how;
  c.type = r.type;
}

/// Sends `bytes` (4, 8 or 16) of a thread's registers.
void send_async(void* to, const void* from, unsigned bytes, void* barrier, const char* file, int line,
                const void* pc, const Reduction* reduction) {
  const char* const name = reduction != nullptr ? "red.async" : "st.async";
  if (reinterpret_cast<uintptr_t>(to) % bytes != 0)
    refuse(Kind::misaligned, file, line,
           std::string(name) + " of " + std::to_string(bytes) + " bytes at no multiple of that");
  const Target there = target(to, bytes, name, file, line);
  void* const own_barrier = barrier_in(there.rank, barrier, name, file, line);
  CopyInFlight c;
  c.to = there.own;
  c.bytes = bytes;
  c.file = file;
  c.line = line;
  c.pc = pc;
  c.data = std::make_shared<char[]>(bytes);
  std::memcpy(c.data.get(), from, bytes);
  c.pieces = {{there.own, c.data.get(), bytes, bytes, c.pc}};
  if (reduction != nullptr) reduces_by(c, *reduction, name);
  load_to(there.rank, std::move(c), own_barrier, name);
}

void send_bulk(void* to, const void* from, uint32_t bytes, void* barrier, const char* file, int line,
               const void* pc, const Reduction* reduction) {
  const char* const name = reduction != nullptr ? "cp.reduce.async.bulk" : "cp.async.bulk";
  const CopyInFlight source = bulk_copy(from, to, bytes, file, line, pc);
  const Target there = target(to, bytes, name, file, line);
  void* const own_barrier = barrier_in(there.rank, barrier, name, file, line);
  CopyInFlight c = source;
  c.to = there.own;
  c.data = std::make_shared<char[]>(bytes);
  std::memcpy(c.data.get(), from, bytes);
  if (reduction != nullptr) {
    reduces_by(c, *reduction, name);
    c.rows.clear();
    c.pieces = {{there.own, c.data.get(), bytes, bytes, pc}};
  } else {
    c.rows = {{0, 0, bytes, c.data.get()}};
  }
  if (Trace* const trace = running->trace; trace != nullptr) {
    Cluster* const cluster = running->cluster;
    const bool away = cluster != nullptr && cluster->rank() != there.rank;
    const PeerBarrier peer =
        away ? peer_barrier(cluster->at_rank(own_barrier, there.rank), name, file, line) : PeerBarrier{};
    if (peer.gone) return;
    const Mbarrier& b = away ? *peer.barrier : running->async().mbarrier_at(own_barrier, name, file, line);
    trace->agent_reads(source.to, bytes, b.agent, number_of_phase(b), pc, file, line,
                       away ? (*cluster)[there.rank].trace : nullptr);
  }
  load_to(there.rank, std::move(c), own_barrier, name);
}

}  // namespace

void store_async(void* to, const void* from, unsigned bytes, void* barrier, const char* file, int line) {
  send_async(to, from, bytes, barrier, file, line, __builtin_return_address(0), nullptr);
}

void reduce_async(BulkReduce how, BulkType type, void* to, const void* value, unsigned bytes, void* barrier,
                  const char* file, int line) {
  const Reduction reduction{how, type};
  send_async(to, value, bytes, barrier, file, line, __builtin_return_address(0), &reduction);
}

void bulk_copy_to_peer(void* to, const void* from, uint32_t bytes, void* barrier, const char* file,
                       int line) {
  send_bulk(to, from, bytes, barrier, file, line, __builtin_return_address(0), nullptr);
}

void bulk_reduce_to_peer(BulkReduce how, BulkType type, void* to, const void* from, uint32_t bytes,
                         void* barrier, const char* file, int line) {
  const Reduction reduction{how, type};
  send_bulk(to, from, bytes, barrier, file, line, __builtin_return_address(0), &reduction);
}

}  // namespace klab::simt
