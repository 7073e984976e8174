// Bytes that copies bring to the host although no kernel, copy or fill has written them. A program may bring back more
// than it reads, so the finding is made when host code reads such a byte, and names the copy.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "harness/cuda_program/state.h"
#include "harness/simt/layouts.h"
#include "harness/simt/memory.h"

namespace klab::program {
namespace {

/// One copy that brought such bytes.
struct Origin {
  simt::SourceLine copy;
  std::string text;  // "bytes 768 to 999 of cudaMalloc of line 8"
  bool told = false;
};
struct Part {
  const char* end;
  std::shared_ptr<Origin> origin;
  bool behind_text = false;  // a buffer of characters is often read as a whole
};
using Parts = std::map<const char*, Part>;  // by first byte

std::mutex unwritten_mutex;
thread_local bool in_unwritten = false;
/// Holds the lock. Memory that is freed meanwhile is the runtime's own.
struct Inside {
  Inside() {
    unwritten_mutex.lock();
    in_unwritten = true;
  }
  ~Inside() {
    in_unwritten = false;
    unwritten_mutex.unlock();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};
Parts& parts() {
  static auto& list = *new Parts;
  return list;
}

void set_range() {
  const Parts& all = parts();
  simt::unwritten_begin = all.empty() ? nullptr : all.begin()->first;
  simt::unwritten_end = all.empty() ? nullptr : all.rbegin()->second.end;
}

Parts::iterator first_behind(const char* p) {
  auto at = parts().upper_bound(p);
  if (at != parts().begin() && std::prev(at)->second.end > p) --at;
  return at;
}

void forget(const char* p, size_t bytes) {
  for (auto at = first_behind(p); at != parts().end() && at->first < p + bytes;) {
    const auto [begin, part] = *at;
    at = parts().erase(at);
    if (begin < p) parts()[begin] = {p, part.origin, part.behind_text};
    if (part.end > p + bytes)
      at = parts().insert_or_assign(p + bytes, Part{part.end, part.origin, part.behind_text}).first;
  }
}

bool none() { return in_unwritten || simt::unwritten_begin == nullptr; }

}  // namespace

void brought_to_host(void* to, const void* from, size_t bytes) {
  const Inside lock;
  auto* host = static_cast<char*>(to);
  forget(host, bytes);
  const simt::Allocation* a = memory_at(from);
  // With a share of the blocks, the others' writes are not known.
  if (a != nullptr && a->live && a->home == simt::Home::device && state().session->options().share >= 1) {
    const size_t offset = size_t(static_cast<const char*>(from) - a->begin);
    std::shared_ptr<Origin> origin;
    simt::find_unset(*a, offset, bytes);
    simt::each_undefined(*a, offset, bytes, [&](size_t begin, size_t count) {
      if (origin == nullptr)
        origin = std::make_shared<Origin>(Origin{place_of_call(), "bytes " + std::to_string(begin) + " to " +
                                                                      std::to_string(begin + count - 1) +
                                                                      " of " + a->name});
      char* const at = host + (begin - offset);
      parts()[at] = {at + count, origin, simt::is_behind_text(*a, begin)};
    });
  }
  set_range();
}

void brought_to_device(void* to, const void* from, size_t bytes) {
  if (const simt::Allocation* a = memory_at(from); a != nullptr) {
    if (!a->live || a->home != simt::Home::device || state().session->options().share < 1) return;
    const size_t offset = size_t(static_cast<const char*>(from) - a->begin);
    simt::each_undefined(*a, offset, bytes, [&](size_t begin, size_t count) {
      simt::mark_defined(static_cast<char*>(to) + (begin - offset), count, false);
    });
    return;
  }
  if (none()) return;
  const Inside lock;
  const auto* host = static_cast<const char*>(from);
  for (auto at = first_behind(host); at != parts().end() && at->first < host + bytes; ++at) {
    const char *begin = std::max(at->first, host), *end = std::min(at->second.end, host + bytes);
    simt::mark_defined(static_cast<char*>(to) + (begin - host), size_t(end - begin), false);
  }
}

void unwritten_moved(void* to, const void* from, size_t bytes) {
  if (none() || bytes == 0) return;
  const Inside lock;
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  Parts moved;
  for (auto at = first_behind(source); at != parts().end() && at->first < source + bytes; ++at) {
    const char *begin = std::max(at->first, source), *end = std::min(at->second.end, source + bytes);
    moved[target + (begin - source)] = {target + (end - source), at->second.origin, at->second.behind_text};
  }
  forget(target, bytes);
  for (const auto& [begin, part] : moved) parts()[begin] = part;
  set_range();
}

void written_by_host(const void* p, size_t bytes) {
  if (none()) return;
  const Inside lock;
  forget(static_cast<const char*>(p), bytes);
  set_range();
}

void unwritten_read(const void* p, size_t bytes, const void* return_address) {
  if (none()) return;
  const Inside lock;
  const auto* c = static_cast<const char*>(p);
  const auto at = first_behind(c);
  if (at == parts().end() || at->first >= c + bytes || at->second.origin->told) return;
  if (at->second.behind_text && (bytes == 1 || bytes > 4)) return;
  const size_t begin = size_t(std::max(at->first, c) - c),
               end = size_t(std::min(at->second.end, c + bytes) - c);
  if (simt::is_padding(return_address, bytes, begin, end)) return;
  Origin& origin = *at->second.origin;
  origin.told = true;
  state().session->add(
      {.kind = simt::Kind::uninitialized,
       .file = origin.copy.file,
       .line = origin.copy.line,
       .text = "the copy brings " + origin.text +
               " to the host, which was never written; the program reads from them at line " +
               std::to_string(simt::source_of(return_address).line)});
  const auto told = at->second.origin;
  std::erase_if(parts(), [&](const auto& part) { return part.second.origin == told; });
  set_range();
}

}  // namespace klab::program
