// Barriers, votes, shuffles; matrices.
#include <cstdio>
#include <map>

#include "harness/cuda_compiler/ptx_parts.h"

namespace klab::cuda_compiler {
namespace {

/// Translates shfl.sync.up.b32 d|p, a, b, c, mask. p tells whether the value came from another lane of the
/// segment.
std::string shuffled(const PtxInstruction& i, const PtxNames& n) {
  static const std::map<std::string, std::string> names = {
      {"idx", "index"}, {"up", "up"}, {"down", "down"}, {"bfly", "exclusive_or"}};
  if (!i.has("sync") || i.operands.size() != 5) return "";
  const size_t bar = i.operands[0].find('|');
  const std::string value = ptx_trimmed(i.operands[0].substr(0, bar));
  for (const std::string& part : i.parts)
    if (const auto at = names.find(part); at != names.end())
      return "{ bool klab_in; const unsigned klab_s = " + kPtxHelpers +
             "shuffled(::klab::simt::Shuffle::" + at->second + ", " + n.as("unsigned", i.operands[1]) + ", " +
             n.as("unsigned", i.operands[2]) + ", " + n.as("unsigned", i.operands[3]) + ", " +
             n.as("unsigned", i.operands[4]) + ", klab_in); " + n.set(value, "klab_s") +
             (bar == std::string::npos ? "" : n.set(ptx_trimmed(i.operands[0].substr(bar + 1)), "klab_in")) +
             " }";
  return "";
}

std::string voted(const PtxInstruction& i, const PtxNames& n) {
  if (!i.has("sync") || i.operands.size() != 3) return "";
  const std::string name = i.has("ballot") ? "__ballot_sync"
                           : i.has("any")  ? "__any_sync"
                           : i.has("all")  ? "__all_sync"
                                           : "";
  if (name.empty()) return "";
  return n.set(i.operands[0],
               name + "(" + n.as("unsigned", i.operands[2]) + ", " + n.as("bool", i.operands[1]) + ")");
}

/// Translates redux.sync.add.s32 d, a, mask.
std::string reduced(const PtxInstruction& i, const PtxNames& n) {
  if (!i.has("sync") || i.operands.size() != 3) return "";
  const std::string type = i.has("s32") ? "int" : i.has("u32") || i.has("b32") ? "unsigned" : "";
  if (type.empty()) return "";
  for (const char* how : {"add", "min", "max", "and", "or", "xor"})
    if (i.has(how))
      return n.set(i.operands[0], "__reduce_" + std::string(how) + "_sync(" +
                                      n.as("unsigned", i.operands[2]) + ", " + n.as(type, i.operands[1]) +
                                      ")");
  return "";
}

std::string ptx_element(const std::string& part) {
  static const std::map<std::string, std::string> list = {
      {"f16", "f16"}, {"bf16", "bf16"}, {"tf32", "tf32"}, {"f32", "f32"}, {"f64", "f64"}, {"s8", "s8"},
      {"u8", "u8"},   {"s32", "s32"},   {"s4", "s4"},     {"u4", "u4"},   {"b1", "b1"}};
  const auto at = list.find(part);
  return at == list.end() ? "" : "::klab::program::Element::" + at->second;
}

/// Translates mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c. Names for single bits end with
/// .xor.popc or .and.popc.
std::string multiplied_matrices(const PtxInstruction& i, const PtxNames& n) {
  if (!i.has("sync") || i.operands.size() != 4 || !i.has("row") || !i.has("col") || i.has("sp") ||
      i.parts.size() < (i.has("popc") ? 10u : 8u))
    return "";
  int m = 0, columns = 0, k = 0;
  for (const std::string& part : i.parts)
    if (std::sscanf(part.c_str(), "m%dn%dk%d", &m, &columns, &k) == 3) break;
  const bool bits = i.has("popc");
  const size_t last = i.parts.size() - (bits ? 3 : 1);
  const std::string d = ptx_element(i.parts[last - 3]), a = ptx_element(i.parts[last - 2]),
                    b = ptx_element(i.parts[last - 1]), c = ptx_element(i.parts[last]);
  // Volta's m8n8k4 of halves works on quarter warps, which newer GPUs do not have.
  const bool volta = m == 8 && i.parts[last] != "f64" && i.parts[last] != "s32";
  if (m == 0 || volta || d.empty() || a.empty() || b.empty() || d != c) return "";
  const bool wide = i.parts[last] == "f64";
  const std::string word = wide ? "double" : "unsigned";
  const auto registers = [&](const char* name, const std::string& operand) {
    std::string text = word + " " + name + "[] = {";
    for (const std::string& o : PtxNames::list(operand)) text += n.as(word, o) + ", ";
    return text + "}; ";
  };
  const std::vector<std::string> results = PtxNames::list(i.operands[0]);
  std::string text =
      "{ " + registers("klab_a", i.operands[1]) + registers("klab_b", i.operands[2]) +
      registers("klab_c", i.operands[3]) + word + " klab_d[" + std::to_string(results.size()) + "]; " +
      "::klab::program::multiply_matrices({" + std::to_string(m) + ", " + std::to_string(columns) + ", " +
      std::to_string(k) + ", " + a + ", " + b + ", " + c + ", " + (i.has("satfinite") ? "true" : "false") +
      (bits ? std::string(", ::klab::program::Product::") + (i.has("xor") ? "bits_xor" : "bits_and") : "") +
      "}, klab_d, klab_a, klab_b, klab_c, __builtin_FILE(), __builtin_LINE()); ";
  for (size_t r = 0; r < results.size(); ++r) text += n.set(results[r], "klab_d[" + std::to_string(r) + "]");
  return text + " }";
}

std::string loaded_matrices(const PtxInstruction& i, const PtxNames& n) {
  if (!i.has("sync") || !i.has("m8n8") || i.operands.size() != 2) return "";
  const std::vector<std::string> results = PtxNames::list(i.operands[0]);
  const std::string many = std::to_string(results.size());
  std::string text = "{ unsigned klab_r[" + many + "]; ::klab::simt::load_matrix(klab_r, " + many + ", " +
                     (i.has("trans") ? "true" : "false") + ", " + n.address(i.operands[1], true) +
                     ", __builtin_FILE(), __builtin_LINE()); ";
  for (size_t r = 0; r < results.size(); ++r) text += n.set(results[r], "klab_r[" + std::to_string(r) + "]");
  return text + " }";
}

std::string stored_matrices(const PtxInstruction& i, const PtxNames& n) {
  if (!i.has("sync") || !i.has("m8n8") || i.operands.size() != 2) return "";
  const std::vector<std::string> values = PtxNames::list(i.operands[1]);
  std::string text = "{ unsigned klab_r[] = {";
  for (const std::string& v : values) text += n.as("unsigned", v) + ", ";
  return text + "}; ::klab::simt::store_matrix(klab_r, " + std::to_string(values.size()) + ", " +
         (i.has("trans") ? "true" : "false") + ", " + n.address(i.operands[0], true) +
         ", __builtin_FILE(), __builtin_LINE()); }";
}

}  // namespace

std::string ptx_matrices(const PtxInstruction& i, const PtxNames& n) {
  if (i.op() == "mma") return multiplied_matrices(i, n);
  if (i.op() == "ldmatrix") return loaded_matrices(i, n);
  if (i.op() == "stmatrix") return stored_matrices(i, n);
  return "";
}

std::string ptx_warp(const PtxInstruction& i, const PtxNames& n) {
  const std::string& op = i.op();
  if (op == "shfl") return shuffled(i, n);
  if (op == "vote") return voted(i, n);
  if (op == "redux") return reduced(i, n);
  if (op == "activemask" && i.operands.size() == 1) return n.set(i.operands[0], "__activemask()");
  if (op == "match" && i.has("any") && i.has("sync") && i.operands.size() == 3)
    return n.set(i.operands[0], "__match_any_sync(" + n.as("unsigned", i.operands[2]) + ", " +
                                    n.as(ptx_type_of(i), i.operands[1]) + ")");
  if ((op == "bar" && i.has("warp")) && i.operands.size() == 1)
    return "__syncwarp(" + n.as("unsigned", i.operands[0]) + ");";
  if ((op == "bar" || op == "barrier") && i.has("sync") && i.operands.size() == 1 && i.operands[0] == "0")
    return "__syncthreads();";
  if (op == "nanosleep") return "__nanosleep(0);";
  if (op == "pragma") return ";";
  if (op == "trap") return "__trap();";
  if (op == "exit") return "::klab::simt::exit_thread();";
  return "";
}

}  // namespace klab::cuda_compiler
