// The process beside those that train together: it waits for their ends (last_words.h).
#pragma once

#include <cstddef>

namespace klab::watcher {

constexpr int kMost = 256;          // processes on a machine
constexpr size_t kMostText = 1000;  // bytes of a text
/// Messages are a letter and a text, and each has an answer of a letter: those that may have to be said, "h" head, "c" checkpoint, "w" with it, "n" without; and
constexpr char kInOrder = 'e';         // the end that follows is in order
constexpr char kMaySpeak = 's';        // whoever asks wants to say himself why all end; the answer is
constexpr char kYes = 'y', kNo = 'n';  // to others always yes

/// Whether the other end of a socket is a process of the same user.
bool of_same_user(int socket);

/// Waits for connections to this socket, of which each is a process, and for their ends. Says the words of the first that ends without
/// having said that this is in order, and nothing of any other. Ends when all have. Calls only what a process may call that was
/// forked with threads beside it.
[[noreturn]] void wait_for_ends(int listening);

}  // namespace klab::watcher
