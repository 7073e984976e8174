// Messages for illegal accesses, and the threads they name.
#include <algorithm>
#include <cstring>

#include "harness/simt/cluster.h"
#include "harness/simt/modules.h"
#include "harness/simt/program_symbols.h"
#include "harness/simt/trace.h"

namespace klab::simt {

namespace {

std::string in_words(uint8_t how, size_t bytes) {
  return std::string(how & kAtomic  ? "atomic access to "
                     : how & kWrite ? "write of "
                                    : "read of ") +
         std::to_string(bytes) + " byte" + (bytes == 1 ? "" : "s");
}

}  // namespace

void Trace::place(Finding& f, const void* pc) const {
  const SourceLine at = source_of(pc);
  f.file = at.file;
  f.line = at.line;
}

/// Describes an address in no variable by the nearest variable and the distance to it.
std::string Trace::where_in_shared(const char* p) const {
  const size_t offset = static_.offset(p);
  const SharedVariable *before = nullptr, *behind = nullptr;
  for (const SharedVariable& v : variables_) {
    if (v.offset <= offset) before = &v;
    if (v.offset > offset && behind == nullptr) behind = &v;
  }
  const auto named = [](const SharedVariable& v) {
    return v.name + " (" + std::to_string(v.bytes) + " bytes)";
  };
  const size_t past = before != nullptr ? offset - before->offset - before->bytes : SIZE_MAX;
  if (before != nullptr && offset < before->offset + before->bytes)
    return "over the end of " + named(*before);
  if (behind != nullptr && behind->offset - offset < past)
    return std::to_string(behind->offset - offset) + " bytes before the beginning of " + named(*behind);
  return std::to_string(past) + " bytes past the end of " + named(*before);
}

void Trace::bad_index(int64_t index, const std::string& array, const char* file, int line, const void* pc) {
  Finding f{.kind = Kind::out_of_bounds,
            .file = file,
            .line = line,
            .text = "index " + std::to_string(index) + " of an array of type " + array};
  // The compiler names the file as it was given, the debug information by its whole path, as other findings do.
  if (const SourceLine at = source_of(pc); at.file.ends_with(f.file)) f.file = at.file;
  if (!session_->options().goes_on) executor_->abandon(std::move(f));
  // The access that follows has a hook if it is to shared or global memory: illegal() decides. The stack of the
  // thread, which has local arrays, has none, and could be damaged.
  if (unsettled_) index_was_bad();
  bad_index_ = {executor_->lane, std::move(f)};
  unsettled_ = true;
}

void Trace::bad_alignment(const void* p, size_t alignment, bool write, const std::string& type,
                          const char* file, int line, const void* pc) {
  const auto* c = static_cast<const char*>(p);
  // A GPU's vectors have 16 bytes at most. Local memory lies elsewhere here than on a GPU.
  const size_t needed = std::min<size_t>(alignment, 16);
  if (reinterpret_cast<uintptr_t>(p) % needed == 0 || size_t(c - executor_->lane->stack) < kStackOfThread)
    return;
  char hex[32];
  std::snprintf(hex, sizeof hex, "%p", p);
  Finding f{.kind = Kind::misaligned,
            .file = file,
            .line = line,
            .text = std::string(write ? "write" : "read") + " of a structure of type " + type + " at " + hex +
                    ", which is no multiple of " + std::to_string(needed)};
  if (const SourceLine at = source_of(pc); at.file.ends_with(f.file)) f.file = at.file;
  executor_->abandon(std::move(f));
}

void Trace::index_was_bad() {
  if (bad_index_.lane == nullptr || bad_index_.lane != executor_->lane) return;
  bad_index_.lane = nullptr;
  executor_->abandon(std::move(bad_index_.finding));
}

Finding Trace::illegal_access(const char* c, size_t bytes, uint8_t how) const {
  Finding f{.kind = Kind::out_of_bounds};
  char hex[32];
  std::snprintf(hex, sizeof hex, "%p", static_cast<const void*>(c));
  const Allocation* a = global_at(c);
  if (a == nullptr && !is_device(c)) a = device_variable_near(c);
  if (a != nullptr) {
    const std::string of = a->name + " (" + std::to_string(a->bytes) + " bytes)";
    if (!a->live || a->given_back) {
      f.kind = Kind::use_after_free;
      f.text = in_words(how, bytes) + " in " + of + ", which has been " + (a->live ? "given back" : "freed");
    } else if (c < a->begin) {
      f.text =
          in_words(how, bytes) + ", " + std::to_string(a->begin - c) + " bytes before the beginning of " + of;
    } else {
      f.text = in_words(how, bytes) + ", " + std::to_string(c - (a->begin + a->bytes)) +
               " bytes past the end of " + of;
      if (c < a->begin + a->bytes) f.text = in_words(how, bytes) + " over the end of " + of;
    }
  } else if (is_device(c)) {
    f.text = in_words(how, bytes) + " at " + hex + ", where no device memory is allocated";
  } else if (c >= dynamic_.begin() - 256 &&
             c < dynamic_.begin() + (executor_->arena != nullptr ? kProgramArena : dynamic_.bytes() + 256)) {
    f.text = in_words(how, bytes) + " in dynamic shared memory at byte " +
             std::to_string(c - dynamic_.begin()) + " of " + std::to_string(dynamic_.bytes());
  } else if (static_.holds(c)) {
    f.text = in_words(how, bytes) + " in shared memory, " + where_in_shared(c);
  } else if (const Cluster::Place there = cluster_ != nullptr ? cluster_->peer_at(c) : Cluster::Place{};
             there.rank >= 0) {
    f.text = in_words(how, bytes) + " over the end of the shared memory of the block of rank " +
             std::to_string(there.rank) + " of the cluster";
  } else {
    f.text = in_words(how, bytes) + " at " + hex + ", which is no device memory" +
             (reinterpret_cast<uintptr_t>(c) < 4096 ? " (a null pointer)"
                                                    : ": kernels have no access to memory of the host");
  }
  return f;
}

/// Prepares for an illegal access whose memory can be made to look harmless.
bool Trace::may_go_on(const char* c, size_t bytes, uint8_t how) {
  // An asynchronous copy is made later, by the executor.
  if (!session_->options().goes_on || (how & kAsync) != 0) return false;
  const char* arena = executor_->arena;
  const Module* m = is_device(c) ? nullptr : module_at(c);
  const bool mapped = (static_.holds(c) && static_.offset(c) + bytes <= static_.bytes()) ||
                      (arena != nullptr && c >= arena && c + bytes <= arena + kProgramArena) ||
                      (m != nullptr && c >= m->writable_begin && c + bytes <= m->writable_end &&
                       (c + bytes <= m->constant_begin || c >= m->constant_end));
  if (!mapped && !is_device(c)) return false;
  // Zeros only where no other thread's data lie.
  const Allocation* a = is_device(c) ? owner_of(c) : nullptr;
  const bool inside = a != nullptr && a->live && c + bytes > a->begin && c < a->begin + a->bytes;
  return contained_.add(executor_->lane, c, bytes, structure(), mapped, (how & kWrite) == 0 && !inside);
}

void Trace::illegal(const void* p, size_t bytes, uint8_t how, const void* pc) {
  const auto* c = static_cast<const char*>(p);
  Finding f = illegal_access(c, bytes, how);
  if (bad_index_.lane != nullptr && bad_index_.lane == executor_->lane) {
    f = std::move(bad_index_.finding);
    bad_index_.lane = nullptr;
  } else {
    place(f, pc);
  }
  executor_->in_turn();
  if (!may_go_on(c, bytes, how)) executor_->abandon(std::move(f));
  unsettled_ = true;
  executor_->report(std::move(f));
}

/// Handles an address outside all memory that has a shadow. Returns true for parameters, tables and
/// __constant__ memory (and counts accesses to the last); else sets the __device__ variable that contains it.
/// Any other address is illegal, and counts as handled.
bool Trace::is_constant(const char* c, size_t bytes, uint8_t how, const void* pc, Allocation** variable) {
  const bool parameter = c >= parameters_ && c + bytes <= parameters_ + parameter_bytes_;
  const Module* m = parameter ? nullptr : module_at(c);
  if (!parameter && m == nullptr) {
    illegal(c, bytes, how, pc);
    return true;
  }
  if (!parameter && c >= m->writable_begin && c < m->writable_end &&
      (c < m->constant_begin || c >= m->constant_end)) {
    *variable = device_variable_at(c);
    if (*variable == nullptr) illegal(c, bytes, how, pc);
    return *variable == nullptr;
  }
  if (!parameter && !(how & kWrite) && counting_ && c >= m->constant_begin && c < m->constant_end) {
    Lane& lane = *executor_->lane;
    logs_[lane.warp].accessed(lane.lane, reinterpret_cast<uintptr_t>(c), uint32_t(bytes),
                              site_of(pc, Space::constant, how, bytes));
  }
  if (how & kWrite) {
    Finding f{.kind = Kind::write_to_constant,
              .text = in_words(how, bytes) + (parameter ? " in the parameters" : "")};
    place(f, pc);
    executor_->abandon(std::move(f));
  }
  return true;
}

/// Ends the launch for an access that is not aligned to its width.
void Trace::misaligned(const void* p, size_t bytes, uint8_t how, const void* pc) {
  Finding f{.kind = Kind::misaligned};
  char hex[32];
  std::snprintf(hex, sizeof hex, "%p", p);
  f.text = in_words(how, bytes) + " at " + hex + ", which is no multiple of " + std::to_string(bytes);
  place(f, pc);
  executor_->abandon(std::move(f));
}

}  // namespace klab::simt
