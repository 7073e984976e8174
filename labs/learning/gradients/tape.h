// Reverse mode: a tape of tensor operations, played backward.
//
// Every operation computes its value at once (define by run) and records on the tape how the gradient of its
// result reaches its operands. The tape is played from end to beginning, so each entry is visited after all
// users of its result have added to its gradient. One pass gives the gradient with respect to everything.
// (Griewank and Walther, section 3.2.)
//
// Five kinds of operation are enough for every op of a network: a function of each element, one of two equal
// tensors, a sum over the last dimension, a matrix product, and gather, which covers all movement of data:
// broadcasting, transposing, slicing, im2col. The adjoint of reading an element twice is adding to it twice.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace klab::gradients {

using Dims = std::vector<int64_t>;

inline int64_t elements(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

class Tape {
 public:
  /// A tensor on the tape.
  struct Value {
    size_t at;
  };

  /// Adds a tensor that gradients are requested for, or a constant. Throws std::invalid_argument if dims and
  /// data disagree.
  Value input(Dims dims, std::vector<double> data) {
    if (elements(dims) != int64_t(data.size()))
      throw std::invalid_argument("tape: " + std::to_string(data.size()) + " numbers for a tensor of " +
                                  std::to_string(elements(dims)));
    return push(std::move(dims), std::move(data), [](Tape&, size_t) {});
  }

  const Dims& dims(Value v) const { return nodes_[v.at].dims; }
  const std::vector<double>& data(Value v) const { return nodes_[v.at].data; }
  /// Returns the gradient of the last backward().
  const std::vector<double>& gradient(Value v) const { return nodes_[v.at].gradient; }
  size_t size() const { return nodes_.size(); }

  /// Applies f to each element; its slope is df(x, f(x)).
  template <class F, class Slope>
  Value map(Value a, F f, Slope df) {
    std::vector<double> y(data(a).size());
    for (size_t i = 0; i < y.size(); ++i) y[i] = f(data(a)[i]);
    return push(dims(a), std::move(y), [a, df](Tape& t, size_t self) {
      const Node& n = t.nodes_[self];
      for (size_t i = 0; i < n.data.size(); ++i)
        t.nodes_[a.at].gradient[i] += n.gradient[i] * df(t.data(a)[i], n.data[i]);
    });
  }

  /// Applies f to pairs of elements of two tensors of equal dims, with slopes df(a, b) -> {with respect to a,
  /// to b}.
  template <class F, class Slopes>
  Value zip(Value a, Value b, F f, Slopes df) {
    if (dims(a) != dims(b))
      throw std::invalid_argument("tape: two tensors of different dimensions; gather one first");
    std::vector<double> y(data(a).size());
    for (size_t i = 0; i < y.size(); ++i) y[i] = f(data(a)[i], data(b)[i]);
    return push(dims(a), std::move(y), [a, b, df](Tape& t, size_t self) {
      for (size_t i = 0; i < t.nodes_[self].data.size(); ++i) {
        const auto [to_a, to_b] = df(t.data(a)[i], t.data(b)[i]);
        t.nodes_[a.at].gradient[i] += t.nodes_[self].gradient[i] * to_a;
        t.nodes_[b.at].gradient[i] += t.nodes_[self].gradient[i] * to_b;
      }
    });
  }

  /// Returns y[i] = a[from[i]]; zero where from[i] is negative.
  Value gather(Value a, Dims dims, std::vector<int64_t> from) {
    std::vector<double> y(from.size());
    for (size_t i = 0; i < y.size(); ++i) y[i] = from[i] < 0 ? 0 : data(a)[size_t(from[i])];
    return push(std::move(dims), std::move(y), [a, from = std::move(from)](Tape& t, size_t self) {
      for (size_t i = 0; i < from.size(); ++i)
        if (from[i] >= 0) t.nodes_[a.at].gradient[size_t(from[i])] += t.nodes_[self].gradient[i];
    });
  }

  /// Sums over the last dimension; over everything for a scalar or a vector.
  Value sum(Value a) {
    Dims left = dims(a);
    const int64_t last = left.empty() ? 1 : left.back();
    if (!left.empty()) left.pop_back();
    std::vector<double> y(size_t(elements(left)));
    for (size_t i = 0; i < y.size(); ++i)
      for (int64_t k = 0; k < last; ++k) y[i] += data(a)[i * size_t(last) + size_t(k)];
    return push(std::move(left), std::move(y), [a, last](Tape& t, size_t self) {
      for (size_t i = 0; i < t.nodes_[a.at].gradient.size(); ++i)
        t.nodes_[a.at].gradient[i] += t.nodes_[self].gradient[i / size_t(last)];
    });
  }

  /// Returns c[m,n] = a[m,k]·b[k,n].
  Value matmul(Value a, Value b) {
    const int64_t m = dims(a).at(0), k = dims(a).at(1), n = dims(b).at(1);
    if (dims(b)[0] != k) throw std::invalid_argument("tape: the inner dimensions of a matrix product differ");
    std::vector<double> c(size_t(m * n));
    each(m, n, k, [&](size_t ij, size_t ip, size_t pj) { c[ij] += data(a)[ip] * data(b)[pj]; });
    return push({m, n}, std::move(c), [a, b, m, n, k](Tape& t, size_t self) {
      const std::vector<double>& d = t.nodes_[self].gradient;
      each(m, n, k, [&](size_t ij, size_t ip, size_t pj) {
        t.nodes_[a.at].gradient[ip] += d[ij] * t.data(b)[pj];
        t.nodes_[b.at].gradient[pj] += t.data(a)[ip] * d[ij];
      });
    });
  }

  Value reshape(Value a, Dims to) {
    std::vector<int64_t> same(data(a).size());
    std::iota(same.begin(), same.end(), 0);
    return gather(a, std::move(to), std::move(same));
  }
  /// Repeats a scalar, or one value for each of `to`'s first dimensions, along the last dimensions.
  Value broadcast(Value a, Dims to) {
    const int64_t each = elements(to) / std::max<int64_t>(1, elements(dims(a)));
    std::vector<int64_t> from(size_t(elements(to)));
    for (size_t i = 0; i < from.size(); ++i) from[i] = int64_t(i) / each;
    return gather(a, std::move(to), std::move(from));
  }

  Value add(Value a, Value b) {
    return zip(
        a, b, [](double x, double y) { return x + y; }, [](double, double) { return std::pair(1.0, 1.0); });
  }
  Value subtract(Value a, Value b) {
    return zip(
        a, b, [](double x, double y) { return x - y; }, [](double, double) { return std::pair(1.0, -1.0); });
  }
  Value multiply(Value a, Value b) {
    return zip(
        a, b, [](double x, double y) { return x * y; }, [](double x, double y) { return std::pair(y, x); });
  }
  Value divide(Value a, Value b) {
    return zip(
        a, b, [](double x, double y) { return x / y; },
        [](double x, double y) { return std::pair(1 / y, -x / (y * y)); });
  }
  Value scale(Value a, double by) {
    return map(
        a, [by](double x) { return by * x; }, [by](double, double) { return by; });
  }
  Value exp(Value a) {
    return map(
        a, [](double x) { return std::exp(x); }, [](double, double y) { return y; });
  }
  Value log(Value a) {
    return map(
        a, [](double x) { return std::log(x); }, [](double x, double) { return 1 / x; });
  }
  Value sin(Value a) {
    return map(
        a, [](double x) { return std::sin(x); }, [](double x, double) { return std::cos(x); });
  }
  Value tanh(Value a) {
    return map(
        a, [](double x) { return std::tanh(x); }, [](double, double y) { return 1 - y * y; });
  }
  Value relu(Value a) {
    return map(
        a, [](double x) { return x > 0 ? x : 0; }, [](double x, double) { return x > 0 ? 1.0 : 0.0; });
  }

  /// Computes the gradients of Σ seed·of for everything on the tape; without a seed, those of the sum. One
  /// pass.
  void backward(Value of, const std::vector<double>& seed = {}) { backward({{of, seed}}); }
  void backward(const std::vector<std::pair<Value, std::vector<double>>>& seeds) {
    for (Node& n : nodes_) n.gradient.assign(n.data.size(), 0);
    for (const auto& [of, seed] : seeds)
      for (size_t i = 0; i < nodes_[of.at].gradient.size(); ++i)
        nodes_[of.at].gradient[i] += seed.empty() ? 1 : seed.at(i);
    for (size_t at = nodes_.size(); at-- > 0;) nodes_[at].back(*this, at);
  }

 private:
  using Back = std::function<void(Tape&, size_t self)>;
  struct Node {
    Dims dims;
    std::vector<double> data, gradient;
    Back back;  // adds to the gradients of the operands
  };

  Value push(Dims dims, std::vector<double> data, Back back) {
    nodes_.push_back({std::move(dims), std::move(data), {}, std::move(back)});
    return {nodes_.size() - 1};
  }
  static void each(int64_t m, int64_t n, int64_t k, auto&& visit) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t p = 0; p < k; ++p)
        for (int64_t j = 0; j < n; ++j) visit(size_t(i * n + j), size_t(i * k + p), size_t(p * n + j));
  }

  std::vector<Node> nodes_;
};

}  // namespace klab::gradients
