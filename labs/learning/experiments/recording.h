// Records claims run by run, so that an interrupted recording continues; and finds the recorded run that decides a claim.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/records/claim_record.h"
#include "labs/learning/experiments/experiment.h"

namespace klab::learning {

/// Seeds of a recorded claim in which something is random. One run of an experiment with seeds of its own takes them all.
inline constexpr uint64_t kClaimSeeds[] = {1, 2, 3};

/// Returns the claims of these ids or experiments; all if there are none. Throws NotFound with the nearest names.
std::vector<Claim> claims_named(const std::vector<std::string>& names);

/// One run that a record lacks: an experiment with one seed.
struct Piece {
  const Experiment* experiment = nullptr;
  uint64_t seed = 1;
  std::set<std::string> claims;  // ids that it is for
};

/// Returns why an entry does not decide the claim as it is now; empty if it does. `entry` may be null.
std::string why_no_verdict(const Claim& claim, const ClaimEntry* entry);

/// Returns the runs that are left, in the order of the experiments.
std::vector<Piece> missing_pieces(const std::vector<Claim>& claims, const ClaimRecord& record);

/// What is noted about a run.
struct RunNote {
  std::string machine, commit, date;
  double seconds = 0;  // processor time
};

/// Adds what a run measured to the entries of its claims. Throws std::runtime_error if a claim has no result, or other conditions
/// than with the seeds before.
void add_run(ClaimRecord& record, const Piece& piece, const Outcome& outcome, const RunNote& note);

/// Runs a piece and adds it; returns the processor time in seconds. `date` is today's.
double run_piece(ClaimRecord& record, const Piece& piece);

/// Decides a claim by the recorded times of both rungs, at every size that one machine has timed. A slower rung that is one of a
/// processor is looked for in the recorded tours of all machines. Returns nullopt if there are no times. Throws RowsError for a record
/// that cannot be read.
std::optional<ClaimEntry> from_gpu_rows(const Claim& claim, const std::filesystem::path& root);

/// Returns whether a rung stands in reports/gpu_queue.csv.
bool waits_for_gpu(const std::filesystem::path& root, const std::string& rung);

/// A claim with its record: of this machine, or else of another one.
struct Standing {
  Claim claim;
  std::optional<ClaimEntry> entry;  // complete and of the claim as it is now
  std::string processor;            // of the machine that measured it
  std::string missing;              // why there is no entry
};

/// Returns where these claims stand by the records below the root. Reasons come from reports/claims_unrecorded.csv where the record
/// of no machine has a claim. Throws ClaimRecordError.
std::vector<Standing> standings(const std::vector<Claim>& claims, const std::filesystem::path& root,
                                const std::string& fingerprint);

/// Returns claims that may be without a record, with the reasons: lines "claim,reason" below a header. Throws std::invalid_argument
/// that names file and line.
std::map<std::string, std::string> unrecorded_claims(const std::filesystem::path& root);

}  // namespace klab::learning
