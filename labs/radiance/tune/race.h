// Searches with early stopping: candidates are measured in turn, and a candidate that is decided is not
// measured any more.
//
// Two kinds of question, two searches:
//   race()    which is fastest? All that are left take turns, round by round. One that is slower than the fastest by
//             more than the rounds' spread leaves (racing: Maron and Moore, "Hoeffding Races", 1994, with the
//             intervals of statistics.h).
//   halve()   which is best after a given time? All train a short time, the better half twice that, and so on until
//             one is left (successive halving: Jamieson and Talwalkar, 2016).
// In both the first candidate is the present setting, and stays unless another one is clearly better.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace klab {

struct Racer {
  std::string name;
  std::vector<double> seconds = {};  // for a unit of work, by round
  std::string out = {};              // why it left: "1.83x as slow after 4 rounds"; empty: still in the race
};

struct RaceOptions {
  int least = 4;                                      // rounds before a racer may leave
  int most = 12;                                      // rounds
  double same = 0.02;                                 // differences up to this share do not matter
  std::function<bool()> stop = [] { return false; };  // called before every measurement
};

/// Calls `measure(index)`, which returns seconds for a unit of work, until one racer is left, those left
/// differ by less than `same`, or the rounds are over. Returns the index of the fastest by its median, or 0
/// if the first is still there and within `same` of it. A racer whose measurement throws std::bad_alloc
/// leaves. Throws std::invalid_argument without racers, std::runtime_error if all have left.
size_t race(std::vector<Racer>& racers, const std::function<double(size_t)>& measure,
            const RaceOptions& options);

/// Returns how many times as long b took as a: the median of the ratios over the rounds that both were in.
double times_as_slow(const Racer& a, const Racer& b);

struct Contender {
  std::string name;
  std::vector<double> seconds = {}, score = {};  // the score after each time; higher is better
  std::string out = {};                          // why it left; empty: it is the winner
};

struct HalvingOptions {
  double seconds = 60;                                // training time of the last ones
  double same = 0.1;                                  // scores that differ by at most this count as equal
  std::function<bool()> stop = [] { return false; };  // called before every stage
};

/// Calls `train(index, until)`, which continues a contender's training to `until` seconds and returns its
/// score. Returns the index of the best, or 0 if the first was within `same` of it when both were last
/// trained equally long. A contender whose training throws std::bad_alloc leaves. Throws like race().
size_t halve(std::vector<Contender>& contenders, const std::function<double(size_t, double)>& train,
             const HalvingOptions& options);

/// Returns how many times as long `slow` took as `fast` to reach the score that `slow` had when both were
/// last scored. Interpolates the scores of `fast` linearly over the logarithm of time. If the first score of
/// `fast` was already higher, the result is a lower bound. Returns 1 if `fast` was not ahead.
double time_saved(const Contender& fast, const Contender& slow);

}  // namespace klab
