// Inline PTX: the few instructions that programs write because CUDA C++ has no name for them.
#include <algorithm>
#include <map>

#include "harness/cuda_compiler/rewriter.h"

namespace klab::cuda_compiler {
namespace {

/// Instruction, with %0 and so on for operands -> what it does, with $0 and so on.
const std::map<std::string, std::string>& known() {
  static const std::map<std::string, std::string> list = {
      {"mov.u32 %0, %laneid", "$0 = ::klab::simt::lane_index()"},
      {"mov.s32 %0, %laneid", "$0 = ::klab::simt::lane_index()"},
      {"mov.u32 %0, %warpid", "$0 = ::klab::program::warp_index()"},
      {"mov.u32 %0, %smid", "$0 = ::klab::program::multiprocessor()"},
      {"mov.u32 %0, %nsmid", "$0 = ::klab::program::multiprocessors()"},
      {"mov.u32 %0, %tid.x", "$0 = threadIdx.x"},
      {"mov.u32 %0, %ctaid.x", "$0 = blockIdx.x"},
      {"mov.u32 %0, %ntid.x", "$0 = blockDim.x"},
      {"mov.u32 %0, %nctaid.x", "$0 = gridDim.x"},
      {"mov.u32 %0, %lanemask_lt", "$0 = (1u << ::klab::simt::lane_index()) - 1"},
      {"mov.u32 %0, %lanemask_le", "$0 = (2u << ::klab::simt::lane_index()) - 1"},
      {"mov.u32 %0, %lanemask_eq", "$0 = 1u << ::klab::simt::lane_index()"},
      {"mov.u32 %0, %lanemask_gt", "$0 = ~((2u << ::klab::simt::lane_index()) - 1)"},
      {"mov.u32 %0, %lanemask_ge", "$0 = ~((1u << ::klab::simt::lane_index()) - 1)"},
      {"mov.u32 %0, %clock", "$0 = unsigned(::klab::simt::clock_ticks())"},
      {"mov.u64 %0, %clock64", "$0 = ::klab::simt::clock_ticks()"},
      {"mov.u64 %0, %globaltimer", "$0 = ::klab::simt::clock_ticks()"},
      {"bfe.u32 %0, %1, %2, %3", "$0 = ::klab::program::bit_field($1, $2, $3)"},
      {"bfi.b32 %0, %1, %2, %3, %4", "$0 = ::klab::program::insert_bits($1, $2, $3, $4)"},
      {"popc.b32 %0, %1", "$0 = __popc($1)"},
      {"clz.b32 %0, %1", "$0 = __clz($1)"},
      {"brev.b32 %0, %1", "$0 = __brev($1)"},
      {"membar.gl", "__threadfence()"},
      {"membar.cta", "__threadfence_block()"},
      {"bar.sync 0", "__syncthreads()"},
      {"add.u32 %0, %1, %2", "$0 = ($1) + ($2)"},
      {"add.s32 %0, %1, %2", "$0 = ($1) + ($2)"},
      {"mul.lo.u32 %0, %1, %2", "$0 = ($1) * ($2)"},
      {"fma.rn.f32 %0, %1, %2, %3", "$0 = fmaf($1, $2, $3)"},
      {"trap", "__trap()"},
      {"", ""},
  };
  return list;
}

/// The text of a string literal, %% as %, spaces as one, without the last semicolon.
std::string instruction(const Source& s, size_t from, size_t to) {
  std::string text;
  for (size_t k = from; k < to; ++k) {
    const std::string_view piece = s[k].text;
    for (size_t i = 1; i + 1 < piece.size(); ++i) {
      char c = piece[i];
      if (c == '\\' && i + 2 < piece.size()) c = piece[++i] == 'n' || piece[i] == 't' ? ' ' : piece[i];
      if (c == '%' && i + 2 < piece.size() && piece[i + 1] == '%') ++i;
      if (c == ' ' && (text.empty() || text.back() == ' ')) continue;
      text += c;
    }
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == ';')) text.pop_back();
  return text;
}

}  // namespace

void rewrite_ptx(Source& s, size_t i) {
  size_t open = i + 1;
  while (s[open].word()) ++open;  // volatile
  if (!s.is(open, "(") || s[open + 1].kind != TokenKind::text) return;
  const size_t close = s.close_of(open);
  size_t k = open + 1;
  while (k < close && s[k].kind == TokenKind::text) ++k;
  const std::string text = instruction(s, open + 1, k);
  const auto found = known().find(text);
  if (found == known().end())
    s.fail(i, "the inline PTX \"" + text +
                  "\" is not known on the host; it needs a GPU, or CUDA C++ in its place");
  // "=r"(x), ...: the operands, in their order.
  std::vector<std::string> operands;
  for (; k < close; ++k)
    if (s.is(k, "(")) {
      operands.push_back(s.plain(k + 1, s.close_of(k)));
      k = s.close_of(k);
    }
  std::string code = found->second;
  for (size_t n = operands.size(); n-- > 0;)
    for (size_t at; (at = code.find("$" + std::to_string(n))) != std::string::npos;)
      code.replace(at, 2, operands[n]);
  if (code.find('$') != std::string::npos) s.fail(i, "the inline PTX \"" + text + "\" lacks operands");
  s.replace(i, close + 1, "(void)(" + (code.empty() ? "0" : code) + ")");
}

}  // namespace klab::cuda_compiler
