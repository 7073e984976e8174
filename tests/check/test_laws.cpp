// Laws of wrong values: outputs are made wrong by formulas, and each law is named by its own sentence, or none is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>

#include "harness/check/laws.h"
#include "harness/core/element.h"
#include "reference/generator.h"

namespace klab {
namespace {

/// Makes the right values of an output wrong, in place.
using Spoil = std::function<void(ShapeView shape, const Given& given, std::vector<double>& values)>;

/// Returns cases of one output at some shapes, with values spoiled, as floats hold them.
std::vector<WrongCase> wrong_cases(const char* op, const std::vector<std::vector<int64_t>>& shapes,
                                   size_t output, const Spoil& spoil) {
  const LabOp& lab_op = *find_op(op);
  std::vector<WrongCase> list;
  uint64_t seed = 1;
  for (const auto& shape : shapes) {
    const auto specs = lab_op.op.tensors(shape);
    Generator random(seed++);
    const auto given =
        std::make_shared<const Given>(make_given(lab_op, shape, specs, Pattern::random, random));
    std::vector<std::vector<char>> outputs;
    for (size_t k = 0; k < specs.size(); ++k) {
      if (specs[k].role == Role::input) continue;
      const int64_t n = volume(specs[k].dims);
      const Element wide = specs[k].element == Element::f32 ? Element::f64 : specs[k].element;
      std::vector<double> values;
      for (int64_t i = 0; i < n; ++i) values.push_back(load(wide, given->reference[k].data(), i));
      if (outputs.size() == output) spoil(shape, *given, values);
      outputs.emplace_back(size_t(n * size_of(specs[k].element)));
      for (int64_t i = 0; i < n; ++i) store(specs[k].element, outputs.back().data(), i, values[size_t(i)]);
    }
    size_t tensor = 0;
    for (size_t k = 0, next = 0; k < specs.size(); ++k)
      if (specs[k].role != Role::input && next++ == output) tensor = k;
    auto c = wrong_case(lab_op.op, {}, shape, specs, given, outputs, specs[tensor].name);
    if (c) list.push_back(std::move(*c));
  }
  return list;
}

/// Returns mistake and sentence of the law; "" if there is none.
std::string said(const char* op, const std::vector<std::vector<int64_t>>& shapes, size_t output,
                 const Spoil& spoil) {
  const auto law = law_of(*find_op(op), wrong_cases(op, shapes, output, spoil));
  return law ? law->mistake + "? " + law->sentence : "";
}

Spoil each(double (*of)(double)) {
  return [of](ShapeView, const Given&, std::vector<double>& v) {
    for (double& x : v) x = of(x);
  };
}

const std::vector<std::vector<int64_t>> kProducts = {
    {5, 7, 9}, {16, 12, 3}, {8, 33, 20}, {3, 20, 17}};  // m, n, k

#define EXPECT_BEGINS(text, with)                                                                 \
  EXPECT_PRED2([](const std::string& a, const std::string& b) { return a.starts_with(b); }, text, \
               std::string(with))

TEST(Laws, NameFactors) {
  EXPECT_BEGINS(said("matmul", kProducts, 0, each([](double x) { return 0.5 * x; })),
                "one factor? Every value is 0.5 times what it should be");
  EXPECT_BEGINS(said("matmul", kProducts, 0, each([](double x) { return -x; })),
                "a sign? Every value is -1 times what it should be");
  const Spoil mean = [](ShapeView shape, const Given&, std::vector<double>& v) {
    for (double& x : v) x /= double(shape[2]);
  };
  EXPECT_BEGINS(said("matmul", kProducts, 0, mean), "one factor? Every value is 1/k times what it should be");
  const Spoil root = [](ShapeView shape, const Given&, std::vector<double>& v) {
    for (double& x : v) x *= std::sqrt(double(shape[1]));
  };
  EXPECT_BEGINS(said("matmul", kProducts, 0, root),
                "one factor? Every value is sqrt(n) times what it should be");
  const Spoil rows = [](ShapeView shape, const Given&, std::vector<double>& v) {
    for (size_t i = 0; i < v.size(); ++i) v[i] *= 1.5 + std::sin(double(int64_t(i) / shape[1]));
  };
  EXPECT_BEGINS(said("matmul", kProducts, 0, rows),
                "one factor? Every value is a multiple of what it should be, by one factor for "
                "each row");
}

TEST(Laws, NameAFactorOfOnePart) {
  // distortion_fwd of one ray: pairs, which grow with t, and a third of w^2 delta.
  const std::vector<std::vector<int64_t>> shapes = {{3, 40}, {8, 100}, {20, 90}, {5, 33}};
  const auto with = [&](double of_pairs, double of_each) {
    return said("distortion_fwd", shapes, 0,
                [=](ShapeView shape, const Given& given, std::vector<double>& v) {
                  const auto* begin = reinterpret_cast<const int32_t*>(given.inputs[0].data());
                  for (int64_t r = 0; r < shape[0]; ++r) {
                    double own = 0;
                    for (int64_t i = begin[r]; i < begin[r + 1]; ++i) {
                      const double w = load(Element::f32, given.inputs[1].data(), i);
                      own += w * w * load(Element::f32, given.inputs[2].data(), i) / 3;
                    }
                    v[size_t(r)] = of_pairs * (v[size_t(r)] - own) + of_each * own;
                  }
                });
  };
  EXPECT_BEGINS(with(0.5, 1),
                "one factor? Every value is right but for the part that grows with t, which is 0.5 times");
  EXPECT_BEGINS(with(-1, 1), "a sign? Every value has the wrong sign in the part that grows with t.");
  EXPECT_BEGINS(with(1, 3),
                "one factor? Every value is right but for the part that grows with delta, which is 3 times");
  EXPECT_BEGINS(with(1, 0), "one term? Every value lacks the part that grows with delta");
  EXPECT_BEGINS(with(2, 2), "one factor? Every value is 2 times what it should be");
  EXPECT_EQ(with(1, 1), "");
}

TEST(Laws, NameAFactorOfOnePartThatFollowsASize) {
  // A normalized row with its variance divided by c - 1: beta, which is added behind it, stays.
  const Spoil unbiased = [](ShapeView shape, const Given& given, std::vector<double>& v) {
    const int64_t c = shape[1];
    for (size_t i = 0; i < v.size(); ++i) {
      const double beta = load(Element::f32, given.inputs[2].data(), int64_t(i) % c);
      v[i] = beta + std::sqrt(double(c - 1) / double(c)) * (v[i] - beta);
    }
  };
  EXPECT_BEGINS(said("layernorm_fwd", {{4, 3}, {2, 5}, {3, 9}, {5, 17}, {2, 6}}, 0, unbiased),
                "one factor? Every value is right but for the part that grows with gamma, which is sqrt((c - "
                "1)/c) times");
}

TEST(Laws, NameOneNumberForAll) {
  EXPECT_BEGINS(said("matmul", kProducts, 0, each([](double x) { return x < 0 ? 7.5 : x; })),
                "one number for all? Every wrong value is 7.5, whatever belongs there");
}

/// Some roundings, which stay once they are made, are no term; a few whole numbers that are off by one are not those of other places.
TEST(Laws, TellRoundingsFromTermsAndPlaces) {
  const Spoil carried = [](ShapeView, const Given&, std::vector<double>& v) {
    for (size_t i = v.size() / 2; i < v.size(); ++i) v[i] += i < 3 * v.size() / 4 ? 3e-6 : -3.5e-6;
  };
  EXPECT_BEGINS(said("window_sum", {{200, 3}, {90, 3}, {300, 2}, {150, 3}}, 0, carried),
                "errors that are carried along? ");
  const Spoil odd_up = [](ShapeView, const Given&, std::vector<double>& v) {
    for (size_t i = 0; i < v.size(); i += 50) ++v[i];
  };
  EXPECT_BEGINS(said("scan", {{400}, {900}, {1500}, {2000}}, 0, odd_up),
                "one term? Every wrong value is off by 1: ");
}

TEST(Laws, NameTerms) {
  EXPECT_BEGINS(said("matmul", kProducts, 0, each([](double x) { return x + 1; })),
                "one term? Every value is off by 1:");
  const std::vector<std::vector<int64_t>> layers = {{5, 7}, {4, 12}, {3, 20}};  // n, c
  const auto specs = find_op("layernorm_fwd")->op.tensors(layers[0]);
  const auto beta = size_t(std::ranges::find(specs, "beta", &TensorSpec::name) - specs.begin());
  ASSERT_LT(beta, specs.size());
  const Spoil lacks_beta = [beta](ShapeView shape, const Given& g, std::vector<double>& v) {
    for (size_t i = 0; i < v.size(); ++i) v[i] -= g.reference[beta].as<double>()[i % size_t(shape[1])];
  };
  EXPECT_BEGINS(said("layernorm_fwd", layers, 0, lacks_beta), "one term? Every value lacks beta:");
  const Spoil rows = [](ShapeView shape, const Given&, std::vector<double>& v) {
    for (size_t i = 0; i < v.size(); ++i) v[i] += std::cos(double(int64_t(i) / shape[1]));
  };
  EXPECT_BEGINS(said("matmul", kProducts, 0, rows),
                "one term? Every value is off by one number for each row");
  // A sum that is stored where it should be added.
  const Spoil stored = [](ShapeView, const Given& g, std::vector<double>& v) {
    v[0] -= load(Element::f32, g.inputs[2].data(), 0);
  };
  EXPECT_BEGINS(said("weighted_sum", {{5}, {9}, {20}, {33}, {40}}, 0, stored),
                "old contents? Every value lacks what the tensor held");
}

TEST(Laws, NamePlaces) {
  const Spoil later = [](ShapeView shape, const Given&, std::vector<double>& v) {
    for (size_t i = 0; i + size_t(shape[1]) < v.size(); ++i) v[i] = v[i + size_t(shape[1])];
  };
  EXPECT_BEGINS(said("matmul", kProducts, 0, later),
                "an index off by a place? Every value is the one that belongs 1 row later");
  const Spoil transposed = [](ShapeView shape, const Given&, std::vector<double>& v) {
    const std::vector<double> old = v;
    for (int64_t i = 0; i < shape[0]; ++i)
      for (int64_t j = 0; j < shape[1]; ++j) v[size_t(j * shape[0] + i)] = old[size_t(i * shape[1] + j)];
  };
  EXPECT_NE(said("matmul", kProducts, 0, transposed).find("where m and n are transposed"), std::string::npos);
  const Spoil goes_on = [](ShapeView shape, const Given&, std::vector<double>& v) {
    for (size_t i = 0; i < v.size(); ++i)
      if (i % size_t(shape[1]) != 0) v[i] += v[i - 1];
  };
  EXPECT_BEGINS(said("matmul", kProducts, 0, goes_on),
                "a sum that is not set to zero? Every value is the sum of its own value and "
                "all before it along n");
}

TEST(Laws, NameFunctions) {
  EXPECT_BEGINS(said("matmul", kProducts, 0, each([](double x) { return std::max(x, 0.0); })),
                "a function of the result? Every value is cut off at 0");
  EXPECT_BEGINS(said("matmul", kProducts, 0, each([](double x) { return std::abs(x); })),
                "a sign? Every value has the right amount but is never negative");
  EXPECT_BEGINS(said("matmul", kProducts, 0, each([](double x) {
                       uint16_t bits = 0;
                       store(Element::bf16, &bits, 0, x);
                       return load(Element::bf16, &bits, 0);
                     })),
                "a narrow format? Every value is the right one rounded to bfloat16");
}

/// Product of a and b over the terms that `take` holds for.
Spoil product_of(std::function<bool(int64_t p, int64_t k)> take) {
  return [take](ShapeView s, const Given& g, std::vector<double>& v) {
    const double *a = g.reference[0].as<double>(), *b = g.reference[1].as<double>();
    for (int64_t i = 0; i < s[0]; ++i)
      for (int64_t j = 0; j < s[1]; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < s[2]; ++p)
          if (take(p, s[2])) sum += a[i * s[2] + p] * b[p * s[1] + j];
        v[size_t(i * s[1] + j)] = sum;
      }
  };
}

TEST(Laws, TellValuesInOtherPlaces) {
  const Spoil swapped = [](ShapeView, const Given&, std::vector<double>& v) {
    std::mt19937 random(5);
    std::ranges::shuffle(v, random);
  };
  EXPECT_BEGINS(said("matmul", kProducts, 0, swapped),
                "values in other places? Every value is the right value of another element");
}

TEST(Laws, NameSumsThatAreCut) {
  const std::string cut = "a sum that is cut short? Every value is the result without ";
  EXPECT_BEGINS(said("matmul", kProducts, 0, product_of([](int64_t p, int64_t k) { return p + 1 < k; })),
                cut + "the last of a along k");
  EXPECT_BEGINS(said("matmul", kProducts, 0, product_of([](int64_t p, int64_t) { return p > 0; })),
                cut + "the first of a along k");
  EXPECT_BEGINS(said("matmul", kProducts, 0, product_of([](int64_t p, int64_t) { return p % 2 == 0; })),
                cut + "every second of a along k");
  EXPECT_BEGINS(said("matmul", {{5, 7, 13}, {4, 9, 22}, {8, 5, 31}}, 0,
                     product_of([](int64_t p, int64_t k) { return p < k / 8 * 8; })),
                cut + "the rest behind the last whole 8 of a along k");
}

TEST(Laws, NameParametersThatAreNotUsed) {
  // The maximum and the average of a window have the same sizes; outputs of another padding have not.
  const LabOp& op = *find_op("pool_fwd");
  const auto dim = [&](const char* name) {
    return size_t(std::ranges::find(op.op.dims, name) - op.op.dims.begin());
  };
  ASSERT_LT(dim("kind"), op.op.dims.size());
  std::vector<std::vector<int64_t>> shapes;
  for (const int64_t size : {6, 9, 11}) {
    std::vector<int64_t> shape(op.op.dims.size(), 0);
    for (const auto& [name, value] : std::vector<std::pair<const char*, int64_t>>{{"n", 1},
                                                                                  {"c", 3},
                                                                                  {"h", size},
                                                                                  {"w", size + 1},
                                                                                  {"r", 3},
                                                                                  {"s", 3},
                                                                                  {"stride_y", 2},
                                                                                  {"stride_x", 2}})
      shape[dim(name)] = value;
    ASSERT_TRUE(op.op.valid(shape));
    shapes.push_back(shape);
  }
  const Spoil other_kind = [&](ShapeView shape, const Given& g, std::vector<double>& v) {
    std::vector<int64_t> other(shape.begin(), shape.end());
    other[dim("kind")] = 1;
    const auto specs = op.op.tensors(other);
    Tensors x(specs, Tensors::View::reference), magnitude(specs, Tensors::View::reference);
    copy_given(specs, g.inputs, x);
    for (size_t k = 0; k < specs.size(); ++k)
      if (specs[k].role == Role::output) std::fill_n(magnitude[k].as<char>(), magnitude[k].bytes(), char(0));
    op.op.reference(other, x.pointers(), magnitude.pointers());
    for (size_t k = 0; k < specs.size(); ++k)
      if (specs[k].role == Role::output)
        v.assign(x[k].as<double>(), x[k].as<double>() + volume(specs[k].dims));
  };
  EXPECT_BEGINS(said("pool_fwd", shapes, 0, other_kind),
                "a parameter that is not used? Every value is the result of kind=1: kind is not used");
}

TEST(Laws, TellWhichElementsAreWrong) {
  std::minstd_rand random(7);
  const Spoil tail = [&](ShapeView shape, const Given&, std::vector<double>& v) {
    for (size_t i = 0; i < v.size(); ++i)
      if (int64_t(i) % shape[1] >= shape[1] / 8 * 8) v[i] = double(random() % 1000);
  };
  EXPECT_BEGINS(said("matmul", {{5, 13, 3}, {4, 22, 5}, {8, 31, 2}}, 0, tail),
                "off-by-one at a tile's edge? Only the elements behind the last whole 8 along n are wrong");
  // A law of the values says as well where it holds.
  const Spoil row = [](ShapeView shape, const Given&, std::vector<double>& v) {
    for (size_t i = 0; i < v.size(); ++i)
      if (int64_t(i) / shape[1] == 2) v[i] = -v[i];
  };
  const std::string text = said("matmul", kProducts, 0, row);
  EXPECT_BEGINS(text, "a sign? Every wrong value is -1 times");
  EXPECT_NE(text.find("Only the elements of row 2 are wrong"), std::string::npos) << text;
}

TEST(Laws, EndANoteOfOneCase) {
  const LabOp& op = *find_op("matmul");
  const std::vector<int64_t> shape = {16, 12, 3};
  const auto specs = op.op.tensors(shape);
  Generator random(4);
  const Given given = make_given(op, shape, specs, Pattern::random, random);
  std::vector<std::vector<char>> outputs(1, std::vector<char>(16 * 12 * 4));
  const auto note = [&](double factor) {
    for (int64_t i = 0; i < 16 * 12; ++i)
      store(Element::f32, outputs[0].data(), i, factor * given.reference[2].as<double>()[i]);
    return law_note(op, {}, shape, specs, given, outputs, "c");
  };
  EXPECT_BEGINS(note(0.25), "; every value is 0.25 times what it should be");
  EXPECT_EQ(note(1), "");
  EXPECT_EQ(law_note(op, {}, shape, specs, given, outputs, "no tensor"), "");
}

TEST(Laws, SayNothingWithoutEvidence) {
  std::minstd_rand random(3);
  const Spoil noise = [&](ShapeView, const Given&, std::vector<double>& v) {
    for (double& x : v) x += double(random() % 1000) - 500;
  };
  EXPECT_EQ(said("matmul", kProducts, 0, noise), "");
  // A quarter of the elements, here and there.
  const Spoil some = [&](ShapeView, const Given&, std::vector<double>& v) {
    for (double& x : v)
      if (random() % 4 == 0) x += double(random() % 1000);
  };
  EXPECT_EQ(said("matmul", kProducts, 0, some), "");
  // One element of one case obeys every law.
  EXPECT_EQ(said("matmul", {{1, 1, 3}}, 0, each([](double x) { return 2 * x; })), "");
  EXPECT_FALSE(law_of(*find_op("matmul"), {}).has_value());
}

}  // namespace
}  // namespace klab
