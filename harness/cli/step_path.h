// Where a learner is: the labs in the order of the path, a lab's steps, and files that were kept.
#pragma once

#include <string>

#include "harness/step/step.h"

namespace klab {

/// Prints the labs on the path, a line each, or one lab's steps with a few words for each; then the next step.
int show_path(const std::string& lab);

/// Keeps the work file, which passes, for undo_step().
void keep_passing(const Step& step);

/// Takes the last passing file back; the present one is moved aside. Throws std::runtime_error if none was kept.
int undo_step(const Step& step);

/// Moves the work file aside: "02.cpp.old", "02.cpp.old2". Prints where it went. Nothing happens if there is none.
void move_aside(const Step& step);

}  // namespace klab
