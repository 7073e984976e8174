#include "reference/sh_fwd/sh_fwd.h"

#include <cmath>

namespace klab {

// sqrt(1/4pi), sqrt(3/4pi), sqrt(15/4pi), sqrt(5/16pi), sqrt(15/16pi), sqrt(35/32pi), sqrt(105/4pi),
// sqrt(21/32pi), sqrt(7/16pi), sqrt(105/16pi), in the order of their first use.
const std::vector<ShFwd::Term>& ShFwd::terms_of_basis() {
  const auto root = [](double numerator, double denominator) {
    return std::sqrt(numerator / denominator / M_PI);
  };
  static const std::vector<Term> terms = {
      {0, root(1, 4), 0, 0, 0},          //
      {1, -root(3, 4), 0, 1, 0},         //
      {2, root(3, 4), 0, 0, 1},          //
      {3, -root(3, 4), 1, 0, 0},         //
      {4, root(15, 4), 1, 1, 0},         //
      {5, -root(15, 4), 0, 1, 1},        //
      {6, 3 * root(5, 16), 0, 0, 2},     //
      {6, -root(5, 16), 0, 0, 0},        //
      {7, -root(15, 4), 1, 0, 1},        //
      {8, root(15, 16), 2, 0, 0},        //
      {8, -root(15, 16), 0, 2, 0},       //
      {9, -3 * root(35, 32), 2, 1, 0},   //
      {9, root(35, 32), 0, 3, 0},        //
      {10, root(105, 4), 1, 1, 1},       //
      {11, root(21, 32), 0, 1, 0},       //
      {11, -5 * root(21, 32), 0, 1, 2},  //
      {12, 5 * root(7, 16), 0, 0, 3},    //
      {12, -3 * root(7, 16), 0, 0, 1},   //
      {13, root(21, 32), 1, 0, 0},       //
      {13, -5 * root(21, 32), 1, 0, 2},  //
      {14, root(105, 16), 2, 0, 1},      //
      {14, -root(105, 16), 0, 2, 1},     //
      {15, -root(35, 32), 3, 0, 0},      //
      {15, 3 * root(35, 32), 1, 2, 0},   //
  };
  return terms;
}

void ShFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [n, degree] = x.shape;
  for (int64_t k = 0; k < degree * degree * n; ++k) x.basis[k] = magnitude.basis[k] = 0;
  for (const Term& term : terms_of_basis()) {
    if (term.output >= degree * degree) continue;
    for (int64_t i = 0; i < n; ++i) {
      const double value = term.factor * std::pow(x.directions[i], term.px) *
                           std::pow(x.directions[n + i], term.py) *
                           std::pow(x.directions[2 * n + i], term.pz);
      x.basis[term.output * n + i] += value;
      magnitude.basis[term.output * n + i] += std::abs(value);
    }
  }
}

}  // namespace klab
