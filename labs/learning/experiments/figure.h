// The curves of an experiment as an SVG file that lessons show: readable on light and dark pages, with a note of the run.
#pragma once

#include <cstdint>
#include <string>

#include "labs/learning/experiments/experiment.h"

namespace klab::learning {

/// Returns the note of a run: "klab experiment norms, seed 1, edition 2".
std::string figure_note(const Experiment& experiment, uint64_t seed);

/// Returns the curves as an SVG file that holds the note as a comment. Throws std::invalid_argument for an experiment without curves, and
/// std::runtime_error with gnuplot's message if they cannot be drawn.
std::string figure_of(const Experiment& experiment, const Outcome& outcome, uint64_t seed);

}  // namespace klab::learning
