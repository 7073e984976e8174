// Loads, stores, atomics, copies, addresses, fences.
#include <map>

#include "harness/cuda_compiler/ptx_parts.h"

namespace klab::cuda_compiler {
namespace {

/// Returns whether the instruction's addresses are those of a window of shared memory.
bool ptx_shared(const PtxInstruction& i) {
  return i.has("shared") || i.has("shared::cta") || i.has("shared::cluster");
}

/// st.async [a], b, [barrier]
std::string stored_async(const PtxInstruction& i, const PtxNames& n) {
  const std::string type = ptx_type_of(i);
  if (type.empty() || i.operands.size() != 3 || !i.has("mbarrier::complete_tx::bytes") ||
      !i.has("shared::cluster"))
    return "";
  const std::vector<std::string> values = PtxNames::list(i.operands[1]);
  std::string text = kPtxHelpers + "store_async(" + n.address(i.operands[0], true) + ", " + kPtxHelpers +
                     "Neighbors<" + type + ", " + std::to_string(values.size()) + ">{{";
  for (const std::string& v : values) text += n.as(type, v) + ", ";
  return text + "}}, " + n.address(i.operands[2], true) + ");";
}

/// Returns whether other threads may access the memory at the same time. `volatile` is weaker: it orders nothing within a block.
bool is_strong(const PtxInstruction& i) {
  return i.has("relaxed") || i.has("acquire") || i.has("release") || i.has("mmio");
}

/// Returns the statement with the fences that an instruction with .acquire, .release or .acq_rel has in it.
std::string with_fences(const PtxInstruction& i, const std::string& statement) {
  if (statement.empty()) return "";
  const std::string fence = i.has("cta") ? "__threadfence_block();" : "__threadfence();";
  const bool both = i.has("acq_rel") || i.has("sc");
  return (both || i.has("release") ? fence + " " : "") + statement +
         (both || i.has("acquire") ? " " + fence : "");
}

std::string moved_memory(const PtxInstruction& i, const PtxNames& n) {
  const std::string type = ptx_type_of(i);
  const bool load = i.op() == "ld" || i.op() == "ldu";
  if (type.empty() || i.operands.size() < 2 || i.has("param") || i.has("local") || i.has("b128")) return "";
  const std::string address = n.address(i.operands[load ? 1 : 0], ptx_shared(i));
  const std::vector<std::string> values = PtxNames::list(i.operands[load ? 0 : 1]);
  const bool flag = is_strong(i) || i.has("volatile");
  const std::string many = std::to_string(values.size()), of = "<" + type + ", " + many + ">";
  if (values.size() == 1 && is_strong(i)) {
    if (load) return n.set(values[0], kPtxHelpers + "load_strong<" + type + ">(" + address + ")");
    return kPtxHelpers + "store_strong<" + type + ">(" + address + ", " + n.as(type, values[0]) + ");";
  }
  if (values.size() == 1) {
    const std::string at =
        "*static_cast<" + std::string(i.has("volatile") ? "volatile " : "") + type + "*>(" + address + ")";
    return load ? n.set(values[0], at) : at + " = " + n.as(type, values[0]) + ";";
  }
  if (load) {
    std::string text =
        "{ const auto klab_all = " + kPtxHelpers + (flag ? "load_flag" : "load") + of + "(" + address + ");";
    for (size_t k = 0; k < values.size(); ++k)
      text += n.set(values[k], "klab_all.x[" + std::to_string(k) + "]");
    return text + " }";
  }
  std::string text = kPtxHelpers + (flag ? "store_flag(" : "store(") + address + ", " + kPtxHelpers +
                     "Neighbors" + of + "{{";
  for (const std::string& v : values) text += n.as(type, v) + ", ";
  return text + "}});";
}

std::string atomic_of(const PtxInstruction& i, const PtxNames& n) {
  static const std::map<std::string, std::string> names = {
      {"add", "atomicAdd"}, {"min", "atomicMin"}, {"max", "atomicMax"}, {"exch", "atomicExch"},
      {"cas", "atomicCAS"}, {"and", "atomicAnd"}, {"or", "atomicOr"},   {"xor", "atomicXor"},
      {"inc", "atomicInc"}, {"dec", "atomicDec"}};
  const std::string type = ptx_type_of(i);
  const size_t first = i.op() == "red" ? 0 : 1;
  const std::string& last = i.parts.back();
  if (i.has("add") && (last == "f16x2" || last == "bf16x2") && i.operands.size() == first + 2 &&
      PtxNames::list(i.operands[first + 1]).size() == 1) {
    const std::string call =
        "::klab::simt::add_pair(static_cast<unsigned*>(" + n.address(i.operands[first], ptx_shared(i)) +
        "), " + n.as("unsigned", i.operands[first + 1]) + (last == "f16x2" ? ", false)" : ", true)");
    return first == 0 ? call + ";" : n.set(i.operands[0], call);
  }
  // red.global.add.noftz.v4.f16x2 [a], {b, c, d, e}; halves of 16 bits are joined in pairs.
  if (const size_t from = last.find("f16");
      first == 0 && i.has("add") && from != std::string::npos && i.operands.size() == 2 && !ptx_shared(i)) {
    std::vector<std::string> words = PtxNames::list(i.operands[1]);
    const bool pairs = last.ends_with("x2");
    if ((!i.has("v2") && !i.has("v4") && !i.has("v8")) || !i.has("v" + std::to_string(words.size())) ||
        words.size() > (pairs ? 4U : 8U))
      return "";
    std::string text = "{ const unsigned klab_r[] = {";
    for (size_t k = 0; k < words.size(); k += pairs ? 1 : 2)
      text += pairs ? n.as("unsigned", words[k]) + ", "
                    : n.as("unsigned short", words[k]) + " | unsigned(" +
                          n.as("unsigned short", words[k + 1]) + ") << 16, ";
    return text + "}; ::klab::simt::add_halves(" + n.address(i.operands[0], false) +
           ", sizeof klab_r / 4, klab_r, " + (last.starts_with("b") ? "true" : "false") +
           ", __builtin_FILE(), __builtin_LINE()); ::klab::simt::atomic_called(); }";
  }
  if (type.empty() || type.find("short") != std::string::npos ||
      i.parts.back().find("f16") != std::string::npos)
    return "";
  const std::vector<std::string> values =
      i.operands.size() == first + 2 ? PtxNames::list(i.operands[first + 1]) : std::vector<std::string>();
  if (values.size() > 1) {
    const std::string many = std::to_string(values.size());
    if (first != 0 || type != "float" || !i.has("add") || (values.size() != 2 && values.size() != 4))
      return "";
    std::string call = "atomicAdd(static_cast<float" + many + "*>(" + n.address(i.operands[0], false) +
                       "), make_float" + many + "(";
    for (size_t k = 0; k < values.size(); ++k) call += (k > 0 ? ", " : "") + n.as(type, values[k]);
    return call + "));";
  }
  for (const std::string& part : i.parts) {
    const auto at = names.find(part);
    if (at == names.end()) continue;
    if (i.operands.size() != first + (part == "cas" ? 3 : 2)) return "";
    std::string call =
        at->second + "(static_cast<" + type + "*>(" + n.address(i.operands[first], ptx_shared(i)) + ")";
    for (size_t k = first + 1; k < i.operands.size(); ++k) call += ", " + n.as(type, i.operands[k]);
    call += ")";
    return first == 0 ? call + ";" : n.set(i.operands[0], call);
  }
  return "";
}

std::string copied_memory(const PtxInstruction& i, const PtxNames& n) {
  if (i.has("commit_group")) return "::klab::simt::copy_async_commit();";
  if (i.has("wait_all")) return "::klab::simt::copy_async_commit(); ::klab::simt::copy_async_wait(0);";
  if (i.has("wait_group") && i.operands.size() == 1)
    return "::klab::simt::copy_async_wait(" + n.as("int", i.operands[0]) + ");";
  if (!ptx_shared(i) || i.operands.size() < 3) return "";
  std::string filled = n.as("unsigned", i.operands[2]);
  // The number of bytes may be followed by the number that is copied, or by a cache policy, which has no
  // effect here.
  if (i.operands.size() > 3 && !(i.operands.size() == 4 && i.has("L2::cache_hint")))
    filled = n.as("unsigned", i.operands[3]);
  return "::klab::simt::copy_async(" + n.address(i.operands[0], true) + ", " +
         n.address(i.operands[1], false) + ", " + n.as("unsigned", i.operands[2]) + ", " + filled + ");";
}

std::string address_of(const PtxInstruction& i, const PtxNames& n) {
  if (i.operands.size() != 2) return "";
  if (!ptx_shared(i)) return n.set(i.operands[0], n.as("unsigned long long", i.operands[1]));
  if (i.has("to"))
    return n.set(i.operands[0], "::klab_shared_address(reinterpret_cast<void*>(" +
                                    n.as("unsigned long long", i.operands[1]) + "))");
  return n.set(i.operands[0], "reinterpret_cast<unsigned long long>(::klab_shared_pointer(" +
                                  n.as("unsigned", i.operands[1]) + "))");
}

}  // namespace

std::string ptx_memory(const PtxInstruction& i, const PtxNames& n) {
  const std::string& op = i.op();
  if (op == "st" && i.has("async")) return stored_async(i, n);
  if (op == "ld" || op == "ldu" || op == "st") return with_fences(i, moved_memory(i, n));
  if (op == "atom" || op == "red") return with_fences(i, atomic_of(i, n));
  if (op == "cp" && i.has("async") && !i.has("bulk") && !i.has("mbarrier")) return copied_memory(i, n);
  if (op == "cvta") return address_of(i, n);
  if (op == "mapa" && i.operands.size() == 3)
    return n.set(i.operands[0],
                 ptx_shared(i)
                     ? "::klab::simt::map_shared_address(" + n.as("unsigned", i.operands[1]) + ", " +
                           n.as("unsigned", i.operands[2]) + ", __builtin_FILE(), __builtin_LINE())"
                     : "reinterpret_cast<unsigned long long>(::klab::simt::map_shared("
                       "reinterpret_cast<void*>(" +
                           n.as("unsigned long long", i.operands[1]) + "), " +
                           n.as("unsigned", i.operands[2]) + ", __builtin_FILE(), __builtin_LINE()))");
  if (op == "getctarank" && i.operands.size() == 2)
    return n.set(i.operands[0],
                 "::klab::simt::rank_of_shared(" + n.address("[" + i.operands[1] + "]", ptx_shared(i)) + ")");
  if (op == "prefetch" || op == "prefetchu" || op == "discard" || op == "applypriority") return ";";
  if (op == "createpolicy" && !i.operands.empty()) return n.set(i.operands[0], "0ull");
  if (op == "membar" || (op == "fence" && !i.has("proxy") && !i.has("mbarrier_init"))) {
    return i.has("cta")   ? "__threadfence_block();"
           : i.has("sys") ? "__threadfence_system();"
                          : "__threadfence();";
  }
  return "";
}

}  // namespace klab::cuda_compiler
