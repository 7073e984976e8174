// What a process is checking, in a file that outlives it: the process that started it reads there what ended it.
//
// exit(), _exit() and an endless loop leave no message. The notes are in mapped memory, so writing one costs no call to the system.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace klab {

/// Keeps the notes of this process in `file` from now on. `alive` is called when a note is written, at most once a second.
/// Throws std::runtime_error if the file cannot be written.
void keep_notes_in(const std::filesystem::path& file, std::function<void()> alive);

/// Replaces the note of the calling thread; an empty one says that it is done. Does nothing without a file.
void note_work(std::string_view what);

/// Returns the notes that a process has left in the file, one for each thread that was not done.
std::vector<std::string> notes_left_in(const std::filesystem::path& file);

}  // namespace klab
