#include "harness/simt/session.h"

#include <algorithm>
#include <atomic>

#include "harness/simt/memory.h"
#include "harness/simt/profile.h"

namespace klab::simt {
namespace {
thread_local Session* innermost = nullptr;
std::atomic<Session*> shared_by_all{nullptr};
}  // namespace

Session::Session(const Options& options)
    : options_(options), turn_(options.seed), profile_(std::make_unique<Profile>()), outer_(innermost) {
  innermost = this;
  watching = options.traced;
}

Session::~Session() {
  innermost = outer_;
  watching = outer_ != nullptr && outer_->options_.traced;
}

void Session::share(Session& session) { shared_by_all = &session; }

Session& Session::current() {
  if (innermost != nullptr) return *innermost;
  if (Session* all = shared_by_all; all != nullptr) {
    innermost = all;
    watching = all->options_.traced;
    return *all;
  }
  thread_local Session plain{Options{}};  // becomes the innermost session of this thread
  return plain;
}

void add_finding(std::vector<Finding>& list, const Finding& finding, size_t most) {
  const auto same = std::find_if(list.begin(), list.end(), [&](const Finding& f) {
    return f.kind == finding.kind && f.line == finding.line && f.file == finding.file &&
           f.unless_hint == finding.unless_hint;
  });
  if (same != list.end())
    same->times += finding.times;
  else if (list.size() < most)
    list.push_back(finding);
}

void Session::hint(const void* place) {
  const std::lock_guard lock(hints_mutex_);
  hints_.insert(place);
}

const std::vector<Finding>& Session::findings() {
  const std::lock_guard lock(hints_mutex_);
  std::vector<Finding> kept;
  for (Finding& f : findings_) {
    if (hints_.contains(f.unless_hint)) continue;
    f.unless_hint = nullptr;
    add_finding(kept, f, kept.size() + 1);
  }
  findings_ = std::move(kept);
  return findings_;
}

namespace {
std::mutex findings_mutex;  // a launch in the background and host code may both find something
}  // namespace

void Session::add(const Finding& finding) {
  const std::lock_guard lock(findings_mutex);
  add_finding(findings_, finding, size_t(options_.most_findings));
}

void Session::add_first(const std::vector<Finding>& causes) {
  std::vector<Finding> all;
  const auto most = causes.size() + findings_.size();
  for (const Finding& f : causes) add_finding(all, f, most);
  for (const Finding& f : findings_) add_finding(all, f, most);
  findings_ = std::move(all);
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::out_of_bounds:
      return "out of bounds";
    case Kind::use_after_free:
      return "use after free";
    case Kind::uninitialized:
      return "uninitialized memory";
    case Kind::shared_race:
      return "race on shared memory";
    case Kind::global_race:
      return "race on global memory";
    case Kind::barrier_divergence:
      return "barrier divergence";
    case Kind::inactive_lane:
      return "inactive lane";
    case Kind::misaligned:
      return "misaligned access";
    case Kind::missing_wait:
      return "missing wait";
    case Kind::barrier_misuse:
      return "wrong use of a barrier";
    case Kind::in_flight:
      return "wrong use of wgmma";
    case Kind::deadlock:
      return "deadlock";
    case Kind::never_ends:
      return "never ends";
    case Kind::trap:
      return "trap";
    case Kind::write_to_constant:
      return "write to constant memory";
    case Kind::host_access:
      return "host access of device memory";
    case Kind::not_synchronized:
      return "missing synchronization";
    case Kind::leak:
      return "leak";
    case Kind::failed_call:
      return "failed call";
    case Kind::program:
      return "program";
  }
  return "?";
}

std::string Finding::describe() const {
  const auto triple = [](const unsigned* d) {
    return "(" + std::to_string(d[0]) + "," + std::to_string(d[1]) + "," + std::to_string(d[2]) + ")";
  };
  // Shorten the path to its place in the tree, whatever path the compiler was given. A folder whose name only ends so,
  // "cuda-kernels", belongs to another program, whose path stays whole.
  const auto folder = [this](const std::string& name) {
    const size_t slash = file.rfind('/' + name);
    if (slash != std::string::npos) return slash + 1;
    return file.compare(0, name.size(), name) == 0 ? size_t{0} : std::string::npos;
  };
  size_t at = folder("kernels/");
  if (at == std::string::npos) at = folder("tests/");
  const std::string where = at == std::string::npos ? file : file.substr(at);
  std::string all = name_of(kind);
  all += kernel.empty() ? " in host code"
                        : " in kernel " + kernel + ", block " + triple(block) + ", thread " + triple(thread);
  if (line > 0) all += ", " + where + ":" + std::to_string(line);
  all += ": " + text;
  if (times > 1) all += " (" + std::to_string(times) + " times)";
  return all;
}

}  // namespace klab::simt
