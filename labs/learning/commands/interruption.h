// Ctrl-C ends the program with a message that says what is left, and never in the middle of a file.
#pragma once

#include <functional>
#include <string>

namespace klab::learning {

/// From now on SIGINT prints the message and ends the program with exit_interrupted. A second call changes the message.
void on_interruption(const std::string& message);

/// Runs `write`; a SIGINT that comes meanwhile waits for its end.
void uninterrupted(const std::function<void()>& write);

}  // namespace klab::learning
