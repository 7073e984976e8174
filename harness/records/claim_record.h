// Claims on record: what was measured for each claim on a machine, and the verdict that its rule gives.
//
//   reports/recorded/<machine>/claims.json    one entry per claim; docs/schemas/claims.json describes it
//
// A claim is data: its statement, the kind of source, the command, the metric, and the range of the metric in which it holds. An
// entry has one row per condition, with one value per seed, so that every interval and verdict can be computed again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace klab {

/// Thrown if a record cannot be read. what() names file, field and remedy.
struct ClaimRecordError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The range of a metric in which a claim holds, both ends included. Outside of it the claim is refuted.
struct ClaimRule {
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  bool holds(double value) const { return value >= least && value <= most; }
  /// Returns "at least 1.5", "at most 0.6", "from 0.1 to 10" or "9".
  std::string text() const;
  friend bool operator==(const ClaimRule&, const ClaimRule&) = default;
};
ClaimRule at_least(double limit);
ClaimRule at_most(double limit);
ClaimRule between(double least, double most);

/// What differs from run to run, which determines the runs that a verdict needs.
enum class ClaimKind {
  exact,   // nothing: counts and arithmetic; one run
  random,  // the draws of a seed: three seeds or more
  timed,   // draws and times: three seeds or more, on a quiet machine
  gpu,     // decided by the recorded times of a GPU
};
/// Returns "exact" and so on.
const char* name_of(ClaimKind kind);
/// Returns the fewest values that a row of such a claim needs.
size_t least_values(ClaimKind kind);

struct StatedClaim {
  std::string id;      // "halves.parameters": the experiment, and a name within it
  std::string said;    // a sentence without its full stop
  std::string source;  // kind of text that says it: "course", "plan", "paper", "post"
  std::string metric;  // "parameters of both halves over those of the whole"
  ClaimRule rule;
  ClaimKind kind = ClaimKind::random;
  std::string on = {};  // what the conditions vary: "normalization over the batch"; empty: there is one
  // The rungs whose times are compared, where a GPU decides.
  std::string faster = {}, slower = {};

  std::string experiment() const { return id.substr(0, id.find('.')); }
  /// Returns the command that decides it, without "klab ".
  std::string command() const;
  friend bool operator==(const StatedClaim&, const StatedClaim&) = default;
};

/// A condition, with one value per seed or recorded round.
struct ClaimRow {
  std::string condition;  // empty if there is only one
  std::vector<double> values;
  friend bool operator==(const ClaimRow&, const ClaimRow&) = default;
};

enum class ClaimVerdict { held, refuted, depends };
const char* name_of(ClaimVerdict verdict);

/// Held if the rule holds for all values, refuted if for none. Throws std::invalid_argument if there is no value.
ClaimVerdict verdict_of(const ClaimRule& rule, const std::vector<ClaimRow>& rows);

/// A claim with the values measured so far.
struct ClaimEntry {
  StatedClaim claim;
  int edition = 1;              // of the experiment
  std::vector<uint64_t> seeds;  // one per value; empty for GPU times
  std::vector<ClaimRow> rows;
  std::string because;  // the reason in words, with the numbers of the first seed
  std::string machine;  // fingerprint of the machine that measured it
  std::string commit;   // of the last run
  std::string date;     // of the last run, 2026-11-27
  double seconds = 0;   // processor time of all its runs
  std::string rows_of;  // of GPU times: the file, below the root
  bool operator==(const ClaimEntry&) const = default;

  /// Returns whether each row has the values that a verdict needs.
  bool complete() const;
  ClaimVerdict verdict() const { return verdict_of(claim.rule, rows); }
  double low() const;
  double value() const;  // median over all values
  double high() const;
  /// Returns two cases that differ: "on the seed: 0.93 with seed 1, 1.10 with seed 3"; empty unless the verdict is `depends`.
  std::string depends_text() const;
};

/// The record of one machine.
struct ClaimRecord {
  std::string fingerprint, processor;
  std::vector<ClaimEntry> entries;  // by id
  const ClaimEntry* find(const std::string& id) const;
  /// Replaces the entry of that id, or adds it.
  void set(ClaimEntry entry);
};

/// Returns reports/recorded/<fingerprint>/claims.json below the root.
std::filesystem::path claim_record_file(const std::filesystem::path& root, const std::string& fingerprint);

std::string claim_record_json(const ClaimRecord& record);
/// Throws ClaimRecordError: another version, a file of another machine, a missing or wrong field, a verdict that its rule and values
/// do not give. The machine is not compared if `fingerprint` is empty.
ClaimRecord read_claim_record(const std::filesystem::path& file, const std::string& fingerprint = "");

/// Returns the records of all machines below the root, by fingerprint. Throws ClaimRecordError.
std::vector<ClaimRecord> read_claim_records(const std::filesystem::path& root);

/// Formats a value of a metric with three significant digits; whole numbers up to 12 digits in full.
std::string claim_number(double value);
/// Formats the interval of an entry: "1.2 to 1.4", or one number if both ends are equal.
std::string claim_interval(double low, double high);

/// Returns whether two measurements of a claim agree: equal verdicts, or intervals that meet for every condition.
bool claims_agree(const ClaimEntry& recorded, const ClaimEntry& now);

}  // namespace klab
