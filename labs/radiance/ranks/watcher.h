// The watcher process next to the ranks of a machine: it waits for their ends (last_words.h).
#pragma once

#include <cstddef>

namespace klab::watcher {

constexpr int kMost = 256;          // processes on a machine
constexpr size_t kMostText = 1000;  // bytes of a text
/// Messages are a letter and a text; each is answered by a letter. Four set the text to report: "h" head, "c"
/// checkpoint, "w" with it, "n" without. The others:
constexpr char kInOrder = 'e';         // the process ends in order
constexpr char kMaySpeak = 's';        // asks for permission to print why the run ends; the answer is
constexpr char kYes = 'y', kNo = 'n';  // yes or no; other messages are answered by yes

/// Returns whether the other end of a socket is a process of the same user.
bool of_same_user(int socket);

/// Accepts connections to this socket, one from each process, and waits for their ends. Prints the text of
/// the first process that ends without having announced it, and nothing for the others. Returns never; exits
/// when all have ended. Calls only functions that are safe after a fork() in a program with threads.
[[noreturn]] void wait_for_ends(int listening);

}  // namespace klab::watcher
