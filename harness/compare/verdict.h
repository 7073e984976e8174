// Did a variant become slower? A verdict that may gate a merge: it alarms rarely, says when it does not know,
// and says how much it could have seen.
//
// Compared are sessions, each a process of its own, since addresses, pages and the state of the machine differ
// between processes more than between the rounds of one. A session gives one number, the middle over its rounds
// of log(time of the variant / time of its anchor in the same round). Base and fresh sessions are compared by
// ranks (shift.h), so that no tail, mode or step of the machine makes the probabilities wrong as long as it
// strikes both alike; what strikes one run as a whole is what the noise floor is for.
//
// SLOWER and FASTER need the shift to lie beyond the margin, max(threshold, noise floor); SAME needs it to lie
// within. Both at error rates that hold for all comparisons together (Holm 1979) and for all looks at the growing
// data together (an equal share of the rate for each look).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/compare/shift.h"

namespace klab {

enum class Verdict { same, faster, slower, undecided };
const char* name_of(Verdict verdict);  // "SAME", ...

/// log(time / time of the anchor), one a session, in the order of time.
struct LogRatios {
  std::vector<double> base, fresh;
  double floor = 0;  // noise floor known beforehand, as a log ratio
};

struct VerdictOptions {
  double threshold = 0.02;   // changes up to this fraction do not matter
  double alarm_rate = 0.01;  // of a false SLOWER or FASTER anywhere among the comparisons, at any look
  double same_rate = 0.05;   // of a false SAME
  int looks = 1;             // how often the growing data are judged at most
};

struct Judgement {
  Verdict verdict = Verdict::undecided;
  Shift change;       // log(fresh / base): 0.05 is 5 % slower; at the level that the verdict needed
  double margin = 0;  // log ratio
  double p_slower = 1, p_faster = 1, p_same = 1;  // uncorrected
};

/// One judgement a comparison. Throws std::invalid_argument when there are none, or when one has an empty side.
std::vector<Judgement> judge(std::span<const LogRatios> comparisons, const VerdictOptions& options = {});

/// What the same binary shows against itself: the shift between the first and the second half of the sessions,
/// an A/A run of as many rounds. 0 for fewer than four sessions. How surely it is known needs no allowance here,
/// since noise that strikes both runs alike is already in the ranks.
double noise_floor(std::span<const double> sessions);

/// Fewest sessions of a new run that can reach a verdict SLOWER against so many of the base, if all agree.
int sessions_needed(int base_sessions, int comparisons, const VerdictOptions& options);

}  // namespace klab
