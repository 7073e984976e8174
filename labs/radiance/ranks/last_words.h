// Reports why training ended when one of several processes is killed. The killed process cannot report it,
// and the launcher kills the others at the same moment. So a small watcher process runs on each machine,
// forked by the first rank before anything large is in memory. A rank's socket closes when the rank dies. The
// watcher handles these events in order of arrival (epoll's ready list is a queue), so it names the process
// that died first; the others followed.
#pragma once

#include <string>

namespace klab {

class LastWords {
 public:
  /// Joins the processes on this machine that use the same meeting name. The first one starts the watcher. If
  /// the system refuses a socket or a process, nothing is reported later.
  explicit LastWords(const std::string& meeting);
  /// Marks the end as orderly: nothing is reported.
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

  /// Sets the text to print if this process dies first: `head`, then `with` if the file `checkpoint` exists,
  /// else `without`. May be called again. A text is cut at 1000 bytes.
  void set(const std::string& head, const std::string& checkpoint, const std::string& with,
           const std::string& without);
  /// Returns whether this process may print the reason of the end. Only one process gets a yes.
  bool may_speak();

  /// Returns a name shared by the processes of one launcher and different between launchers. It is made from
  /// the nearest ancestor that is no rank itself.
  static std::string meeting_of_launcher();

 private:
  char ask(char kind, const std::string& text) const;
  int socket_ = -1;
};

}  // namespace klab
