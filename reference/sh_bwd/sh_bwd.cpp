#include "reference/sh_bwd/sh_bwd.h"

#include <cmath>

namespace klab {

// Term by term: d(x^p)/dx = p·x^(p-1).
void ShBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [n, degree] = x.shape;
  for (int64_t k = 0; k < 3 * n; ++k) x.d_directions[k] = magnitude.d_directions[k] = 0;
  for (const ShFwd::Term& term : ShFwd::terms_of_basis()) {
    if (term.output >= degree * degree) continue;
    for (int axis = 0; axis < 3; ++axis) {
      int power[3] = {term.px, term.py, term.pz};
      if (power[axis] == 0) continue;
      const double factor = term.factor * power[axis]--;
      for (int64_t i = 0; i < n; ++i) {
        double value = factor * x.d_basis[term.output * n + i];
        for (int a = 0; a < 3; ++a) value *= std::pow(x.directions[a * n + i], power[a]);
        x.d_directions[axis * n + i] += value;
        magnitude.d_directions[axis * n + i] += std::abs(value);
      }
    }
  }
}

}  // namespace klab
