#include "harness/check/work_notes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace klab {
namespace {

constexpr size_t kNotedThreads = 256, kLength = 512;
using Note = std::array<char, kLength>;  // ends with a zero

Note* notes = nullptr;
std::function<void()> tell_alive;
std::atomic<size_t> threads_seen{0};
std::atomic<int64_t> told_at{0};  // milliseconds

size_t place_of_this_thread() {
  thread_local const size_t place = threads_seen++ % kNotedThreads;
  return place;
}

}  // namespace

void keep_notes_in(const std::filesystem::path& file, std::function<void()> alive) {
  const int opened = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  constexpr size_t bytes = kNotedThreads * sizeof(Note);
  void* at = MAP_FAILED;
  if (opened >= 0 && ftruncate(opened, bytes) == 0)
    at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
  const int error = errno;
  if (opened >= 0) close(opened);
  if (at == MAP_FAILED)
    throw std::runtime_error(file.string() + ": cannot be mapped: " + std::strerror(error));
  notes = static_cast<Note*>(at);
  tell_alive = std::move(alive);
}

void note_work(std::string_view what) {
  if (notes == nullptr) return;
  Note& mine = notes[place_of_this_thread()];
  const size_t length = std::min(what.size(), kLength - 1);
  std::memcpy(mine.data(), what.data(), length);
  mine[length] = '\0';
  const int64_t now = std::chrono::duration_cast<std::chrono::milliseconds>(
                          std::chrono::steady_clock::now().time_since_epoch())
                          .count();
  int64_t before = told_at;
  if (now - before >= 1000 && told_at.compare_exchange_strong(before, now)) tell_alive();
}

std::vector<std::string> notes_left_in(const std::filesystem::path& file) {
  std::vector<std::string> list;
  std::ifstream in(file, std::ios::binary);
  for (Note note{}; in.read(note.data(), kLength);) {
    note.back() = '\0';
    if (note.front() != '\0') list.emplace_back(note.data());
  }
  return list;
}

}  // namespace klab
