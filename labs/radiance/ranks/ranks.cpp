#include "labs/radiance/ranks/ranks.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "labs/radiance/ranks/device_ranks.h"
#include "labs/radiance/ranks/mpi_calls.h"

namespace klab {
namespace {

/// Returns the number of processes according to the launcher; 1 without a launcher.
int launched() {
  for (const char* name : {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS"})
    if (const char* value = std::getenv(name); value != nullptr) return std::atoi(value);
  return 1;
}

/// Gives each rank a GPU of its own, if there are enough. Must run before CUDA starts.
void take_own_gpu() {
  int local = -1, count = 0;
  for (const char* name : {"MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"})
    if (const char* value = std::getenv(name); value != nullptr && local < 0) local = std::atoi(value);
  std::error_code error;
  while (std::filesystem::exists("/dev/nvidia" + std::to_string(count), error)) ++count;
  const std::string own = local < 0 ? "" : gpu_of(local, std::getenv("CUDA_VISIBLE_DEVICES"), count);
  if (!own.empty()) setenv("CUDA_VISIBLE_DEVICES", own.c_str(), 1);
}

/// Loads the module next to the program. Throws std::runtime_error if it is missing.
const MpiCalls& load_calls(int processes) {
  const auto module = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libklab_mpi.so";
  if (!std::filesystem::exists(module))
    throw std::runtime_error(
        fmt::format("started as one of {} processes, but this klab was built without MPI: install "
                    "libmpich-dev or libopenmpi-dev and build it again, or start it without mpirun",
                    processes));
  // Open MPI's own modules look up its symbols in the global scope.
  void* handle = dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr)
    throw std::runtime_error(fmt::format("cannot load {}: {}", module.string(), dlerror()));
  auto* calls = reinterpret_cast<MpiCallsOf*>(dlsym(handle, "klab_mpi_calls"));
  if (calls == nullptr) throw std::runtime_error(fmt::format("{} is no module of klab's", module.string()));
  return *calls();
}

void require_ranks(const MpiCalls& mpi, int code, const char* what) {
  if (code == 0) return;
  char text[512] = {};
  mpi.text(code, text, sizeof text);
  throw std::runtime_error(fmt::format("{}: {}", what, text));
}

}  // namespace

Ranks& Ranks::here() {
  static Ranks ranks;
  return ranks;
}

Ranks::Ranks() {
  const int processes = launched();
  if (processes <= 1) return;
  take_own_gpu();
  // Fork while this process is small. MPI_Init waits for all ranks, so behind it all have joined.
  last_words_ = std::make_unique<LastWords>(LastWords::meeting_of_launcher());
  mpi_ = &load_calls(processes);
  require_ranks(*mpi_, mpi_->init(&rank_, &size_), "MPI_Init_thread");
  if_killed("", "");
}

Ranks::~Ranks() {
  if (mpi_ != nullptr) mpi_->finalize();
}

void Ranks::if_killed(const std::string& checkpoint, const std::string& remedy) {
  if (!last_words_) return;
  const std::string head =
      fmt::format("klab: rank {} of {} has ended without a word (killed?), and so all end; ", rank_, size_);
  last_words_->set(head, checkpoint, fmt::format("the last checkpoint is {}: {}", checkpoint, remedy),
                   "there is no checkpoint yet");
}

bool Ranks::may_speak() { return !last_words_ || last_words_->may_speak(); }

void Ranks::sum(std::span<float> values) {
  if (size_ == 1) return;
  require_ranks(*mpi_, mpi_->sum_floats(values.data(), int64_t(values.size())), "MPI_Allreduce");
  bytes_sent_ += int64_t(values.size_bytes()) * 2 * (size_ - 1) / size_;
}

void Ranks::sum(std::span<double> values) {
  if (size_ > 1)
    require_ranks(*mpi_, mpi_->sum_doubles(values.data(), int64_t(values.size())), "MPI_Allreduce");
}

void Ranks::broadcast(std::span<double> values) {
  if (size_ > 1)
    require_ranks(*mpi_, mpi_->broadcast(values.data(), int64_t(values.size_bytes())), "MPI_Bcast");
}

void Ranks::broadcast(std::string& text) {
  if (size_ == 1) return;
  auto size = int64_t(text.size());
  require_ranks(*mpi_, mpi_->broadcast(&size, sizeof size), "MPI_Bcast");
  text.resize(size_t(size));
  require_ranks(*mpi_, mpi_->broadcast(text.data(), size), "MPI_Bcast");
}

std::vector<std::string> Ranks::gather(const std::string& text) {
  if (size_ == 1) return {text};
  const auto own = int64_t(text.size());
  std::vector<int64_t> sizes(size_t(size_), 0);
  require_ranks(*mpi_, mpi_->gather(&own, sizeof own, sizes.data()), "MPI_Allgather");
  const int64_t longest = *std::ranges::max_element(sizes);
  std::string mine = text, all(size_t(longest * size_), ' ');
  mine.resize(size_t(longest), ' ');
  require_ranks(*mpi_, mpi_->gather(mine.data(), longest, all.data()), "MPI_Allgather");
  std::vector<std::string> texts;
  for (size_t i = 0; i < sizes.size(); ++i)
    texts.push_back(all.substr(i * size_t(longest), size_t(sizes[i])));
  return texts;
}

void Ranks::all_to_all(const void* send, std::span<const Piece> to, void* receive,
                       std::span<const Piece> from) {
  if (size_ == 1) return;
  std::vector<int64_t> send_at, send_bytes, receive_at, receive_bytes;
  for (int r = 0; r < size_; ++r) {
    send_at.push_back(to[size_t(r)].at);
    send_bytes.push_back(to[size_t(r)].bytes);
    receive_at.push_back(from[size_t(r)].at);
    receive_bytes.push_back(from[size_t(r)].bytes);
    if (r != rank_) bytes_sent_ += to[size_t(r)].bytes;
  }
  require_ranks(*mpi_,
                mpi_->all_to_all(static_cast<const char*>(send), send_at.data(), send_bytes.data(),
                                 static_cast<char*>(receive), receive_at.data(), receive_bytes.data()),
                "MPI_Waitall");
}

Carrier Ranks::carrier() {
  return {.rank = rank_,
          .size = size_,
          .sum = [this](std::span<float> values) { sum(values); },
          .all_to_all = [this](const void* send, std::span<const Piece> to, void* receive,
                               std::span<const Piece> from) { all_to_all(send, to, receive, from); }};
}

void Ranks::wait_for_all() {
  if (size_ > 1) require_ranks(*mpi_, mpi_->wait_for_all(), "MPI_Ibarrier");
}

int Ranks::run(const std::function<int()>& work) {
  if (size_ == 1) return work();
  try {
    return work();
  } catch (const std::exception& e) {
    if (!first()) sleep(1);
    if (may_speak()) fmt::print(stderr, "klab: rank {} of {}: {}\n", rank_, size_, e.what());
    usleep(300'000);  // the text goes through the launcher, and ending all ranks would cut it off
    end_all(2);
  }
}

void Ranks::end_all(int code) {
  std::fflush(nullptr);
  if (size_ > 1) mpi_->abort(code);
  std::_Exit(code);
}

void require_alike(Ranks& ranks, const std::vector<std::pair<std::string, std::string>>& facts) {
  if (ranks.size() == 1) return;
  const auto all =
      ranks.gather(nlohmann::json(facts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  const auto first = nlohmann::json::parse(all[0]).get<std::vector<std::pair<std::string, std::string>>>();
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const auto other =
        nlohmann::json::parse(all[rank]).get<std::vector<std::pair<std::string, std::string>>>();
    for (size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
      if (i < first.size() && i < other.size() && first[i] == other[i]) continue;
      const std::string name = i < first.size() ? first[i].first : other[i].first;
      throw std::runtime_error(fmt::format("rank {} has another {} than rank 0: {}, and there {}", rank, name,
                                           i < other.size() ? other[i].second : "none",
                                           i < first.size() ? first[i].second : "none"));
    }
  }
}

}  // namespace klab
