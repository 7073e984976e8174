// Messages for illegal accesses, and the threads they name.
#include <algorithm>
#include <cstring>

#include "harness/simt/modules.h"
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

void Trace::bad_index(int64_t index, const std::string& array, const char* file, int line) {
  executor_->abandon({.kind = Kind::out_of_bounds,
                      .file = file,
                      .line = line,
                      .text = "index " + std::to_string(index) + " of an array of type " + array});
}

/// Ends the launch for an access outside the kernel's memory.
void Trace::illegal(const void* p, size_t bytes, uint8_t how, const void* pc) {
  Finding f{.kind = Kind::out_of_bounds};
  const auto* c = static_cast<const char*>(p);
  char hex[32];
  std::snprintf(hex, sizeof hex, "%p", p);
  if (const Allocation* a = global_at(p); a != nullptr) {
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
  } else if (is_device(p)) {
    f.text = in_words(how, bytes) + " at " + hex + ", where no device memory is allocated";
  } else if (c >= dynamic_.begin() - 256 &&
             c < dynamic_.begin() + (executor_->arena != nullptr ? kProgramArena : dynamic_.bytes() + 256)) {
    f.text = in_words(how, bytes) + " in dynamic shared memory at byte " +
             std::to_string(c - dynamic_.begin()) + " of " + std::to_string(dynamic_.bytes());
  } else if (static_.holds(c)) {
    f.text = in_words(how, bytes) + " in shared memory, " + where_in_shared(c);
  } else {
    f.text = in_words(how, bytes) + " at " + hex + ", which is no device memory" +
             (reinterpret_cast<uintptr_t>(p) < 4096 ? " (a null pointer)" : "");
  }
  place(f, pc);
  executor_->abandon(std::move(f));
}

/// Handles an address outside all memory that has a shadow. Returns true for parameters, tables and
/// __constant__ memory (and counts accesses to the last); else sets the __device__ variable that contains it.
/// Any other address ends the launch.
bool Trace::is_constant(const char* c, size_t bytes, uint8_t how, const void* pc, Allocation** variable) {
  const bool parameter = c >= parameters_ && c + bytes <= parameters_ + parameter_bytes_;
  const Module* m = parameter ? nullptr : module_at(c);
  if (!parameter && m == nullptr) illegal(c, bytes, how, pc);
  if (!parameter && c >= m->writable_begin && c < m->writable_end &&
      (c < m->constant_begin || c >= m->constant_end)) {
    *variable = device_variable_at(c);
    if (*variable != nullptr) return false;
    illegal(c, bytes, how, pc);
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
