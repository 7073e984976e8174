// The list of the loss's terms, and what follows from it: settings of their weights, the refusal where something is lacking, ops of a
// plan, and the table of the lesson.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "labs/radiance/loss/term.h"

/// Terms are added in this order. Each has a file of its name.
#define KLAB_LOSS_TERMS(TERM)  \
  TERM(opacity_entropy)        \
  TERM(opacity_binary_entropy) \
  TERM(opacity_l1)             \
  TERM(depth)                  \
  TERM(depth_l1)               \
  TERM(distortion)             \
  TERM(total_variation)

namespace klab {
namespace terms {
#define KLAB_TERM(term) extern const Term term;
KLAB_LOSS_TERMS(KLAB_TERM)
#undef KLAB_TERM
}  // namespace terms

#define KLAB_TERM(term) +1
inline constexpr size_t kLossTerms = 0 KLAB_LOSS_TERMS(KLAB_TERM);
#undef KLAB_TERM

/// Weights of the terms: a part of the settings of each field that computes them.
struct LossSettings {
#define KLAB_TERM(term) double term = terms::term.default_value;
  KLAB_LOSS_TERMS(KLAB_TERM)
#undef KLAB_TERM

  /// Calls visit(name, reference, low, high, unit, meaning) for each.
  template <class Self, class Visit>
  static void weights(Self& c, Visit&& visit) {
#define KLAB_TERM(term) \
  visit(terms::term.name, c.term, terms::term.low, terms::term.high, "", terms::term.weight_of);
    KLAB_LOSS_TERMS(KLAB_TERM)
#undef KLAB_TERM
  }
};

struct LossTerm {
  const Term* term;
  double LossSettings::*weight;
};
/// Returns all terms, in the order of the list.
const std::array<LossTerm, kLossTerms>& loss_terms();

/// Returns whether a term that acts there has a weight.
bool has_terms(const LossSettings& settings, Term::Where where);
/// Returns whether a term with a weight needs that, a Term::Need.
bool needs(const LossSettings& settings, Term::Need need);
/// Throws std::invalid_argument naming the setting if a term with a weight needs something that is not `given`, a sum of Term::Need.
void require_given(const LossSettings& settings, unsigned given);
/// Says which part of a field a setting needs, if it is a term's; empty otherwise.
std::string need_of_setting(const std::string& name);

/// Returns a program's ops and those of all terms, or of terms that need nothing but what is `given`.
std::vector<std::string> with_ops_of_terms(std::vector<std::string> ops, unsigned given = ~0U);
/// Returns the table of all terms in Markdown, as lab 16 has it.
std::string table_of_terms();

}  // namespace klab
