// Searches with early stopping: candidates are measured beside each other, and what is decided is not measured on.
//
// Two kinds of question, two searches:
//   race()    which is fastest? All that are left take turns, round by round; whoever is slower than the fastest by more than the
//             rounds' spread leaves (racing: Maron and Moore, "Hoeffding Races", 1994, with the intervals of statistics.h)
//   halve()   which is best after so long? All train a short time, the better half twice that, and so on until one is left
//             (successive halving: Jamieson and Talwalkar, 2016)
// In both the first candidate is what there was before, and stays unless another one is decidedly better.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace klab {

struct Racer {
  std::string name;
  std::vector<double> seconds = {};  // a unit of work, round by round
  std::string out = {};              // why it left: "1.83x as slow after 4 rounds"; empty: it is still there
};

struct RaceOptions {
  int least = 4;                                      // rounds before anybody leaves
  int most = 12;                                      // rounds
  double same = 0.02;                                 // differences up to this share do not matter
  std::function<bool()> stop = [] { return false; };  // asked before every measurement
};

/// Measures `measure(index)`, seconds a unit of work, until one racer is left, those left differ by less than `same`, or the rounds
/// are over. Returns the index of the fastest by its median; 0 where the first is still there and within `same` of it. A racer
/// whose measurement throws std::bad_alloc leaves. Throws std::invalid_argument without racers, std::runtime_error when all left.
size_t race(std::vector<Racer>& racers, const std::function<double(size_t)>& measure,
            const RaceOptions& options);

/// Over rounds that both were in: how many times as long b took as a; the median of the rounds' ratios.
double times_as_slow(const Racer& a, const Racer& b);

struct Contender {
  std::string name;
  std::vector<double> seconds = {}, score = {};  // after so long; higher is better
  std::string out = {};                          // why it left; empty: it is the last
};

struct HalvingOptions {
  double seconds = 60;                                // that the last ones are trained for
  double same = 0.1;                                  // scores up to this far apart are alike
  std::function<bool()> stop = [] { return false; };  // asked before every stage
};

/// `train(index, until)` trains a contender on to `until` seconds and returns its score. Returns the index of the best; 0 where the
/// first was within `same` of it when both were last trained equally long. A contender whose training throws std::bad_alloc
/// leaves. Throws as race().
size_t halve(std::vector<Contender>& contenders, const std::function<double(size_t, double)>& train,
             const HalvingOptions& options);

/// How many times as long `slow` took as `fast` to the score that `slow` had when both were scored last. Between two of its scores
/// the way of `fast` is taken as straight over the logarithm of time; where its first one was there already, this is the least
/// that it can be. 1 where `fast` was not ahead.
double time_saved(const Contender& fast, const Contender& slow);

}  // namespace klab
