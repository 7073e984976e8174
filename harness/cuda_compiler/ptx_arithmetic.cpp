// Moves, conversions, arithmetic, comparisons.
#include <map>

#include "harness/cuda_compiler/ptx_parts.h"

namespace klab::cuda_compiler {
namespace {

/// Instructions that map operands of their type to one result: #0 is the type, #1, #2, #3 the operands.
const std::map<std::string, std::string>& ptx_plain() {
  static const std::map<std::string, std::string> list = {
      {"add", "#0(#1 + #2)"},
      {"sub", "#0(#1 - #2)"},
      {"and", "#0(#1 & #2)"},
      {"or", "#0(#1 | #2)"},
      {"xor", "#0(#1 ^ #2)"},
      {"not", "#0(~#1)"},
      {"neg", "#0(-#1)"},
      {"div", "#0(#1 / #2)"},
      {"rem", "#0(#1 % #2)"},
      {"min", "::klab::program::ptx::lesser<#0>(#1, #2)"},
      {"max", "::klab::program::ptx::greater<#0>(#1, #2)"},
      {"abs", "#0(#1 < 0 ? -#1 : #1)"},
      {"selp", "(::klab::program::ptx::get<bool>(@3) ? #1 : #2)"},
      {"sad", "#0(#3 + (#1 < #2 ? #2 - #1 : #1 - #2))"},
      {"shl", "::klab::program::ptx::shifted_left<#0>(#1, ::klab::program::ptx::get<unsigned>(@2))"},
      {"shr", "::klab::program::ptx::shifted_right<#0>(#1, ::klab::program::ptx::get<unsigned>(@2))"},
      {"popc", "(sizeof(#0) == 8 ? __popcll(#1) : __popc(unsigned(#1)))"},
      {"clz", "(sizeof(#0) == 8 ? __clzll((long long)(#1)) : __clz(int(#1)))"},
      {"brev", "#0(sizeof(#0) == 8 ? __brevll(#1) : __brev(unsigned(#1)))"},
      {"bfe", "::klab::program::bit_field(#1, #2, #3)"},
      {"prmt", "__byte_perm(#1, #2, #3)"},
      {"fma", "#0(fma(#1, #2, #3))"},
      {"rcp", "#0(#0(1) / #1)"},
      {"sqrt", "#0(sqrt(#1))"},
      {"rsqrt", "#0(#0(1) / sqrt(#1))"},
      {"ex2", "#0(exp2(#1))"},
      {"lg2", "#0(log2(#1))"},
      {"sin", "#0(sin(#1))"},
      {"cos", "#0(cos(#1))"},
      {"tanh", "#0(tanh(#1))"},
      {"copysign", "#0(copysign(#2, #1))"},
      {"lop3", "::klab::program::ptx::by_table(#1, #2, #3, unsigned(@4))"},
      {"bfi",
       "::klab::program::insert_bits(#1, #2, ::klab::program::ptx::get<unsigned>(@3), "
       "::klab::program::ptx::get<unsigned>(@4))"},
      {"dp4a", "__dp4a(#1, #2, #3)"},
  };
  return list;
}

std::string filled_form(std::string form, const std::string& type, const PtxInstruction& i,
                        const PtxNames& n) {
  std::string text;
  for (size_t k = 0; k < form.size(); ++k) {
    if ((form[k] != '#' && form[k] != '@') || k + 1 == form.size()) {
      text += form[k];
      continue;
    }
    const auto which = size_t(form[k + 1] - '0');
    if (which == 0)
      text += "(" + type + ")";
    else if (which >= i.operands.size())
      return "";
    else
      text += form[k] == '@' ? n.value(i.operands[which]) : n.as(type, i.operands[which]);
    ++k;
  }
  // A type in angle brackets or after sizeof is not a cast.
  for (size_t at; (at = text.find("<(" + type + ")>")) != std::string::npos;)
    text.replace(at, type.size() + 4, "<" + type + ">");
  return text;
}

std::string multiplied_numbers(const PtxInstruction& i, const PtxNames& n, const std::string& type) {
  const bool with_sum = i.op() == "mad";
  if (i.operands.size() < (with_sum ? 4u : 3u)) return "";
  std::string product, of = type;
  if (i.has("wide")) {
    of = type == "unsigned" ? "unsigned long long"
         : type == "int"    ? "long long"
         : type == "short"  ? "int"
                            : "unsigned";
    product = "(" + of + ")" + n.as(type, i.operands[1]) + " * (" + of + ")" + n.as(type, i.operands[2]);
  } else if (i.has("hi")) {
    product = kPtxHelpers + "high_of_product<" + type + ">(" + n.as(type, i.operands[1]) + ", " +
              n.as(type, i.operands[2]) + ")";
  } else {
    product = n.as(type, i.operands[1]) + " * " + n.as(type, i.operands[2]);
  }
  if (with_sum) product += " + " + n.as(of, i.operands[3]);
  return n.set(i.operands[0], "(" + of + ")(" + product + ")");
}

std::string compared(const PtxInstruction& i, const PtxNames& n, const std::string& type) {
  static const std::map<std::string, std::string> how = {
      {"eq", "=="}, {"ne", "!="}, {"lt", "<"},  {"le", "<="}, {"gt", ">"},
      {"ge", ">="}, {"lo", "<"},  {"ls", "<="}, {"hi", ">"},  {"hs", ">="}};
  if (i.operands.size() != 3 || i.parts.size() < 3) return "";
  const auto at = how.find(i.parts[1]);
  if (at == how.end()) return "";
  return n.set(i.operands[0], n.as(type, i.operands[1]) + " " + at->second + " " + n.as(type, i.operands[2]));
}

/// Translates cvt.rn.f32.s32 and the like: to the first type from the second.
std::string converted(const PtxInstruction& i, const PtxNames& n) {
  if (i.parts.size() < 3 || i.operands.size() != 2) return "";
  const std::string &to = i.parts[i.parts.size() - 2], &from = i.parts.back();
  const std::string source = n.as(ptx_type(from), i.operands[1]);
  const auto real = [](const std::string& t) { return t == "f32" || t == "f64"; };
  if (to == "f16" && from == "f32")
    return n.set(i.operands[0], "__half_as_ushort(__float2half_rn(" + source + "))");
  if (to == "f32" && from == "f16")
    return n.set(i.operands[0], "__half2float(__ushort_as_half(" + source + "))");
  if (to == "tf32" || to.find("16") == 1 || ptx_type(to).empty() || ptx_type(from).empty()) return "";
  if (real(from) && !real(to)) {
    const std::string round = i.has("rni")   ? "rint"
                              : i.has("rmi") ? "floor"
                              : i.has("rpi") ? "ceil"
                                             : "trunc";
    return n.set(i.operands[0],
                 "::klab::simt::saturated<" + ptx_type(to) + ">(" + round + "(" + source + "))");
  }
  if (real(from) && real(to) && (i.has("rni") || i.has("rmi") || i.has("rpi") || i.has("rzi"))) {
    const std::string round = i.has("rni")   ? "rint"
                              : i.has("rmi") ? "floor"
                              : i.has("rpi") ? "ceil"
                                             : "trunc";
    return n.set(i.operands[0], "(" + ptx_type(to) + ")" + round + "(" + source + ")");
  }
  // C++ has no conversion with other rounding than to nearest.
  if (real(to) && (i.has("rz") || i.has("rm") || i.has("rp"))) return "";
  return n.set(i.operands[0], "(" + ptx_type(to) + ")" + source);
}

std::string moved_registers(const PtxInstruction& i, const PtxNames& n, const std::string& type) {
  if (i.operands.size() != 2) return "";
  const std::vector<std::string> to = PtxNames::list(i.operands[0]), from = PtxNames::list(i.operands[1]);
  if (to.size() == 1 && from.size() == 1) return n.set(to[0], n.as(type, from[0]));
  const std::string half = type == "unsigned long long" ? "unsigned" : "unsigned short";
  const std::string shift = type == "unsigned long long" ? "32" : "16";
  if (to.size() == 1 && from.size() == 2)
    return n.set(to[0], "(" + type + ")((" + type + ")" + n.as(half, from[1]) + " << " + shift + " | " +
                            n.as(half, from[0]) + ")");
  if (to.size() == 2 && from.size() == 1)
    return n.set(to[0], "(" + half + ")" + n.as(type, from[0])) +
           n.set(to[1], "(" + half + ")(" + n.as(type, from[0]) + " >> " + shift + ")");
  return "";
}

/// Translates sums with a carry: add.cc, addc, sub.cc, subc.
std::string with_carry(const PtxInstruction& i, const PtxNames& n, const std::string& type) {
  if (i.operands.size() != 3) return "";
  const bool takes = i.op() == "addc" || i.op() == "subc", gives = i.has("cc");
  const std::string how = i.op().starts_with("add") ? "sum_with_carry" : "difference_with_borrow";
  const std::string of =
      type == "long long" || type == "unsigned long long" ? "unsigned long long" : "unsigned";
  return "{ bool out = false; " +
         n.set(i.operands[0], kPtxHelpers + how + "<" + of + ">(" + n.as(of, i.operands[1]) + ", " +
                                  n.as(of, i.operands[2]) + ", " + (takes ? "klab_carry" : "false") +
                                  ", out)") +
         (gives ? " klab_carry = out; }" : " }");
}

}  // namespace

std::string ptx_arithmetic(const PtxInstruction& i, const PtxNames& n) {
  const std::string type = ptx_type_of(i);
  if (i.op() == "cvt") return converted(i, n);
  if (type.empty() || i.operands.empty()) return "";
  // Halves are 16-bit integers here, and C++ has no directed rounding.
  if (i.op() != "mov" && (i.parts.back().find("f16") != std::string::npos)) return "";
  if (type == "float" || type == "double")
    for (const char* way : {"rz", "rm", "rp", "sat"})
      if (i.has(way)) return "";
  if (i.op() == "mov") return moved_registers(i, n, type);
  if (i.op() == "setp") return compared(i, n, type);
  if (i.op() == "addc" || i.op() == "subc" || ((i.op() == "add" || i.op() == "sub") && i.has("cc")))
    return with_carry(i, n, type);
  if (i.has("cc")) return "";
  if (i.op() == "mul" || i.op() == "mad") return multiplied_numbers(i, n, type);
  if (i.op() == "shf" && i.operands.size() == 4) {
    const std::string name =
        std::string("__funnelshift_") + (i.has("l") ? "l" : "r") + (i.has("clamp") ? "c" : "");
    return n.set(i.operands[0], name + "(" + n.as("unsigned", i.operands[1]) + ", " +
                                    n.as("unsigned", i.operands[2]) + ", " + n.as("unsigned", i.operands[3]) +
                                    ")");
  }
  const auto at = ptx_plain().find(i.op());
  if (at == ptx_plain().end() || (i.op() == "bfe" && type != "unsigned")) return "";
  const std::string value = filled_form(at->second, type, i, n);
  return value.empty() ? "" : n.set(i.operands[0], value);
}

}  // namespace klab::cuda_compiler
