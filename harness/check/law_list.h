// The laws that law_of() tries, as predictions of what a wrong case holds.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/check/laws.h"

namespace klab {

/// The output of a case as a law predicts it; NaN where it says nothing.
using Prediction = std::vector<double>;

struct LawCandidate {
  std::string mistake;
  std::string sentence;    // with {} for the subject, "Every value" or "Every wrong value"
  bool whole = false;      // the right elements must obey as well
  int64_t parameters = 0;  // numbers of the law that were fitted to all cases together
  std::function<std::optional<Prediction>(const WrongCase&)> predict;
};

/// The cases that laws are found from, all of one output of one op.
struct WrongCases {
  const LabOp& op;
  const std::vector<WrongCase>& list;

  const TensorSpec& spec() const { return list.front().specs[list.front().output]; }
  const std::vector<TensorSpec>& specs() const { return list.front().specs; }
  /// Returns the name of the size that dimension d of tensor k has in all cases: "k"; "dimension 2" if no one size has, or several.
  std::string dimension_name(size_t k, size_t d) const;
  /// The same, as a word for one of its indices: "row" and "column" where the size has no name.
  std::string slice_name(size_t k, size_t d) const;
};

/// A number that a case has, by which a factor may be explained.
struct CaseNumber {
  std::string name;
  std::function<double(const WrongCase&)> value;
};

/// Returns the largest finite amount among the floats that a case reads: what roundings on the way are measured by.
double largest_input(const WrongCase& c);

/// A function of it.
struct NumberForm {
  const char* text;  // with {} for the number
  double (*of)(double);
};

/// Returns the sizes, products of two of them, and inputs of one element.
std::vector<CaseNumber> numbers_of(const WrongCases& cases);

/// A function of a number that the factors of nearly all cases follow.
struct FollowedNumber {
  CaseNumber number;
  NumberForm form;
  std::string text;  // "sqrt(c)"
};

/// Returns those that follow the factors of the cases, one each; NaN where a case shows none.
std::vector<FollowedNumber> followed_numbers(const WrongCases& cases, const std::vector<CaseNumber>& numbers,
                                             const std::vector<double>& factors);

/// Factors and terms: constant ones, those that depend on the sizes, those that an input holds.
void add_term_laws(const WrongCases& cases, std::vector<LawCandidate>& list);

/// Laws with many numbers of their own, tried last: one factor for each case, one factor or term for each row.
void add_loose_laws(const WrongCases& cases, std::vector<LawCandidate>& list);

/// Values of other elements: shifted, transposed, repeated, summed up; functions of the right value; narrow formats.
void add_place_laws(const WrongCases& cases, std::vector<LawCandidate>& list);

/// Results of other inputs, by the reference: an input that is not read, a sum that ends early, a parameter that is not used.
void add_input_laws(const WrongCases& cases, std::vector<LawCandidate>& list);

/// Returns which elements are wrong, if a simple rule tells them from the right ones in all cases: "the last n mod 8 along n".
std::string where_wrong(const WrongCases& cases);

}  // namespace klab
