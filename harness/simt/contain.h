// Lets a program go on behind illegal accesses: a load finds zeros, a store is undone.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace klab::simt {

struct Lane;

/// The illegal accesses of one host thread that may not have been made yet: a hook runs before its access. A
/// statement that copies a structure has two hooks, one for each side, so an access is undone at the second hook
/// after its own, or as soon as something else needs the memory.
class Contained {
 public:
  /// Prepares the illegal access. `mapped`: the memory is readable and writable; else it is an address of device
  /// memory, whose pages become accessible until the access is undone. `structure`: what the access is a piece of, or
  /// nullptr. Returns false if that is impossible.
  bool add(const Lane* lane, const char* p, size_t bytes, const char* structure, bool mapped, bool zeros);
  /// Call before each later access; undoes those that are over. Pieces of one structure belong to one hook.
  void before_access(const Lane* lane, const char* p, size_t bytes, const char* structure);
  void undo();
  bool empty() const { return list_.empty(); }

 private:
  struct Entry {
    const Lane* lane;
    char* p;
    std::string before;
    bool mapped;
    int hooks = 0;  // that have run since
  };
  static void undo(std::vector<Entry>& list);
  std::vector<Entry> list_;
  const char* structure_ = nullptr;
};

}  // namespace klab::simt
