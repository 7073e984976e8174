#include "harness/step/learner.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/core/source.h"
#include "harness/records/atomic_file.h"
#include "harness/records/input.h"

namespace klab {
namespace {
namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kBookVersion = 1;

fs::path file_in(const fs::path& folder) { return folder / "progress.json"; }

/// Returns an unused file name in the same folder.
fs::path unused_name(const fs::path& file, const std::string& why) {
  std::string stamp = now_text();
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':'; });
  fs::path name = file.string() + "." + why + "-" + stamp;
  for (int k = 2; fs::exists(name); ++k)
    name = file.string() + "." + why + "-" + stamp + "-" + std::to_string(k);
  return name;
}

StepRecord record_from(const Json& j) {
  return {.tries = j.value("tries", 0),
          .done = j.value("done", false),
          .best_ratio = j.value("best_ratio", 0.0),
          .hints = j.value("hints", 0),
          .solution = j.value("solution", false),
          .first_done = j.value("first_done", ""),
          .last_try = j.value("last_try", ""),
          .outcome = j.value("outcome", "")};
}

ProgressBook book_from(const Json& j) {
  ProgressBook book;
  // Use the present ids of rungs. If there are two records of one rung, the one under its present id counts.
  const auto present = [](const std::string& id) {
    const Variant* v = find_variant(id);
    return v != nullptr ? v->id : id;
  };
  book.last = present(j.value("last", ""));
  for (const auto& [id, record] : j.at("steps").items())
    if (present(id) == id || !j.at("steps").contains(present(id)))
      book.steps[present(id)] = record_from(record);
  return book;
}

void write(const fs::path& folder, const ProgressBook& book) {
  write_file(file_in(folder), to_json(book).dump(1) + "\n");
}

/// Lets only one klab process at a time change the file.
class Lock {
 public:
  explicit Lock(const fs::path& folder) {
    fs::create_directories(folder);
    const fs::path file = folder / ".progress.lock";
    fd_ = open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (fd_ < 0)
      throw std::runtime_error("cannot write " + file.string() +
                               ": set KLAB_WORK to a folder you may write to");
    flock(fd_, LOCK_EX);
  }
  ~Lock() { close(fd_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

Json to_json(const ProgressBook& book) {
  Json steps = Json::object();
  for (const auto& [id, r] : book.steps)
    steps[id] = {{"tries", r.tries},       {"done", r.done},         {"best_ratio", r.best_ratio},
                 {"hints", r.hints},       {"solution", r.solution}, {"first_done", r.first_done},
                 {"last_try", r.last_try}, {"outcome", r.outcome}};
  return {{"klab_progress", kBookVersion}, {"last", book.last}, {"steps", steps}};
}

ProgressBook read_progress(const fs::path& folder) {
  const fs::path file = file_in(folder);
  if (!fs::exists(file)) return {};
  std::string why = "damaged";
  try {
    const Json j = read_json_file(file);
    const int version = j.is_object() ? j.value("klab_progress", 0) : 0;
    if (version > kBookVersion) {
      why = "newer";
      throw std::runtime_error("written by a newer klab");
    }
    ProgressBook book = book_from(j);
    if (version < kBookVersion) {
      const fs::path kept = unused_name(file, "older");
      fs::copy_file(file, kept);
      book.note = file.string() + " is of an older klab: taken over, and kept as it was in " +
                  kept.filename().string();
    }
    return book;
  } catch (const std::exception& error) {
    const fs::path kept = unused_name(file, why);
    fs::rename(file, kept);
    ProgressBook book;
    book.note = file.string() + " could not be read (" + std::string(error.what()).substr(0, 120) +
                "); it is kept as " + kept.filename().string() + ", and a new one started";
    return book;
  }
}

ProgressBook change_progress(const fs::path& folder, const std::function<void(ProgressBook&)>& change) {
  const Lock lock(folder);
  ProgressBook book = read_progress(folder);
  change(book);
  write(folder, book);
  return book;
}

void enter(ProgressBook& book, const Step& step, const Answer& answer) {
  book.last = step.own->id;
  StepRecord& r = book.steps[step.own->id];
  ++r.tries;
  r.last_try = now_text();
  r.outcome = name_of(answer.outcome);
  if (answer.safe() && answer.speed.over_parent)
    r.best_ratio = std::max(r.best_ratio, answer.speed.over_parent->value);
  if (!answer.passed()) return;
  if (!r.done) r.first_done = r.last_try;
  r.done = true;
}

}  // namespace klab
