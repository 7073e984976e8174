#include "harness/simt/compiled_count.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace klab::simt {
namespace {

/// Compilers attribute the accesses of a statement over several lines to different lines of it.
constexpr int kLinesApart = 6;

size_t log2_of(uint32_t width) { return std::min<size_t>(size_t(__builtin_ctz(width)), 5); }

bool same_addresses(uint32_t mask, const uintptr_t* a, const uintptr_t* b) {
  for (; mask != 0; mask &= mask - 1) {
    const int i = __builtin_ctz(mask);
    if (a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace

void CompiledCounter::launch_begins(const CompiledCode* code, const std::string& kernel, Profile* profile,
                                    Flow* flow) {
  kernel_ = code != nullptr && profile != nullptr ? code->find(kernel) : nullptr;
  profile_ = profile;
  flow_ = flow;
  block_of_.clear();
  access_of_.clear();
  line_of_.clear();
  passes_.clear();
}

/// Returns the access that the compiler generated for this site in the running kernel; nullptr if it removed
/// the site.
const CompiledAccess* CompiledCounter::compiled(uint16_t site) {
  if (access_of_.size() <= site) access_of_.resize(size_t(site) + 1, kUnknown);
  int& at = access_of_[site];
  if (at == kUnknown) {
    Site& s = (*profile_)[site];
    s.compiled_known = true;
    if (line_of_.size() <= site) line_of_.resize(size_t(site) + 1);
    if (line_of_[site].line == 0) line_of_[site] = source_of(s.pc);
    const std::string file = line_of_[site].file.substr(line_of_[site].file.rfind('/') + 1);
    at = kNone;
    int best = kLinesApart + 1;
    for (size_t k = 0; k < kernel_->accesses.size(); ++k) {
      const CompiledAccess& a = kernel_->accesses[k];
      if (a.space != s.space || a.write != s.write || a.atomic != s.atomic || a.file != file ||
          a.engine != s.async)
        continue;
      const int apart = std::abs(a.line - line_of_[site].line);
      if (apart < best) best = apart, at = int(k);
    }
    if (at != kNone) s.compiled_atomics |= kernel_->accesses[size_t(at)].atomics;
  }
  return at == kNone ? nullptr : &kernel_->accesses[size_t(at)];
}

/// Returns whether the source has a loop around the access that the compiled code lacks. One pass then holds
/// several rounds of that loop.
bool CompiledCounter::unrolled(const CompiledAccess& a, uint16_t site) {
  return site < block_of_.size() && flow_->loops_around(block_of_[site]) > a.depth;
}

CompiledCounter::Pass& CompiledCounter::pass_of(unsigned warp, size_t access) {
  if (passes_.size() <= warp) passes_.resize(size_t(warp) + 1);
  if (passes_[warp].empty()) passes_[warp].resize(kernel_->accesses.size());
  return passes_[warp][access];
}

/// Adds the cost of one request to its site.
void CompiledCounter::count(const Request& r, uint16_t site, unsigned width) {
  Site& s = (*profile_)[site];
  s.compiled.add(cost_of(s.space, s.write, s.atomic, r.bytes, r.mask, r.address));
  s.compiled_widths |= uint8_t(1u << __builtin_ctz(width));
}

/// Cuts the accesses that a pass holds into requests.
void CompiledCounter::settle(const CompiledAccess& a, Pass& pass) {
  std::vector<Request>& held = pass.held;
  if (held.empty()) return;
  // All instructions of a pass are executed, so repeated addresses were loaded too.
  for (const Request& r : pass.again) {
    if (pass.bytes + r.bytes > a.bytes) break;
    held.push_back(r);
    pass.bytes += r.bytes;
  }
  pass.again.clear();
  if (a.matrix && held.front().bytes < 16) {
    // These are fragments as lanes hold them. One LDSM loads four fragments of 4 bytes; its rows take one
    // pass for each matrix.
    for (size_t k = 0; k < held.size(); k += 4) {
      Counts sum;
      for (size_t j = k; j < std::min(k + 4, held.size()); ++j)
        sum.add(cost_of(a.space, false, false, held[j].bytes, held[j].mask, held[j].address));
      sum.requests = 1;
      (*profile_)[pass.site].compiled.add(sum);
      (*profile_)[pass.site].compiled_widths |= 16;
    }
    held.clear();
    pass.bytes = 0;
    return;
  }
  std::ranges::stable_sort(held, [](const Request& x, const Request& y) {
    if (x.mask != y.mask) return x.mask < y.mask;
    const int i = __builtin_ctz(x.mask);
    return x.address[i] < y.address[i];
  });
  std::array<int, 6> left = a.widths;
  std::vector<Request> made;
  for (size_t k = 0; k < held.size();) {
    size_t together = 1;
    for (int w = 5; w >= 0; --w) {
      const uint32_t width = 1u << w;
      if (left[size_t(w)] == 0 || width <= held[k].bytes || width % held[k].bytes != 0) continue;
      const size_t many = width / held[k].bytes;
      if (k + many > held.size()) continue;
      bool neighbors = true;
      for (uint32_t m = held[k].mask; m != 0 && neighbors; m &= m - 1) {
        const int i = __builtin_ctz(m);
        neighbors = held[k].address[i] % width == 0;
        for (size_t j = 1; j < many && neighbors; ++j)
          neighbors = held[k + j].mask == held[k].mask && held[k + j].bytes == held[k].bytes &&
                      held[k + j].address[i] == held[k].address[i] + j * held[k].bytes;
      }
      if (!neighbors) continue;
      together = many;
      break;
    }
    Request r = held[k];
    r.bytes *= uint32_t(together);
    if (left[log2_of(r.bytes)] > 0) --left[log2_of(r.bytes)];
    made.push_back(r);
    k += together;
  }
  // Variables have other addresses here than on a GPU, so fewer neighbors may have been found. Merge requests
  // in order until their number is that of the instructions.
  const auto instructions = size_t(std::accumulate(a.widths.begin(), a.widths.end(), 0));
  for (size_t k = 1; k < made.size() && made.size() > instructions;) {
    Request& into = made[k - 1];
    if (made[k].mask != into.mask || made[k].bytes != into.bytes || left[log2_of(2 * into.bytes)] <= 0) {
      ++k;
      continue;
    }
    into.bytes *= 2;
    --left[log2_of(into.bytes)];
    made.erase(made.begin() + std::ptrdiff_t(k));
  }
  for (const Request& r : made) count(r, pass.site, r.bytes);
  held.clear();
  pass.bytes = 0;
}

/// Ends the passes of one kind. A store ends passes of loads that it may change, and a load ends passes of
/// stores that it may read. Accesses that the compiler moved out of their loop are exempt: it proved that
/// nothing changes.
void CompiledCounter::settle_kind(unsigned warp, Space space, bool write) {
  if (passes_.size() <= warp || passes_[warp].empty()) return;
  for (size_t k = 0; k < kernel_->accesses.size(); ++k) {
    const CompiledAccess& a = kernel_->accesses[k];
    if (a.space == space && a.write == write && a.depth > 0 && !a.constant) settle(a, passes_[warp][k]);
  }
}

void CompiledCounter::engine_request(uint16_t site, const Counts& cost) {
  if (compiled(site) != nullptr) (*profile_)[site].compiled.add(cost);
}

void CompiledCounter::request(unsigned warp, uint16_t site, uint32_t bytes, uint32_t mask,
                              const uintptr_t* address) {
  Site& s = (*profile_)[site];
  if (s.space == Space::constant) {  // the constant cache serves them one by one in any case
    s.compiled_known = true;
    s.compiled.add(cost_of(s.space, false, false, bytes, mask, address));
    s.compiled_widths |= uint8_t(1u << log2_of(bytes));
    return;
  }
  const CompiledAccess* a = compiled(site);
  if (a == nullptr || !a->constant) settle_kind(warp, s.space, !s.write);
  if (a == nullptr) return;
  Request r{.mask = mask, .bytes = bytes, .site = site, .address = {}};
  std::memcpy(r.address, address, sizeof r.address);
  // A copy of odd width was already split into pieces. Atomics and volatile accesses are executed as written.
  if (s.atomic || s.is_volatile || s.async || (bytes & (bytes - 1)) != 0) {
    if (s.merges && a->instructions > 0 && s.atomic) {
      bool one = true;
      for (uint32_t m = mask; m != 0; m &= m - 1)
        one = one && address[__builtin_ctz(m)] == address[__builtin_ctz(mask)];
      if (one) r.mask = mask & -mask;
    }
    count(r, site, std::max(1u, bytes & -bytes));
    return;
  }
  Pass& pass = pass_of(warp, size_t(a - kernel_->accesses.data()));
  const int first = __builtin_ctz(mask);
  for (const Request& h : pass.held) {
    if (h.address[first] != address[first] || (h.mask & mask) != mask || h.bytes < bytes ||
        !same_addresses(mask, h.address, address))
      continue;
    if (h.site != site || unrolled(*a, site)) {
      if (pass.again.size() * bytes < a->bytes) pass.again.push_back(r);
      return;
    }
    settle(*a, pass);
    break;
  }
  if (pass.bytes + bytes > a->bytes) settle(*a, pass);
  if (pass.held.empty()) pass.site = site;
  pass.held.push_back(r);
  pass.bytes += bytes;
}

template <class Wanted>
void CompiledCounter::settle_all(Wanted wanted) {
  for (auto& of_warp : passes_)
    for (size_t k = 0; k < of_warp.size(); ++k)
      if (wanted(kernel_->accesses[k])) settle(kernel_->accesses[k], of_warp[k]);
}

void CompiledCounter::barrier() {
  settle_all(
      [](const CompiledAccess& a) { return a.space == Space::shared || (a.depth > 0 && !a.constant); });
}

void CompiledCounter::warp_synchronized(unsigned warp) {
  if (passes_.size() <= warp) return;
  for (size_t k = 0; k < passes_[warp].size(); ++k)
    if (kernel_->accesses[k].space == Space::shared) settle(kernel_->accesses[k], passes_[warp][k]);
}

void CompiledCounter::block_ended() {
  if (kernel_ == nullptr) return;
  settle_all([](const CompiledAccess&) { return true; });
}

}  // namespace klab::simt
