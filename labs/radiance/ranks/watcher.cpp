#include "labs/radiance/ranks/watcher.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

namespace klab::watcher {
namespace {

constexpr const char* kKinds = "hcwn";

/// A process and the text to report if it dies.
struct Process {
  int socket = -1;
  bool in_order = false;
  std::array<std::array<char, kMostText + 1>, 4> texts{};
  const char* text(char kind) const { return texts[size_t(std::strchr(kKinds, kind) - kKinds)].data(); }
};

std::array<Process, kMost> processes;
bool spoken = false;

void say(const char* text) {
  size_t left = std::strlen(text);
  while (left > 0) {
    const ssize_t n = write(STDERR_FILENO, text, left);
    if (n <= 0) return;
    text += n;
    left -= size_t(n);
  }
}

void say_last_words(const Process& p) {
  if (*p.text('h') == 0) return;
  say(p.text('h'));
  say(*p.text('c') != 0 && access(p.text('c'), F_OK) == 0 ? p.text('w') : p.text('n'));
  say("\n");
}

/// Handles a message and answers it. A process that has the answer knows that none of its messages is unread.
void heed(Process& p, const char* message, size_t size) {
  if (message[0] == kInOrder) p.in_order = true;
  char answer = kYes;
  if (message[0] == kMaySpeak) {
    if (spoken) answer = kNo;
    spoken = true;
  }
  if (const char* const at = std::strchr(kKinds, message[0]); at != nullptr) {
    auto& text = p.texts[size_t(at - kKinds)];
    text = {};
    std::copy_n(message + 1, std::min(size - 1, kMostText), text.data());
  }
  (void)!send(p.socket, &answer, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// Reads one message, or with `ended` all that are left. Each message is an event of its own: its sender
/// waits for the answer, and by then has left the queue.
void hear(Process& p, bool ended) {
  static char message[kMostText + 1];
  while (true) {
    const ssize_t n = recv(p.socket, message, sizeof message, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    heed(p, message, size_t(n));
    if (!ended) return;
  }
}

bool watch(int epoll, int socket, uint32_t number, uint32_t how) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | how;
  event.data.u32 = number;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) == 0;
}

/// Accepts a connection; returns whether there is one more process.
bool take_in(int epoll, int listening) {
  const int s = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
  if (s < 0) return false;
  Process* const free = std::ranges::find(processes, -1, &Process::socket);
  if (free == processes.end() || !of_same_user(s) ||
      !watch(epoll, s, uint32_t(free - processes.begin()), EPOLLET)) {
    close(s);
    return false;
  }
  free->socket = s;
  free->in_order = false;
  for (auto& text : free->texts) text = {};
  return true;
}

/// Removes a process; prints its text if it is the first to die.
void let_go(Process& p) {
  close(p.socket);
  p.socket = -1;
  if (p.in_order || spoken) return;
  spoken = true;
  say_last_words(p);
  close(STDERR_FILENO);  // so that a reader of the output sees its end now
}

void leave_the_others() {
  setsid();  // leaves the process group, so that signals to the others do not arrive here
  prctl(PR_SET_NAME, "klab-last-words");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) std::signal(signal, SIG_IGN);
}

}  // namespace

bool of_same_user(int socket) {
  ucred other{};
  socklen_t size = sizeof other;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 && other.uid == geteuid();
}

void wait_for_ends(int listening) {
  leave_the_others();
  close(STDIN_FILENO);
  close(STDOUT_FILENO);
  close_range(3, unsigned(listening) - 1, 0);
  close_range(unsigned(listening) + 1, ~0U, 0);
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  constexpr uint32_t kListening = kMost;
  if (epoll < 0 || !watch(epoll, listening, kListening, 0)) _exit(0);
  int there = 0;
  bool any = false;
  while (!any || there > 0) {
    // Takes one event at a time, always the first of the queue. Edge-triggered: a process enters the queue
    // when something happens to it, not because it was there before.
    epoll_event event{};
    const int n = epoll_wait(epoll, &event, 1, any ? -1 : 10'000);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(0);  // no process has joined
    if (event.data.u32 == kListening) {
      const bool one_more = take_in(epoll, listening);
      there += one_more;
      any = any || one_more;
      continue;
    }
    Process& p = processes[event.data.u32];
    if (p.socket < 0) continue;
    const bool ended = (event.events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) != 0;
    hear(p, ended);
    if (!ended) continue;
    let_go(p);
    --there;
  }
  _exit(0);
}

}  // namespace klab::watcher
