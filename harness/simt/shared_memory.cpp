#include "harness/simt/shared_memory.h"

#include <algorithm>
#include <cstring>

#include "harness/simt/executor.h"

namespace klab::simt {

void SharedShadow::attach(char* begin, size_t bytes) {
  if (begin == begin_ && bytes == bytes_) return;
  forget();
  begin_ = begin;
  bytes_ = bytes;
  cells_.assign((bytes + 3) / 4 + 1, Cell{});
}

void SharedShadow::forget() {
  for (const uint32_t word : touched_) {
    cells_[word] = Cell{};
    std::memset(begin_ + size_t(word) * 4, 0xFF, std::min<size_t>(4, bytes_ - size_t(word) * 4));
  }
  touched_.clear();
}

void SharedShadow::all_defined() {
  for (size_t word = 0; word + 1 < cells_.size(); ++word) {
    touched_.push_back(uint32_t(word));
    cells_[word].defined = 0xF;
  }
}

void SharedMemory::launch_begins(const Executor& executor, const void* kernel) {
  split.forget();
  fixed.attach(executor.static_shared, executor.static_shared_bytes);
  arena_ = executor.arena;
  variables_ = shared_variables_of(kernel);
  variable_of_.assign(executor.static_shared_bytes / 4 + 1, 0);
  for (size_t k = 0; k < variables_.size(); ++k)
    for (size_t b = variables_[k].offset; b < variables_[k].offset + variables_[k].bytes; b += 4)
      if (b / 4 < variable_of_.size()) variable_of_[b / 4] = uint16_t(k + 1);
}

void SharedMemory::launch_ended() {
  fixed.forget();
  dynamic.forget();
}

void SharedMemory::block_begins(const Executor& executor) {
  dynamic.attach(executor.dynamic_shared, executor.launch->shared_bytes);
  fixed.forget();
  dynamic.forget();
}

void SharedMemory::block_goes_on() {
  fixed.forget();
  dynamic.forget();
  fixed.all_defined();
  dynamic.all_defined();
}

bool SharedMemory::is_the_kernels(const char* p, size_t bytes) const {
  const size_t offset = fixed.offset(p);
  if (offset + bytes > fixed.bytes()) return false;
  // A program's dynamic shared memory is a variable too; only the launch's share of it belongs to the kernel.
  if (arena_ != nullptr && p + bytes > arena_ && p < arena_ + kProgramArena) return false;
  if (variables_.empty()) return true;
  const uint16_t k = variable_of_[offset / 4];
  return k != 0 && offset + bytes <= variables_[k - 1].offset + variables_[k - 1].bytes;
}

std::string SharedMemory::where(const char* p) const {
  const size_t offset = fixed.offset(p);
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

}  // namespace klab::simt
