#include "labs/radiance/ranks/last_words.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>

#include "labs/radiance/ranks/watcher.h"

namespace klab {
namespace {

constexpr int kTries = 200;            // attempts to join
constexpr useconds_t kPause = 10'000;  // microseconds between them

/// Uses an abstract socket name, which leaves no file behind.
socklen_t address_of(const std::string& meeting, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const size_t n = std::min(meeting.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, meeting.data(), n);
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + n);
}

int new_socket() { return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0); }

/// Connects to the watcher; returns -1 if there is none.
int join(const std::string& meeting) {
  const int s = new_socket();
  if (s < 0) return -1;
  sockaddr_un address;
  const socklen_t size = address_of(meeting, address);
  const timeval patience{.tv_sec = 2, .tv_usec = 0};  // in case the watcher was stopped
  setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(s, reinterpret_cast<sockaddr*>(&address), size) == 0 && watcher::of_same_user(s)) return s;
  close(s);
  return -1;
}

/// Starts the watcher unless another process has.
void begin(const std::string& meeting) {
  const int s = new_socket();
  if (s < 0) return;
  sockaddr_un address;
  const socklen_t size = address_of(meeting, address);
  if (bind(s, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(s, watcher::kMost) == 0)
    if (fork() == 0) watcher::wait_for_ends(s);
  close(s);
}

/// Returns the content of a file in /proc; empty if it cannot be read.
std::string proc_file(pid_t process, const char* name) {
  std::ifstream file(fmt::format("/proc/{}/{}", process, name));
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the fields of /proc/PID/stat after the program's name, which may contain anything: the third
/// field, state, and those that follow.
std::string stat_of(pid_t process) {
  const std::string stat = proc_file(process, "stat");
  const size_t at = stat.rfind(')');
  return at == std::string::npos ? "" : stat.substr(at + 1);
}

pid_t parent_of(pid_t process) {
  char state = 0;
  int parent = 0;
  return std::sscanf(stat_of(process).c_str(), " %c %d", &state, &parent) == 2 ? parent : 0;
}

/// Returns the start time in ticks since boot. It tells processes apart that got the same number.
std::string start_of(pid_t process) {
  std::string stat = stat_of(process);
  for (int field = 3; field < 22; ++field) {
    const size_t at = stat.find(' ', 1);
    if (at == std::string::npos) return "";
    stat.erase(0, at);
  }
  return stat.substr(1, stat.find(' ', 1) - 1);
}

}  // namespace

std::string LastWords::meeting_of_launcher() {
  pid_t launcher = getppid();
  const auto is_one_of_several = [](pid_t process) {
    const std::string environment = '\0' + proc_file(process, "environ");
    for (const char* name : {"PMI_RANK=", "OMPI_COMM_WORLD_RANK=", "PMIX_RANK="})
      if (environment.find('\0' + std::string(name)) != std::string::npos) return true;
    return false;
  };
  while (launcher > 1 && is_one_of_several(launcher)) launcher = parent_of(launcher);
  return fmt::format("klab-ranks-{}-{}-{}", getuid(), launcher, start_of(launcher));
}

LastWords::LastWords(const std::string& meeting) {
  for (int i = 0; i < kTries && socket_ < 0; ++i) {
    socket_ = join(meeting);
    if (socket_ >= 0) break;
    begin(meeting);
    if (i > 0) usleep(kPause);
  }
  // Linux closes the files of a killed process from the highest number down, because the work for each is put
  // on a stack. If the launcher's socket closed before this one, the launcher would end the others before the
  // watcher heard of this process.
  if (socket_ < 0) return;
  if (const int last = fcntl(socket_, F_DUPFD_CLOEXEC, int(sysconf(_SC_OPEN_MAX) < 1024 ? 64 : 1000));
      last >= 0) {
    close(socket_);
    socket_ = last;
  }
}

LastWords::~LastWords() {
  ask(watcher::kInOrder, "");
  if (socket_ >= 0) close(socket_);
}

char LastWords::ask(char kind, const std::string& text) const {
  if (socket_ < 0) return watcher::kYes;
  const std::string message = kind + text.substr(0, watcher::kMostText);
  const auto again = [](ssize_t n) { return n < 0 && errno == EINTR; };
  // If the watcher was killed, the message is dropped.
  while (again(::send(socket_, message.data(), message.size(), MSG_NOSIGNAL))) {
  }
  char answer = watcher::kYes;
  while (again(recv(socket_, &answer, 1, 0))) {
  }
  return answer;
}

void LastWords::set(const std::string& head, const std::string& checkpoint, const std::string& with,
                    const std::string& without) {
  for (const auto& [kind, text] : {std::pair{'n', &without}, {'w', &with}, {'c', &checkpoint}, {'h', &head}})
    ask(kind, *text);
}

bool LastWords::may_speak() { return ask(watcher::kMaySpeak, "") == watcher::kYes; }

}  // namespace klab
