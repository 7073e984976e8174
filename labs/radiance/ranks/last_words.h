// What is said when one of several processes is killed. It cannot say so itself, and the launcher kills the others in the same moment.
// So each has a small process beside it, begun before anything large is in memory, that does nothing but wait for its end.
#pragma once

#include <string>

namespace klab {

class LastWords {
 public:
  /// Begins the process beside this one. Without it, where the system refuses one, nothing is said later.
  LastWords();
  /// The end is in order: nothing is said.
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

  /// What to say if this process ends without another word: `head`, and then `with` if the file `checkpoint` is there, else
  /// `without`. Of the processes on this machine that name the same `once`, a file that does not exist yet, one speaks. Each may be
  /// called again; a text is cut at 1000 bytes.
  void set(const std::string& head, const std::string& checkpoint, const std::string& with,
           const std::string& without, const std::string& once);
  /// Whether this process is the one that says why all end: no other has yet, and none will.
  bool may_speak();

 private:
  void send(char kind, const std::string& text);
  int pipe_ = -1;
  std::string once_;
};

}  // namespace klab
