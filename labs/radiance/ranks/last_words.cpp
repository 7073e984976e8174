#include "labs/radiance/ranks/last_words.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace klab {
namespace {

constexpr size_t kMost = 1000;  // bytes of a text
// A message: its kind, then for a text kMost bytes with zeros behind it. Small enough to be written in one piece.
constexpr size_t kMessage = kMost + 2;

/// The texts by their kinds: head, checkpoint, with, without, once. Of the process that waits, which calls only what a process
/// may call that was forked with threads beside it.
struct Texts {
  static constexpr const char* kKinds = "hcwno";
  std::array<std::array<char, kMost + 1>, 5> all{};
  const char* of(char kind) const { return all[size_t(std::strchr(kKinds, kind) - kKinds)].data(); }
};

void say(const char* text) {
  size_t left = std::strlen(text);
  while (left > 0) {
    const ssize_t n = write(STDERR_FILENO, text, left);
    if (n <= 0) return;
    text += n;
    left -= size_t(n);
  }
}

bool read_message(int pipe, char* message) {
  for (size_t have = 0; have < kMessage;) {
    const ssize_t n = read(pipe, message + have, kMessage - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    have += size_t(n);
  }
  return true;
}

void remove_later(const char* file) {
  close(STDERR_FILENO);  // whoever reads what is said need not wait
  sleep(2);              // others that end now have looked by then
  unlink(file);
}

[[noreturn]] void wait_for_the_end(int pipe) {
  setsid();  // so that what is sent to the group of the others does not come here
  prctl(PR_SET_NAME, "klab-last-words");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) std::signal(signal, SIG_IGN);
  close(STDIN_FILENO);
  close(STDOUT_FILENO);
  close_range(3, unsigned(pipe) - 1, 0);
  close_range(unsigned(pipe) + 1, ~0U, 0);
  static Texts texts;
  static char message[kMessage];
  while (read_message(pipe, message)) {
    if (message[0] == 'e') _exit(0);  // in order
    if (message[0] == 's') {          // it has said itself why
      while (read_message(pipe, message)) {
      }
      remove_later(texts.of('o'));
      _exit(0);
    }
    const char* const at = std::strchr(Texts::kKinds, message[0]);
    if (at != nullptr) std::memcpy(texts.all[size_t(at - Texts::kKinds)].data(), message + 1, kMost + 1);
  }
  const char* const once = texts.of('o');
  const int first = *once != 0 ? open(once, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) : -1;
  if (first < 0 && errno == EEXIST) _exit(0);
  if (*texts.of('h') == 0) _exit(0);
  say(texts.of('h'));
  say(*texts.of('c') != 0 && access(texts.of('c'), F_OK) == 0 ? texts.of('w') : texts.of('n'));
  say("\n");
  if (first >= 0) remove_later(once);
  _exit(0);
}

}  // namespace

LastWords::LastWords() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    wait_for_the_end(ends[0]);
  }
  close(ends[0]);
  if (child < 0)
    close(ends[1]);
  else
    pipe_ = ends[1];
}

LastWords::~LastWords() {
  send('e', "");
  if (pipe_ >= 0) close(pipe_);
}

void LastWords::send(char kind, const std::string& text) {
  if (pipe_ < 0) return;
  std::array<char, kMessage> message{};
  message[0] = kind;
  std::copy_n(text.data(), std::min(text.size(), kMost), message.data() + 1);
  // Where the other has been killed, SIGPIPE must not end this one.
  struct sigaction ignore = {}, before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  for (size_t sent = 0; sent < message.size();) {
    const ssize_t n = write(pipe_, message.data() + sent, message.size() - sent);
    if (n <= 0 && errno != EINTR) break;
    if (n > 0) sent += size_t(n);
  }
  sigaction(SIGPIPE, &before, nullptr);
}

void LastWords::set(const std::string& head, const std::string& checkpoint, const std::string& with,
                    const std::string& without, const std::string& once) {
  once_ = once;
  for (const auto& [kind, text] :
       {std::pair{'o', &once}, {'n', &without}, {'w', &with}, {'c', &checkpoint}, {'h', &head}})
    send(kind, *text);
}

bool LastWords::may_speak() {
  if (once_.empty()) return true;
  const int first = open(once_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (first < 0) return errno != EEXIST;
  close(first);
  send('s', "");
  return true;
}

}  // namespace klab
