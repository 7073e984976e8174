#include "harness/simt/contain.h"

#include <algorithm>
#include <cstring>

#include "harness/simt/memory.h"

namespace klab::simt {

bool Contained::add(const Lane* lane, const char* p, size_t bytes, const char* structure, bool mapped,
                    bool zeros) {
  constexpr size_t kMost = 4096;  // pieces of one structure
  if (list_.size() >= kMost) return false;
  auto* c = const_cast<char*>(p);
  if (!mapped && !open_pages(c, bytes)) return false;
  structure_ = structure;
  list_.push_back({lane, c, std::string(c, bytes), mapped});
  if (zeros) std::memset(c, 0, bytes);
  return true;
}

void Contained::before_access(const Lane* lane, const char* p, size_t bytes, const char* structure) {
  if (list_.empty()) return;
  const bool same_hook = structure != nullptr && structure == structure_;
  structure_ = structure;
  const auto first_over = std::stable_partition(list_.begin(), list_.end(), [&](Entry& e) {
    if (!same_hook) ++e.hooks;
    const bool meets = !same_hook && p < e.p + e.before.size() && e.p < p + bytes;
    return e.hooks < 2 && e.lane == lane && !meets;
  });
  if (first_over == list_.end()) return;
  std::vector<Entry> over(first_over, list_.end());
  list_.erase(first_over, list_.end());
  undo(over);
  // They may have shared a page.
  for (const Entry& e : list_)
    if (!e.mapped) open_pages(e.p, e.before.size());
}

void Contained::undo(std::vector<Entry>& list) {
  for (auto e = list.rbegin(); e != list.rend(); ++e) std::memcpy(e->p, e->before.data(), e->before.size());
  for (const Entry& e : list)
    if (!e.mapped) close_pages(e.p, e.before.size());
  list.clear();
}

void Contained::undo() {
  undo(list_);
  structure_ = nullptr;
}

}  // namespace klab::simt
