// What is said when one of several processes is killed. It cannot say so itself, and the launcher kills the others in the same moment.
// So a small process waits beside all of them that are on a machine, begun by the first of them before anything large is in memory.
// It learns of each one's end by the end of a socket, and takes such news in the order in which it came (the ready list of epoll is a
// queue): who ended first is named, the others followed.
#pragma once

#include <string>

namespace klab {

class LastWords {
 public:
  /// Joins those of this machine that have the same name of a meeting, and begins the process beside them where it is the first.
  /// Where the system refuses a socket or a process nothing is said later.
  explicit LastWords(const std::string& meeting);
  /// The end is in order: nothing is said.
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

  /// What to say if this process ends first, without another word: `head`, and then `with` if the file `checkpoint` is there, else
  /// `without`. May be called again; a text is cut at 1000 bytes.
  void set(const std::string& head, const std::string& checkpoint, const std::string& with,
           const std::string& without);
  /// Whether this process is the one that says why all end: no other has yet, and none will.
  bool may_speak();

  /// A name that processes of one launcher have in common, and those of another do not: of their nearest ancestor that has no
  /// number among them.
  static std::string meeting_of_launcher();

 private:
  char ask(char kind, const std::string& text) const;
  int socket_ = -1;
};

}  // namespace klab
