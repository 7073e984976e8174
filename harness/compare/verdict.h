// Decides whether a variant became slower. The verdict may gate a merge, so it rarely gives a false alarm,
// reports when the data do not suffice, and states how large a change it could have detected.
//
// The units are sessions, each a process of its own, since addresses, pages and the state of the machine
// differ more between processes than between rounds of one. A session yields one number: the median over its
// rounds of log(time of the variant / time of its anchor in the same round). Base and fresh sessions are
// compared by ranks (shift.h). Tails, modes or steps of the machine do not invalidate the probabilities as
// long as they affect both runs alike; effects on a run as a whole are covered by the noise floor.
//
// SLOWER and FASTER require that the shift lies beyond the margin, max(threshold, noise floor). SAME requires that it lies
// within, and that the margin is small enough for that to mean something: noise that is wider than a few thresholds, or
// than the change that was measured, hides what it is asked about. The error rates hold for all comparisons together (Holm 1979) and for all evaluations of
// the growing data together (an equal share of the rate for each).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/compare/shift.h"

namespace klab {

enum class Verdict { same, faster, slower, undecided };
const char* name_of(Verdict verdict);  // "SAME", ...

/// log(time / time of the anchor), one per session, in chronological order.
struct LogRatios {
  std::vector<double> base, fresh;
  double floor = 0;  // noise floor that is known beforehand, as a log ratio
};

struct VerdictOptions {
  double threshold = 0.02;   // smaller changes do not matter, as a fraction
  double alarm_rate = 0.01;  // of a false SLOWER or FASTER in any comparison, at any look
  double same_rate = 0.05;   // of a false SAME
  double widest = 5;  // thresholds: a wider margin, or a quarter of the units that far away, is not SAME
  int looks = 1;      // number of times that the growing data are judged at most
};

struct Judgement {
  Verdict verdict = Verdict::undecided;
  Shift change;       // log(fresh / base): 0.05 is 5 % slower; at the level of the verdict
  double margin = 0;  // log ratio
  double p_slower = 1, p_faster = 1, p_same = 1;  // uncorrected
  std::string noise;                              // why noise leaves this undecided; empty where it does not
};

/// Returns one judgement per comparison. Throws std::invalid_argument if there are none, or if one has an
/// empty side.
std::vector<Judgement> judge(std::span<const LogRatios> comparisons, const VerdictOptions& options = {});

/// Returns how much the same binary differs from itself: the shift between the first and the second half of
/// the sessions, an A/A run. 0 for fewer than four sessions. Its uncertainty needs no allowance here, since
/// noise that affects both runs alike is already in the ranks.
double noise_floor(std::span<const double> sessions);

/// Returns the fewest sessions of a new run that can reach the verdict SLOWER against that many of the base,
/// if all agree.
int sessions_needed(int base_sessions, int comparisons, const VerdictOptions& options);

}  // namespace klab
