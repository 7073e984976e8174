// Recorded runs made of drawn numbers, for the tests of comparisons: a seed gives the same run everywhere.
#pragma once

#include <cmath>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/compare/comparison.h"
#include "harness/records/rows.h"

#define EXPECT_HAS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

namespace klab {

/// A lab of one ladder: first rung, two more, and a library, `sessions` times `rounds`. `time` changes a time.
struct Made {
  uint64_t seed = 1;
  int sessions = 16, rounds = 5;
  double noise = 0.01;
  std::function<double(const std::string& rung, int session, double seconds)> time =
      [](const std::string&, int, double s) { return s; };
  std::function<double(const std::string& rung, int session)> waited = [](const std::string&, int) {
    return 0.0;
  };
  std::function<double(int session)> others = [](int) { return 0.0; };
};

inline Recording make(const Made& m) {
  std::mt19937_64 random(m.seed);
  std::normal_distribution<double> normal;
  Recording run;
  const std::pair<const char*, double> rungs[] = {{"cpu.01_naive", 1e-2},
                                                  {"cpu.02_loop_order", 4e-3},
                                                  {"cpu.06_threads", 1e-3},
                                                  {"cpu.90_openblas", 9e-4}};
  for (int session = 1; session <= m.sessions; ++session) {
    std::vector<double> day(size_t(m.rounds));  // factor of the machine on all of them
    for (double& d : day) d = std::exp(0.2 * normal(random) + 0.02 * session);
    for (const auto& [rung, seconds] : rungs) {
      Row r{.fingerprint = "0123456789abcdef",
            .commit = "abc",
            .lab = "05_matmul",
            .op = "matmul",
            .variant = std::string("matmul.") + rung,
            .backend = "cpu",
            .size = "512 cubed",
            .shape = "m=512 n=512 k=512",
            .cache = "hot",
            .threads = 2,
            .session = session,
            .ceiling = "fma f32"};
      for (int i = 0; i < m.rounds; ++i) {
        r.seconds.push_back(
            m.time(rung, session, seconds * day[size_t(i)] * std::exp(m.noise * normal(random))));
        r.shares.push_back(1e-3 * day[size_t(i)] * std::exp(m.noise * normal(random)) / r.seconds.back());
        r.waited.push_back(m.waited(rung, session));
      }
      r.others = m.others(session);
      r.time = median_interval(r.seconds);
      run.rows.push_back(std::move(r));
    }
  }
  return run;
}

inline Made slower(const std::string& what, double factor, uint64_t seed = 2) {
  Made m{.seed = seed};
  m.time = [=](const std::string& rung, int, double s) { return rung == what ? s * factor : s; };
  return m;
}

inline const Change& change_of(const CompareResult& result, const std::string& rung) {
  for (const Change& c : result.changes)
    if (c.variant == "matmul." + rung) return c;
  throw std::logic_error("no " + rung);
}

}  // namespace klab
