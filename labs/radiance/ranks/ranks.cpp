#include "labs/radiance/ranks/ranks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#ifdef KLAB_HAVE_MPI
#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#endif

namespace klab {
namespace {

/// How many processes the launcher says that there are; 1 where nobody says so.
int launched() {
  for (const char* name : {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS"})
    if (const char* value = std::getenv(name); value != nullptr) return std::atoi(value);
  return 1;
}

}  // namespace

Ranks& Ranks::here() {
  static Ranks ranks;
  return ranks;
}

#ifdef KLAB_HAVE_MPI

namespace {

/// MPI counts in int.
constexpr int64_t kMostAtOnce = 1 << 28;

void require(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(fmt::format("{}: {}", what, text));
}

}  // namespace

Ranks::Ranks() {
  if (launched() <= 1) return;
  last_words_ = std::make_unique<LastWords>();  // while this process is small
  int provided = 0;
  // Threads of a rank compute; one of them calls MPI.
  require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  std::string number = std::to_string(getpid());  // of the first
  broadcast(number);
  once_ = (std::filesystem::temp_directory_path() / ("klab_ranks_ended_" + number)).string();
  if_killed("", "");
}

Ranks::~Ranks() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized != 0 && finalized == 0) MPI_Finalize();
}

void Ranks::if_killed(const std::string& checkpoint, const std::string& remedy) {
  if (!last_words_) return;
  const std::string head =
      fmt::format("klab: rank {} of {} has ended without a word (killed?), and so all end; ", rank_, size_);
  last_words_->set(head, checkpoint, fmt::format("the last checkpoint is {}: {}", checkpoint, remedy),
                   "there is no checkpoint yet", once_);
}

bool Ranks::may_speak() { return !last_words_ || last_words_->may_speak(); }

void Ranks::sum(std::span<float> values) {
  if (size_ == 1) return;
  for (size_t at = 0; at < values.size(); at += size_t(kMostAtOnce)) {
    const auto n = int(std::min(values.size() - at, size_t(kMostAtOnce)));
    require(MPI_Allreduce(MPI_IN_PLACE, values.data() + at, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD),
            "MPI_Allreduce");
  }
  bytes_summed_ += int64_t(values.size_bytes()) * 2 * (size_ - 1) / size_;
}

void Ranks::sum(std::span<double> values) {
  if (size_ == 1) return;
  require(MPI_Allreduce(MPI_IN_PLACE, values.data(), int(values.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD),
          "MPI_Allreduce");
}

void Ranks::broadcast(std::span<double> values) {
  if (size_ == 1) return;
  require(MPI_Bcast(values.data(), int(values.size()), MPI_DOUBLE, 0, MPI_COMM_WORLD), "MPI_Bcast");
}

void Ranks::broadcast(std::string& text) {
  if (size_ == 1) return;
  auto size = int64_t(text.size());
  require(MPI_Bcast(&size, 1, MPI_INT64_T, 0, MPI_COMM_WORLD), "MPI_Bcast");
  text.resize(size_t(size));
  require(MPI_Bcast(text.data(), int(size), MPI_CHAR, 0, MPI_COMM_WORLD), "MPI_Bcast");
}

std::vector<std::string> Ranks::gather(const std::string& text) {
  if (size_ == 1) return {text};
  const auto own = int(text.size());
  std::vector<int> sizes(size_t(size_), 0), begins(size_t(size_) + 1, 0);
  require(MPI_Allgather(&own, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD), "MPI_Allgather");
  for (size_t i = 0; i < sizes.size(); ++i) begins[i + 1] = begins[i] + sizes[i];
  std::string all(size_t(begins.back()), ' ');
  require(MPI_Allgatherv(text.data(), own, MPI_CHAR, all.data(), sizes.data(), begins.data(), MPI_CHAR,
                         MPI_COMM_WORLD),
          "MPI_Allgatherv");
  std::vector<std::string> texts;
  for (size_t i = 0; i < sizes.size(); ++i) texts.push_back(all.substr(size_t(begins[i]), size_t(sizes[i])));
  return texts;
}

void Ranks::wait_for_all() {
  if (size_ == 1) return;
  MPI_Request request = MPI_REQUEST_NULL;
  require(MPI_Ibarrier(MPI_COMM_WORLD, &request), "MPI_Ibarrier");
  for (int done = 0; done == 0; usleep(2000))
    require(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
}

void Ranks::end_all(int code) {
  std::fflush(nullptr);
  if (size_ > 1) MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

#else

Ranks::Ranks() {
  if (const int n = launched(); n > 1)
    throw std::runtime_error(
        fmt::format("started as one of {} processes, but this klab was built without MPI: install "
                    "libmpich-dev or libopenmpi-dev and build it again, or start it without mpirun",
                    n));
}
Ranks::~Ranks() = default;
void Ranks::sum(std::span<float>) {}
void Ranks::sum(std::span<double>) {}
void Ranks::broadcast(std::span<double>) {}
void Ranks::broadcast(std::string&) {}
std::vector<std::string> Ranks::gather(const std::string& text) { return {text}; }
void Ranks::wait_for_all() {}
void Ranks::if_killed(const std::string&, const std::string&) {}
bool Ranks::may_speak() { return true; }
void Ranks::end_all(int code) {
  std::fflush(nullptr);
  std::_Exit(code);
}

#endif

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
