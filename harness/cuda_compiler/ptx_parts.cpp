#include "harness/cuda_compiler/ptx_parts.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <stdexcept>

namespace klab::cuda_compiler {
namespace {

const std::map<std::string, std::string>& ptx_special() {
  static const std::map<std::string, std::string> list = {
      {"%laneid", "::klab::simt::lane_index()"},
      {"%warpid", "::klab::program::warp_index()"},
      {"%nwarpid", "64u"},
      {"%smid", "::klab::program::multiprocessor()"},
      {"%nsmid", "::klab::program::multiprocessors()"},
      {"%tid.x", "threadIdx.x"},
      {"%tid.y", "threadIdx.y"},
      {"%tid.z", "threadIdx.z"},
      {"%ctaid.x", "blockIdx.x"},
      {"%ctaid.y", "blockIdx.y"},
      {"%ctaid.z", "blockIdx.z"},
      {"%ntid.x", "blockDim.x"},
      {"%ntid.y", "blockDim.y"},
      {"%ntid.z", "blockDim.z"},
      {"%nctaid.x", "gridDim.x"},
      {"%nctaid.y", "gridDim.y"},
      {"%nctaid.z", "gridDim.z"},
      {"%cluster_ctaid.x", "::klab::simt::block_in_cluster(0)"},
      {"%cluster_nctaid.x", "::klab::simt::cluster_size(0)"},
      {"%clusterid.x", "::klab::simt::cluster_of_grid(0)"},
      {"%nclusterid.x", "::klab::simt::clusters_of_grid(0)"},
      {"%cluster_ctaid.y", "::klab::simt::block_in_cluster(1)"},
      {"%cluster_nctaid.y", "::klab::simt::cluster_size(1)"},
      {"%clusterid.y", "::klab::simt::cluster_of_grid(1)"},
      {"%nclusterid.y", "::klab::simt::clusters_of_grid(1)"},
      {"%cluster_ctaid.z", "::klab::simt::block_in_cluster(2)"},
      {"%cluster_nctaid.z", "::klab::simt::cluster_size(2)"},
      {"%clusterid.z", "::klab::simt::cluster_of_grid(2)"},
      {"%nclusterid.z", "::klab::simt::clusters_of_grid(2)"},
      {"%cluster_ctarank", "::klab::simt::cluster_rank()"},
      {"%cluster_nctarank", "::klab::simt::cluster_blocks()"},
      {"%is_explicit_cluster", "::klab::simt::is_in_cluster()"},
      {"%lanemask_lt", "((1u << ::klab::simt::lane_index()) - 1)"},
      {"%lanemask_le", "((2u << ::klab::simt::lane_index()) - 1)"},
      {"%lanemask_eq", "(1u << ::klab::simt::lane_index())"},
      {"%lanemask_gt", "(~((2u << ::klab::simt::lane_index()) - 1))"},
      {"%lanemask_ge", "(~((1u << ::klab::simt::lane_index()) - 1))"},
      {"%clock", "unsigned(::klab::simt::clock_ticks())"},
      {"%clock64", "::klab::simt::clock_ticks()"},
      {"%globaltimer", "::klab::simt::clock_ticks()"},
      {"%globaltimer_lo", "unsigned(::klab::simt::clock_ticks())"},
      {"WARP_SZ", "32u"},
  };
  return list;
}

bool ptx_number(const std::string& text) {
  const size_t from = text[0] == '-' ? 1 : 0;
  return from < text.size() && std::isdigit(static_cast<unsigned char>(text[from])) != 0;
}

}  // namespace

std::string ptx_trimmed(const std::string& text) {
  const size_t from = text.find_first_not_of(' '), to = text.find_last_not_of(' ');
  return from == std::string::npos ? "" : text.substr(from, to - from + 1);
}

bool PtxInstruction::has(const std::string& part) const {
  return std::ranges::find(parts, part) != parts.end();
}

std::string PtxNames::value(const std::string& written) const {
  const std::string o = ptx_trimmed(written);
  if (o.empty()) throw std::invalid_argument("an operand is missing");
  if (o[0] == '!') return "(!" + value(o.substr(1)) + ")";
  if (const auto at = ptx_special().find(o); at != ptx_special().end()) return at->second;
  if (o[0] == '%' && o.size() > 1 && std::isdigit(static_cast<unsigned char>(o[1])) != 0)
    return "$" + o.substr(1) + "$";
  if (o.starts_with("0f") || o.starts_with("0F")) return kPtxHelpers + "get<float>(0x" + o.substr(2) + "u)";
  if (o.starts_with("0d") || o.starts_with("0D"))
    return kPtxHelpers + "get<double>(0x" + o.substr(2) + "ull)";
  if (ptx_number(o)) return o.ends_with("U") ? o.substr(0, o.size() - 1) + "u" : o;
  if (names_.contains(o)) {
    std::string name = "klab_ptx_";
    for (const char c : o)
      if (c != '%' && c != '$') name += c;
    return name;
  }
  throw std::invalid_argument("\"" + o + "\" is no operand that is known");
}

std::string PtxNames::as(const std::string& type, const std::string& operand) const {
  return kPtxHelpers + "get<" + type + ">(" + value(operand) + ")";
}

std::string PtxNames::set(const std::string& operand, const std::string& value) const {
  const std::string o = ptx_trimmed(operand);
  if (o == "_") return "(void)(" + value + ");";
  return kPtxHelpers + "put(" + this->value(o) + ", " + value + ");";
}

std::vector<std::string> PtxNames::list(const std::string& operand) {
  const std::string o = ptx_trimmed(operand);
  if (!o.starts_with("{") || !o.ends_with("}")) return {o};
  std::vector<std::string> all;
  std::string one;
  for (const char c : o.substr(1, o.size() - 2) + ",") {
    if (c == ',') {
      all.push_back(ptx_trimmed(one));
      one.clear();
    } else {
      one += c;
    }
  }
  return all;
}

std::string PtxNames::address(const std::string& operand, bool shared) const {
  const std::string o = ptx_trimmed(operand);
  if (!o.starts_with("[") || !o.ends_with("]")) throw std::invalid_argument("\"" + o + "\" is no address");
  std::string inside = o.substr(1, o.size() - 2), offset = "0";
  if (const size_t plus = inside.find('+'); plus != std::string::npos) {
    offset = value(inside.substr(plus + 1));
    inside = inside.substr(0, plus);
  }
  if (shared) return "::klab_shared_pointer(" + as("unsigned", inside) + " + (" + offset + "))";
  return "reinterpret_cast<void*>(" + as("unsigned long long", inside) + " + (" + offset + "))";
}

std::string ptx_type(const std::string& part) {
  static const std::map<std::string, std::string> list = {
      {"u8", "unsigned char"},    {"s8", "signed char"},
      {"b8", "unsigned char"},    {"u16", "unsigned short"},
      {"s16", "short"},           {"b16", "unsigned short"},
      {"u32", "unsigned"},        {"s32", "int"},
      {"b32", "unsigned"},        {"u64", "unsigned long long"},
      {"s64", "long long"},       {"b64", "unsigned long long"},
      {"f32", "float"},           {"f64", "double"},
      {"pred", "bool"},           {"f16", "unsigned short"},
      {"bf16", "unsigned short"}, {"f16x2", "unsigned"},
      {"bf16x2", "unsigned"}};
  const auto at = list.find(part);
  return at == list.end() ? "" : at->second;
}

std::string ptx_type_of(const PtxInstruction& i) {
  for (size_t k = i.parts.size(); k-- > 1;)
    if (const std::string type = ptx_type(i.parts[k]); !type.empty()) return type;
  return "";
}

}  // namespace klab::cuda_compiler
