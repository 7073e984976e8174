// Writes a node of a graph as a formula, as short as rules of school algebra make it: like terms and equal factors are joined,
// numbers are multiplied out, parentheses are not.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "labs/learning/gradients/graph.h"

namespace klab::gradients {

/// A sum of products: coefficient times atoms with exponents. An atom is a name, a function of a sum, or a sum in parentheses.
class NormalForm {
 public:
  static std::string text(const Graph& graph, Expr e, const std::vector<std::string>& names) {
    return Writer{graph, names, {}}.of(e.at).written();
  }

 private:
  using Atoms = std::map<std::string, double>;  // text -> exponent
  struct Terms : std::map<Atoms, double> {
    void add_term(const Atoms& atoms, double factor) {
      if (((*this)[atoms] += factor) == 0) erase(atoms);
    }
    static Terms constant(double c) {
      Terms t;
      if (c != 0) t.add_term({}, c);
      return t;
    }
    static Terms atom(const std::string& name, double exponent = 1) {
      Terms t;
      t.add_term({{name, exponent}}, 1);
      return t;
    }
    Terms times(double c) const {
      Terms t;
      if (c != 0)
        for (const auto& [atoms, factor] : *this) t.add_term(atoms, c * factor);
      return t;
    }
    Terms plus(const Terms& other) const {
      Terms t = *this;
      for (const auto& [atoms, factor] : other) t.add_term(atoms, factor);
      return t;
    }
    /// A sum of several terms becomes one atom in parentheses, with its first coefficient taken out if that is negative.
    Terms as_one_term() const {
      if (size() <= 1) return *this;
      if (begin()->second < 0) return atom("(" + times(-1).written() + ")").times(-1);
      return atom("(" + written() + ")");
    }
    Terms product(const Terms& other) const {
      const Terms a = as_one_term(), b = other.as_one_term();
      if (a.empty() || b.empty()) return {};
      Atoms atoms = a.begin()->first;
      for (const auto& [name, exponent] : b.begin()->first)
        if ((atoms[name] += exponent) == 0) atoms.erase(name);
      Terms t;
      t.add_term(atoms, a.begin()->second * b.begin()->second);
      return t;
    }
    Terms power(double exponent) const {
      const Terms one = as_one_term();
      if (one.empty()) return exponent > 0 ? Terms{} : atom("0", exponent);
      const double factor = one.begin()->second;
      if (factor < 0 && exponent != std::round(exponent)) return atom("(" + written() + ")", exponent);
      Atoms atoms = one.begin()->first;
      for (auto& [name, e] : atoms) e *= exponent;
      Terms t;
      t.add_term(atoms, std::pow(factor, exponent));
      return t;
    }
    bool is_constant() const { return empty() || (size() == 1 && begin()->first.empty()); }
    double value() const { return empty() ? 0 : begin()->second; }

    std::string written() const {
      if (empty()) return "0";
      std::string text;
      // Terms with a positive coefficient first, so that a formula begins without a sign where it can.
      std::vector<std::pair<const Atoms*, double>> order;
      for (const auto& [atoms, factor] : *this) order.emplace_back(&atoms, factor);
      std::ranges::stable_partition(order, [](const auto& t) { return t.second > 0; });
      for (const auto& [atoms, factor] : order) {
        if (!text.empty())
          text += factor < 0 ? " - " : " + ";
        else if (factor < 0)
          text += "-";
        text += term(*atoms, std::abs(factor));
      }
      return text;
    }
    static std::string number(double v) {
      char buffer[32];
      std::snprintf(buffer, sizeof buffer, "%.6g", v);
      return buffer;
    }
    static std::string term(const Atoms& atoms, double factor) {
      std::string above, below;
      int factors_below = 0;
      for (const auto& [name, exponent] : atoms) {
        const double size = std::abs(exponent);
        const std::string root = name.front() == '(' ? "sqrt" + name : "sqrt(" + name + ")";
        // (sin y)^2, since sin y^2 reads as the sine of a square.
        const std::string base =
            name.find(' ') != std::string::npos && name.back() != ')' ? "(" + name + ")" : name;
        const std::string text = size == 1 ? name : size == 0.5 ? root : base + "^" + number(size);
        std::string& side = exponent > 0 ? above : below;
        side += (side.empty() ? "" : "·") + text;
        factors_below += exponent < 0;
      }
      if (above.empty())
        above = number(factor);
      else if (factor != 1)
        above = number(factor) + "·" + above;
      if (below.empty()) return above;
      return above + "/" + (factors_below > 1 ? "(" + below + ")" : below);
    }
  };

  struct Writer {
    const Graph& graph;
    const std::vector<std::string>& names;
    std::map<size_t, Terms> done;

    Terms of(size_t at) {
      const auto found = done.find(at);
      if (found != done.end()) return found->second;
      return done.emplace(at, make(at)).first->second;
    }
    Terms call(const char* function, const Terms& x, double value) {
      if (x.is_constant()) return Terms::constant(value);
      const bool plain = x.size() == 1 && x.begin()->second == 1 && x.begin()->first.size() == 1 &&
                         x.begin()->first.begin()->second == 1 && x.written().find(' ') == std::string::npos;
      return Terms::atom(plain ? std::string(function) + " " + x.written()
                               : std::string(function) + "(" + x.written() + ")");
    }
    Terms make(size_t at) {
      const Graph::Node n = graph.nodes()[at];
      switch (n.kind) {
        case Graph::Kind::input: {
          size_t input = 0;
          for (size_t i = 0; i < at; ++i) input += graph.nodes()[i].kind == Graph::Kind::input;
          return Terms::atom(names.at(input));
        }
        case Graph::Kind::constant:
          return Terms::constant(n.constant);
        case Graph::Kind::add:
          return of(n.a).plus(of(n.b));
        case Graph::Kind::subtract:
          return of(n.a).plus(of(n.b).times(-1));
        case Graph::Kind::multiply:
          if (of(n.a).is_constant()) return of(n.b).times(of(n.a).value());
          if (of(n.b).is_constant()) return of(n.a).times(of(n.b).value());
          return of(n.a).product(of(n.b));
        case Graph::Kind::divide:
          if (of(n.b).is_constant() && !of(n.b).empty()) return of(n.a).times(1 / of(n.b).value());
          return of(n.a).product(of(n.b).power(-1));
        case Graph::Kind::log:
          return call("ln", of(n.a), std::log(of(n.a).value()));
        case Graph::Kind::exp:
          return call("exp", of(n.a), std::exp(of(n.a).value()));
        case Graph::Kind::sin:
          return call("sin", of(n.a), std::sin(of(n.a).value()));
        case Graph::Kind::cos:
          return call("cos", of(n.a), std::cos(of(n.a).value()));
        case Graph::Kind::tanh:
          return call("tanh", of(n.a), std::tanh(of(n.a).value()));
        case Graph::Kind::power:
          return of(n.a).power(n.constant);
      }
      return {};
    }
  };
};

}  // namespace klab::gradients
