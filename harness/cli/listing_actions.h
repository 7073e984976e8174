// klab step on faulty listings: shows one, takes an answer, shows the evidence, checks a repair.
#pragma once

#include <string>

#include "harness/cli/step_actions.h"
#include "harness/step/learner.h"
#include "harness/step/listing.h"

namespace klab {

/// Prints claim and task, and writes the file to work in unless it exists.
int show_listing(const Listing& listing);

/// Tells whether line and kind are right, and records it. Returns exit_ok if both are.
int answer_listing(const Listing& listing, const std::string& answer);

/// Runs the listing as it was on the host executor and prints what the check finds.
int show_evidence(const Listing& listing, const StepCheckOptions& options);

/// Checks the learner's file, prints the answer and records the try. Returns the exit code.
int check_repair(const Listing& listing, const StepCheckOptions& options);

/// Shows the fault, and the way to klab's repair.
int show_repair(const Listing& listing);

/// Moves the file aside and starts over.
int restart_listing(const Listing& listing);

/// Returns "", "named", "repaired" or "done", which is both.
std::string state_of(const Listing& listing, const ProgressBook& book);

}  // namespace klab
