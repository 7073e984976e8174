// Thread block clusters, as kernels compiled for the host call them: launches in clusters, their barrier, distributed shared memory;
// and what else Hopper has beyond async_api.h.
//
// Semantics are those of the PTX manual; each function names the instruction. Functions with `file` and `line` report where they
// were called. Outside a launch in clusters a block is a cluster of one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/simt/runtime_api.h"
#include "harness/simt/tensor_map_types.h"

namespace klab::simt {

inline constexpr unsigned kPortableCluster = 8, kMostOfCluster = 16;

/// Launches a grid in clusters of `size` blocks. More than kPortableCluster blocks need `non_portable`
/// (cudaFuncAttributeNonPortableClusterSizeAllowed). Throws Error with CUDA's name for the error.
void launch_clusters(const Launch& what, const unsigned (&size)[3], bool non_portable);

/// Registers of the running thread: %cluster_ctarank, %cluster_nctarank, and by dimension %cluster_ctaid, %cluster_nctaid,
/// %clusterid, %nclusterid; %is_explicit_cluster.
unsigned cluster_rank();
unsigned cluster_blocks();
unsigned block_in_cluster(int dimension);
unsigned cluster_size(int dimension);
unsigned cluster_of_grid(int dimension);
unsigned clusters_of_grid(int dimension);
bool is_in_cluster();

/// barrier.cluster.arrive with .release or .relaxed, barrier.cluster.wait with .acquire.
void cluster_arrive(bool release, const char* file, int line);
void cluster_wait(const char* file, int line);

/// mapa: the address at which the block of that rank has a variable of this block's shared memory. The first takes and returns
/// generic addresses, the second those of the shared window.
void* map_shared(const void* p, unsigned rank, const char* file, int line);
uint32_t map_shared_address(uint32_t address, unsigned rank, const char* file, int line);
/// getctarank: the rank of the block to whose shared memory an address belongs; that of the running block for other addresses.
unsigned rank_of_shared(const void* p);

/// st.async: `bytes` (4, 8 or 16) to shared memory of a block of the cluster; they are completed on the barrier, which is in
/// the same block.
void store_async(void* to, const void* from, unsigned bytes, void* barrier, const char* file, int line);
/// cp.async.bulk.shared::cluster.shared::cta: from this block's shared memory to that of a block of the cluster
void bulk_copy_to_peer(void* to, const void* from, uint32_t bytes, void* barrier, const char* file, int line);
/// cp.async.bulk and cp.async.bulk.tensor with .multicast::cluster: to the same place in each block whose bit is set, with
/// completion on the barrier at the same place in it.
void bulk_load_multicast(void* shared, const void* global, uint32_t bytes, void* barrier, uint32_t blocks,
                         const char* file, int line);
void tensor_load_multicast(void* shared, const CUtensorMap* map, int rank, const int* at, void* barrier,
                           uint32_t blocks, const char* file, int line);

/// cp.async.bulk.tensor with .im2col, and stores with .im2col_no_offs: pixels of a map that cuTensorMapEncodeIm2col has made,
/// `offsets` of dimensions 1 to rank - 2. `blocks`: those of .multicast::cluster; 0: the own block.
void tensor_load_im2col(void* shared, const CUtensorMap* map, int rank, const int* at,
                        const uint16_t* offsets, void* barrier, uint32_t blocks, const char* file, int line);
void tensor_store_im2col(const CUtensorMap* map, int rank, const int* at, const void* shared,
                         const char* file, int line);

/// Operations and types of cp.reduce.async.bulk.
enum class BulkReduce : uint8_t { add, min, max, inc, dec, bit_and, bit_or, bit_xor };
enum class BulkType : uint8_t { u32, s32, u64, s64, f16, bf16, f32, f64, b32, b64, of_map };
/// cp.reduce.async.bulk.global.shared::cta and cp.reduce.async.bulk.tensor, in the thread's open bulk group
void bulk_reduce(BulkReduce how, BulkType type, void* global, const void* shared, uint32_t bytes,
                 const char* file, int line);
/// red.async, and cp.reduce.async.bulk.shared::cluster.shared::cta: to shared memory of a block of the cluster, completed on the
/// barrier, which is in the same block. Integers only.
void reduce_async(BulkReduce how, BulkType type, void* to, const void* value, unsigned bytes, void* barrier,
                  const char* file, int line);
void bulk_reduce_to_peer(BulkReduce how, BulkType type, void* to, const void* from, uint32_t bytes,
                         void* barrier, const char* file, int line);
void tensor_reduce(BulkReduce how, const CUtensorMap* map, int rank, const int* at, const void* shared,
                   const char* file, int line);

/// Fields that tensormap.replace changes (PTX manual, "tensormap.replace").
enum class MapField : uint8_t {
  global_address,
  rank,
  box_dim,
  global_dim,
  global_stride,
  element_stride,
  elemtype,
  interleave_layout,
  swizzle_mode,
  fill_mode
};
/// tensormap.replace, tensormap.cp_fenceproxy, and fence.proxy.tensormap::generic.acquire: a map that was changed is used by
/// copies behind that fence only.
void tensor_map_replace(void* map, MapField field, unsigned ordinal, uint64_t value, const char* file,
                        int line);
void tensor_map_copy(void* to, const void* from, const char* file, int line);
void tensor_map_acquire(void* map);

/// stmatrix: stores `matrices` of 8 x 8 elements of 16 bits, of which each lane gives its registers and the address of a row.
void store_matrix(uint32_t* r, int matrices, bool transposed, void* row, const char* file, int line);

/// red.global.add.noftz of vectors of f16 or bf16: adds to `words` neighbors of two numbers each, every number atomically, by one
/// request of all their bytes.
void add_halves(void* p, int words, const uint32_t* values, bool bfloat16, const char* file, int line);

/// griddepcontrol.wait: what the launch before has written may be read from here on.
void wait_for_launch_before();
/// griddepcontrol.launch_dependents
void trigger_next_launch();

}  // namespace klab::simt
