// Hopper's asynchronous instructions: barriers in shared memory (mbarrier), bulk copies and tensor copies, wgmma, named
// barriers. They call harness/simt/async_api.h.
#include <cstdio>
#include <map>
#include <set>

#include "harness/cuda_compiler/ptx_parts.h"

namespace klab::cuda_compiler {
namespace {

const std::string kSimt = "::klab::simt::";
const std::string kHere = ", __builtin_FILE(), __builtin_LINE())";

bool has_any(const PtxInstruction& i, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    if (i.has(part)) return true;
  return false;
}

/// Address of a barrier or of a tile, of this block or of another of the cluster.
std::string block_address(const PtxInstruction& i, const PtxNames& n, const std::string& operand) {
  return n.address(operand, has_any(i, {"shared", "shared::cta", "shared::cluster"}));
}

std::string arrived(const PtxInstruction& i, const PtxNames& n) {
  const bool expects = i.has("expect_tx"), drops = i.parts[1] == "arrive_drop",
             incomplete = i.has("noComplete");
  if (i.operands.size() < 2 || (expects && (drops || incomplete || i.operands.size() != 3)) ||
      (incomplete && (drops || i.operands.size() != 3)))
    return "";
  const std::string value = i.operands.size() > 2 ? n.as("unsigned", i.operands[2]) : "1u";
  return n.set(i.operands[0], kSimt + "mbarrier_arrive(" + block_address(i, n, i.operands[1]) + ", " +
                                  (expects ? "1u" : value) + ", " + kSimt + "Arrival::" +
                                  (expects      ? "expect"
                                   : drops      ? "drop"
                                   : incomplete ? "no_complete"
                                                : "plain") +
                                  ", " + (expects ? value : "0") + ", __builtin_FILE(), __builtin_LINE(), " +
                                  kSimt + "Passes::" +
                                  (i.has("relaxed") ? "nothing"
                                   : i.has("cta")   ? "to_block"
                                                    : "to_cluster") +
                                  ")");
}

std::string barrier_in_memory(const PtxInstruction& i, const PtxNames& n) {
  if (i.parts.size() < 2) return "";
  const std::string& what = i.parts[1];
  // Another block's barrier can be arrived at, and its bytes be expected or completed.
  if (has_any(i, {"shared::cluster"}) && (what == "init" || what == "inval" || what == "test_wait" ||
                                          what == "try_wait" || what == "pending_count"))
    return "";
  const size_t operands = i.operands.size();
  if (what == "init" && operands == 2)
    return kSimt + "mbarrier_init(" + block_address(i, n, i.operands[0]) + ", " +
           n.as("unsigned", i.operands[1]) + kHere + ";";
  if (what == "inval" && operands == 1)
    return kSimt + "mbarrier_invalidate(" + block_address(i, n, i.operands[0]) + kHere + ";";
  if (what == "arrive" || what == "arrive_drop") return arrived(i, n);
  if ((what == "expect_tx" || what == "complete_tx") && operands == 2)
    return kSimt + "mbarrier_transact(" + block_address(i, n, i.operands[0]) + ", " +
           (what == "complete_tx" ? "-(long long)" : "(long long)") + n.as("unsigned", i.operands[1]) +
           kHere + ";";
  if ((what == "test_wait" || what == "try_wait") && (operands == 3 || operands == 4)) {
    const bool parity = i.has("parity");
    return n.set(i.operands[0], kSimt + (parity ? "mbarrier_wait_parity(" : "mbarrier_wait(") +
                                    block_address(i, n, i.operands[1]) + ", " +
                                    n.as(parity ? "unsigned" : "unsigned long long", i.operands[2]) +
                                    ", __builtin_FILE(), __builtin_LINE(), " +
                                    (i.has("relaxed") ? "false)" : "true)"));
  }
  if (what == "pending_count" && operands == 2)
    return n.set(i.operands[0],
                 kSimt + "mbarrier_pending(" + n.as("unsigned long long", i.operands[1]) + ")");
  return "";
}

/// "[%1, {%2, %3}]": the address of a tensor map, and coordinates.
struct TensorPlace {
  std::string map, coordinates;
  int rank = 0;
};
TensorPlace tensor_place(const std::string& operand, const PtxNames& n) {
  const size_t brace = operand.find('{'), end = operand.find('}');
  const size_t comma = operand.rfind(',', brace);
  if (brace == std::string::npos || end == std::string::npos || comma == std::string::npos) return {};
  TensorPlace place;
  place.map = "static_cast<const CUtensorMap*>(" + n.address(operand.substr(0, comma) + "]", false) + ")";
  for (const std::string& c : PtxNames::list(operand.substr(brace, end - brace + 1))) {
    place.coordinates += (place.rank > 0 ? ", " : "") + n.as("int", c);
    ++place.rank;
  }
  return place;
}

/// The operation and the type of a reduction, as arguments of a call; without either it is empty.
struct Reduction {
  std::string how, type;
};
Reduction reduction_of(const PtxInstruction& i) {
  static const std::map<std::string, std::string> operations = {
      {"add", "add"}, {"min", "min"},     {"max", "max"},   {"inc", "inc"},
      {"dec", "dec"}, {"and", "bit_and"}, {"or", "bit_or"}, {"xor", "bit_xor"}};
  static const std::set<std::string> types = {"u32",  "s32", "u64", "s64", "f16",
                                              "bf16", "f32", "f64", "b32", "b64"};
  Reduction r;
  for (const std::string& part : i.parts) {
    if (const auto at = operations.find(part); at != operations.end())
      r.how = kSimt + "BulkReduce::" + at->second;
    if (types.contains(part)) r.type = kSimt + "BulkType::" + part;
  }
  return r;
}

/// cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [to], [from], bytes, and of tensor boxes;
/// cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [to], [from], bytes, [barrier]
std::string reduced_in_bulk(const PtxInstruction& i, const PtxNames& n) {
  const auto [how, type] = reduction_of(i);
  if (how.empty() || !i.has("shared::cta") || i.has("im2col_no_offs")) return "";
  if (i.has("shared::cluster") && i.has("mbarrier::complete_tx::bytes") && !i.has("tensor") &&
      !type.empty() && i.operands.size() == 4)
    return kSimt + "bulk_reduce_to_peer(" + how + ", " + type + ", " + n.address(i.operands[0], true) + ", " +
           n.address(i.operands[1], true) + ", " + n.as("unsigned", i.operands[2]) + ", " +
           n.address(i.operands[3], true) + kHere + ";";
  if (!i.has("bulk_group") || !i.has("global")) return "";
  if (!i.has("tensor")) {
    if (type.empty() || i.operands.size() < 3) return "";
    return kSimt + "bulk_reduce(" + how + ", " + type + ", " + n.address(i.operands[0], false) + ", " +
           n.address(i.operands[1], true) + ", " + n.as("unsigned", i.operands[2]) + kHere + ";";
  }
  if (i.operands.size() < 2) return "";
  const TensorPlace place = tensor_place(i.operands[0], n);
  if (place.rank == 0 || !i.has(std::to_string(place.rank) + "d")) return "";
  return "{ const int klab_at[] = {" + place.coordinates + "}; " + kSimt + "tensor_reduce(" + how + ", " +
         place.map + ", " + std::to_string(place.rank) + ", klab_at, " + n.address(i.operands[1], true) +
         kHere + "; }";
}

/// red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [to], value, [barrier]
std::string reduced_async(const PtxInstruction& i, const PtxNames& n) {
  const auto [how, type] = reduction_of(i);
  const std::string word = ptx_type_of(i);
  if (how.empty() || type.empty() || word.empty() || !i.has("mbarrier::complete_tx::bytes") ||
      !i.has("shared::cluster") || i.operands.size() != 3)
    return "";
  return "{ const " + word + " klab_v = " + n.as(word, i.operands[1]) + "; " + kSimt + "reduce_async(" + how +
         ", " + type + ", " + n.address(i.operands[0], true) + ", &klab_v, sizeof klab_v, " +
         n.address(i.operands[2], true) + kHere + "; }";
}

std::string copied_in_bulk(const PtxInstruction& i, const PtxNames& n) {
  const size_t operands = i.operands.size();
  if (i.has("commit_group")) return kSimt + "bulk_commit();";
  if (i.has("wait_group") && operands == 1)
    return kSimt + "bulk_wait(" + n.as("int", i.operands[0]) + (i.has("read") ? ", true);" : ", false);");
  if (i.has("prefetch")) return ";";
  if (has_any(i, {"im2col::w", "im2col::w::128", "cta_group::1", "cta_group::2", "tile::gather4",
                  "tile::scatter4"}) ||
      i.op() != "cp")
    return "";
  if (i.has("reduce")) return reduced_in_bulk(i, n);
  if (has_any(i, {"shared::cta"}) && i.has("shared::cluster") && !i.has("tensor") && operands == 4)
    return kSimt + "bulk_copy_to_peer(" + n.address(i.operands[0], true) + ", " +
           n.address(i.operands[1], true) + ", " + n.as("unsigned", i.operands[2]) + ", " +
           n.address(i.operands[3], true) + kHere + ";";
  const bool several = i.has("multicast::cluster");
  const bool to_shared = i.has("mbarrier::complete_tx::bytes") && i.has("global") &&
                         has_any(i, {"shared::cluster", "shared::cta"});
  const bool to_global = i.has("bulk_group") && i.has("global") && i.has("shared::cta");
  if (to_shared == to_global) return "";
  if (several && !to_shared) return "";
  if (!i.has("tensor")) {
    if (operands < (to_shared ? 4U : 3U) + several) return "";
    const std::string bytes = n.as("unsigned", i.operands[2]);
    if (several)
      return kSimt + "bulk_load_multicast(" + n.address(i.operands[0], true) + ", " +
             n.address(i.operands[1], false) + ", " + bytes + ", " + n.address(i.operands[3], true) + ", " +
             n.as("unsigned short", i.operands[4]) + kHere + ";";
    if (to_shared)
      return kSimt + "bulk_load(" + n.address(i.operands[0], true) + ", " + n.address(i.operands[1], false) +
             ", " + bytes + ", " + n.address(i.operands[3], true) + kHere + ";";
    return kSimt + "bulk_store(" + n.address(i.operands[0], false) + ", " + n.address(i.operands[1], true) +
           ", " + bytes + kHere + ";";
  }
  if (operands < (to_shared ? 3U : 2U) + several) return "";
  const TensorPlace place = tensor_place(i.operands[to_shared ? 1 : 0], n);
  if (place.rank == 0 || !i.has(std::to_string(place.rank) + "d")) return "";
  const std::string rank = std::to_string(place.rank);
  const std::string text = "{ const int klab_at[] = {" + place.coordinates + "}; ";
  if (i.has("im2col_no_offs") && !to_shared)
    return text + kSimt + "tensor_store_im2col(" + place.map + ", " + rank + ", klab_at, " +
           n.address(i.operands[1], true) + kHere + "; }";
  if (i.has("im2col") && to_shared) {
    const std::vector<std::string> offsets =
        operands > 3U + several ? PtxNames::list(i.operands[3]) : std::vector<std::string>();
    if (int(offsets.size()) != place.rank - 2) return "";
    std::string list;
    for (const std::string& o : offsets) list += n.as("unsigned short", o) + ", ";
    return text + "const unsigned short klab_off[] = {" + list + "}; " + kSimt + "tensor_load_im2col(" +
           n.address(i.operands[0], true) + ", " + place.map + ", " + rank + ", klab_at, klab_off, " +
           n.address(i.operands[2], true) + ", " + (several ? n.as("unsigned short", i.operands[4]) : "0") +
           kHere + "; }";
  }
  if (has_any(i, {"im2col", "im2col_no_offs"})) return "";
  if (to_shared)
    return text + kSimt + (several ? "tensor_load_multicast(" : "tensor_load(") +
           n.address(i.operands[0], true) + ", " + place.map + ", " + rank + ", klab_at, " +
           n.address(i.operands[2], true) + (several ? ", " + n.as("unsigned short", i.operands[3]) : "") +
           kHere + "; }";
  return text + kSimt + "tensor_store(" + place.map + ", " + rank + ", klab_at, " +
         n.address(i.operands[1], true) + kHere + "; }";
}

/// wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 d, a, b, scale-d, scale-a, scale-b, turned-a, turned-b: with A in
/// registers without turned-a, of elements other than f16 and bf16 without both, of integers with scale-d only.
std::string multiplied_by_group(const PtxInstruction& i, const PtxNames& n) {
  static const std::map<std::string, std::string> types = {
      {"f16", "f16"},   {"bf16", "bf16"}, {"tf32", "tf32"}, {"e4m3", "e4m3"},
      {"e5m2", "e5m2"}, {"s8", "s8"},     {"u8", "u8"}};
  const bool saturates = i.has("satfinite");
  const size_t last = i.parts.size() - (saturates ? 2 : 1);
  if (i.has("sp") || i.parts.size() < 8 || i.operands.size() < 4) return "";
  int m = 0, columns = 0, depth = 0;
  if (std::sscanf(i.parts[4].c_str(), "m%dn%dk%d", &m, &columns, &depth) != 3) return "";
  const std::string &d = i.parts[last - 2], &a = i.parts[last - 1], &b = i.parts[last];
  const bool halves = a == "f16" || a == "bf16", bytes = a == "s8" || a == "u8";
  const int wanted = halves ? 16 : a == "tf32" ? 8 : 32;
  if (m != 64 || columns % 8 != 0 || columns < 8 || columns > 256 || depth != wanted || !types.contains(a) ||
      !types.contains(b) || (d != "f32" && d != "f16" && d != "s32") || bytes != (d == "s32"))
    return "";
  const std::vector<std::string> sums = PtxNames::list(i.operands[0]), left = PtxNames::list(i.operands[1]);
  const bool in_registers = left.size() == 4;
  if (sums.size() != size_t(d == "f16" ? columns / 4 : columns / 2) || (!in_registers && left.size() != 1))
    return "";
  // Immediates: numbers, or operands "n"(...) of the statement.
  const auto is = [&](bool possible, size_t operand, const std::string& value) -> std::string {
    if (!possible || operand >= i.operands.size()) return "false";
    const std::string& given = i.operands[operand];
    if (given == "0" || given == "1" || given == "-1") return given == value ? "true" : "false";
    return n.as("int", given) + " == " + value;
  };
  const size_t turned = in_registers ? 6 : 7;
  std::string text = "{ unsigned* const klab_d[] = {";
  for (const std::string& r : sums) text += "reinterpret_cast<unsigned*>(&" + n.value(r) + "), ";
  text += "}; ";
  if (in_registers) {
    text += "const unsigned klab_a[] = {";
    for (const std::string& r : left) text += n.as("unsigned", r) + ", ";
    text += "}; ";
  }
  return text + kSimt + "wgmma({" + kSimt + "WgmmaType::" + types.at(a) + ", " + kSimt +
         "WgmmaType::" + types.at(b) + ", " + kSimt + "WgmmaSum::" + d + ", " + std::to_string(columns) +
         ", " + n.as("bool", i.operands[3]) + ", " + is(!bytes, 4, "-1") + ", " + is(!bytes, 5, "-1") + ", " +
         is(halves && !in_registers, 6, "1") + ", " + is(halves, turned, "1") + ", " +
         (saturates ? "true" : "false") + "}, {klab_d, nullptr}, " +
         (in_registers ? "klab_a, 0" : "nullptr, " + n.as("unsigned long long", left[0])) + ", " +
         n.as("unsigned long long", i.operands[2]) + kHere + "; }";
}

std::string of_group(const PtxInstruction& i, const PtxNames& n) {
  if (i.parts.size() < 2) return "";
  const std::string& what = i.parts[1];
  if (what == "mma_async") return multiplied_by_group(i, n);
  if (what == "fence") return kSimt + "wgmma_fence(__builtin_FILE(), __builtin_LINE());";
  if (what == "commit_group") return kSimt + "wgmma_commit(__builtin_FILE(), __builtin_LINE());";
  if (what == "wait_group" && i.operands.size() == 1)
    return kSimt + "wgmma_wait(" + n.as("int", i.operands[0]) + kHere + ";";
  return "";
}

/// barrier.cluster.arrive and .wait; bar.sync id, threads; bar.arrive; barrier.cta.sync ...: without a number of threads all of the block.
std::string at_named_barrier(const PtxInstruction& i, const PtxNames& n) {
  if (i.has("cluster") && i.has("arrive"))
    return kSimt + "cluster_arrive(" + (i.has("relaxed") ? "false" : "true") + kHere + ";";
  if (i.has("cluster") && i.has("wait")) return kSimt + "cluster_wait(__builtin_FILE(), __builtin_LINE());";
  const bool waits = i.has("sync");
  if ((!waits && !i.has("arrive")) || has_any(i, {"cluster", "red", "warp"}) || i.operands.empty() ||
      i.operands.size() > 2 || (!waits && i.operands.size() != 2))
    return "";
  const std::string threads =
      i.operands.size() == 2 ? n.as("unsigned", i.operands[1]) : "blockDim.x * blockDim.y * blockDim.z";
  return kSimt + "named_barrier(" + n.as("unsigned", i.operands[0]) + ", " + threads + ", " +
         (waits ? "true" : "false") + kHere + ";";
}

/// tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [map], 0, value; without a number for a field that a map has once.
/// tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [to], [from], 128
std::string changed_map(const PtxInstruction& i, const PtxNames& n) {
  static const std::set<std::string> once = {"global_address",    "rank",         "elemtype",
                                             "interleave_layout", "swizzle_mode", "fill_mode"},
                                     each = {"box_dim", "global_dim", "global_stride", "element_stride"};
  if (i.has("cp_fenceproxy") && i.operands.size() == 3)
    return kSimt + "tensor_map_copy(" + n.address(i.operands[0], false) + ", " +
           n.address(i.operands[1], true) + kHere + ";";
  if (!i.has("replace") || !i.has("tile")) return "";
  for (const std::string& part : i.parts) {
    const bool several = each.contains(part);
    if ((!several && !once.contains(part)) || i.operands.size() != (several ? 3U : 2U)) continue;
    return kSimt + "tensor_map_replace(" + block_address(i, n, i.operands[0]) + ", " + kSimt +
           "MapField::" + part + ", " + (several ? n.as("unsigned", i.operands[1]) : "0") + ", " +
           n.as("unsigned long long", i.operands[several ? 2 : 1]) + kHere + ";";
  }
  return "";
}

}  // namespace

std::string ptx_async(const PtxInstruction& i, const PtxNames& n) {
  const std::string& op = i.op();
  if (op == "mbarrier") return barrier_in_memory(i, n);
  if (op == "cp" && i.has("mbarrier") && i.has("arrive") && i.operands.size() == 1)
    return kSimt + "mbarrier_follows_copies(" + block_address(i, n, i.operands[0]) + ", " +
           (i.has("noinc") ? "true" : "false") + kHere + ";";
  if (op == "cp" && i.has("bulk")) return copied_in_bulk(i, n);
  if (op == "red" && i.has("async")) return reduced_async(i, n);
  if (op == "wgmma") return of_group(i, n);
  if (op == "bar" || op == "barrier") return at_named_barrier(i, n);
  if (op == "tensormap") return changed_map(i, n);
  if (op == "fence" && i.has("tensormap::generic") && i.has("acquire") && i.operands.size() == 2)
    return kSimt + "tensor_map_acquire(" + n.address(i.operands[0], false) + ");";
  if (op == "fence" && i.has("proxy")) {
    const bool async = has_any(i, {"async", "async::generic"});
    return async ? kSimt + "fence_proxy();" : ";";
  }
  if (op == "fence" && i.has("mbarrier_init")) return kSimt + "fence_mbarrier_init();";
  if (op == "griddepcontrol") {
    if (i.has("wait")) return kSimt + "wait_for_launch_before();";
    return i.has("launch_dependents") ? kSimt + "trigger_next_launch();" : "";
  }
  if (op == "setmaxnreg" && i.operands.size() == 1)
    return kSimt + "set_registers(" + n.as("unsigned", i.operands[0]) + ", " +
           (i.has("inc") ? "true" : "false") + kHere + ";";
  if (op == "elect" && i.has("sync") && i.operands.size() == 2) {
    const size_t bar = i.operands[0].find('|');
    if (bar == std::string::npos) return "";
    return "{ unsigned klab_leader = 0; const bool klab_me = " + kSimt + "elect(" +
           n.as("unsigned", i.operands[1]) + ", &klab_leader" + kHere + "; " +
           n.set(ptx_trimmed(i.operands[0].substr(0, bar)), "klab_leader") +
           n.set(ptx_trimmed(i.operands[0].substr(bar + 1)), "klab_me") + " }";
  }
  return "";
}

}  // namespace klab::cuda_compiler
