#include "harness/check.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <random>

#include "harness/buffers.h"

namespace klab {
namespace {

enum class Pattern { random, constant, cancelling, denormal, huge };
const char* name_of(Pattern p) {
  switch (p) {
    case Pattern::random: return "random";
    case Pattern::constant: return "constant";
    case Pattern::cancelling: return "cancelling";
    case Pattern::denormal: return "denormal";
    case Pattern::huge: return "huge";
  }
  return "?";
}

double draw_real(Pattern p, std::mt19937_64& g, int64_t i, double huge) {
  std::normal_distribution<double> normal;
  switch (p) {
    case Pattern::random: return normal(g);
    case Pattern::constant: return 0.1;
    case Pattern::cancelling: return (i % 2 ? -1.0 : 1.0) * (1000.0 + 1e-3 * normal(g));
    case Pattern::denormal: return 1e-39 * normal(g);
    case Pattern::huge: return huge * std::uniform_real_distribution<double>(-1, 1)(g);
  }
  return 0;
}

void fill(const LabOp& op, ShapeView shape, const std::vector<TensorSpec>& specs, Tensors& t, Pattern pattern,
          std::mt19937_64& g) {
  for (size_t k = 0; k < specs.size(); ++k) {
    const int64_t n = volume(specs[k].dims);
    if (specs[k].role == Role::output || specs[k].element != Element::f32) {
      if (specs[k].role != Role::output) std::memset(t[k].data(), 0, size_t(t[k].bytes()));
      continue;
    }
    float* p = t[k].as<float>();
    for (int64_t i = 0; i < n; ++i) {
      if (specs[k].draw == Draw::real) p[i] = float(draw_real(pattern, g, i, op.huge));
      if (specs[k].draw == Draw::unit) p[i] = std::min(float(std::uniform_real_distribution<double>(0, 1)(g)), 0x1.fffffep-1F);
      if (specs[k].draw == Draw::arranged) p[i] = 0;
    }
  }
  if (op.op.arrange) op.op.arrange(shape, t.pointers(), g);
}

std::string index_text(int64_t flat, const Dims& dims) {
  std::string text;
  for (size_t d = dims.size(); d-- > 0;) {
    text = std::to_string(flat % dims[d]) + (text.empty() ? "" : "," + text);
    flat /= dims[d];
  }
  return "[" + text + "]";
}

double unit_roundoff(Unit unit) {
  switch (unit) {
    case Unit::f64: return 0x1p-53;
    case Unit::f32: return 0x1p-24;
    case Unit::bf16: return 0x1p-8;
    case Unit::f16: return 0x1p-11;
  }
  return 0;
}

std::string digits(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", v);
  return text;
}

}  // namespace

const char* name_of(Fault fault) {
  switch (fault) {
    case Fault::wrong_value: return "wrong value";
    case Fault::non_finite: return "not finite";
    case Fault::out_of_bounds: return "out of bounds";
    case Fault::input_changed: return "input changed";
    case Fault::stale: return "stale output";
    case Fault::nondeterministic: return "not deterministic";
    case Fault::reference_gradient: return "reference gradient";
    case Fault::gradient: return "gradient";
    case Fault::own_forward: return "gradient against own forward";
    case Fault::threw: return "exception";
  }
  return "?";
}

Host this_host() { return {.threads = omp_get_max_threads()}; }

std::vector<CheckResult> check(const LabOp& op, std::span<const Variant* const> variants, const CheckOptions& options) {
  std::vector<CheckResult> results(variants.size());
  for (size_t v = 0; v < variants.size(); ++v) results[v].variant = variants[v]->id;
  std::vector<std::vector<int64_t>> shapes;
  std::mt19937_64 g(options.seed);
  if (!options.shape.empty()) {
    shapes = {options.shape};
  } else {
    const size_t rank = op.op.dims.size();
    std::vector<std::vector<int64_t>> values(rank);
    for (size_t d = 0; d < rank; ++d) {
      values[d] = op.check[op.check.size() == 1 ? 0 : d];
      for (const Variant* v : variants)
        for (const int64_t t : v->tiles)
          for (const int64_t s : {t - 1, t, t + 1}) values[d].push_back(s);
      std::sort(values[d].begin(), values[d].end());
      values[d].erase(std::unique(values[d].begin(), values[d].end()), values[d].end());
    }
    for (size_t d = 0; d < rank; ++d)
      for (const int64_t value : values[d])
        for (int repeat = 0; repeat < 2; ++repeat) {
          std::vector<int64_t> shape(rank);
          for (size_t e = 0; e < rank; ++e) shape[e] = e == d ? value : values[e][g() % values[e].size()];
          if (op.op.valid(shape) && op.op.cost(shape).flops <= op.check_flops) shapes.push_back(shape);
        }
  }
  for (const auto& shape : shapes) {
    const auto specs = op.op.tensors(shape);
    for (const Pattern pattern : {Pattern::random, Pattern::constant, Pattern::cancelling, Pattern::denormal, Pattern::huge}) {
      Tensors given(specs, Tensors::View::variant), ref(specs, Tensors::View::reference), mag(specs, Tensors::View::reference);
      fill(op, shape, specs, given, pattern, g);
      for (size_t k = 0; k < specs.size(); ++k) {
        if (specs[k].element != Element::f32) {
          std::memcpy(ref[k].data(), given[k].data(), size_t(given[k].bytes()));
          continue;
        }
        for (int64_t i = 0, n = volume(specs[k].dims); i < n; ++i) ref[k].as<double>()[i] = specs[k].role == Role::output ? 0.0 : double(given[k].as<float>()[i]);
        std::fill_n(mag[k].as<double>(), volume(specs[k].dims), 0.0);
      }
      op.op.reference(shape, ref.pointers(), mag.pointers());
      for (size_t v = 0; v < variants.size(); ++v) {
        CheckResult& result = results[v];
        if (int(result.failures.size()) >= options.max_failures) continue;
        if (const std::string reason = variants[v]->supported(shape, this_host()); !reason.empty()) {
          ++result.skipped_cases;
          if (result.cases == 0) result.skipped = reason;
          continue;
        }
        result.skipped.clear();
        Tensors mine(specs, Tensors::View::variant, 4 * int64_t(g() % 2));
        for (size_t k = 0; k < specs.size(); ++k) {
          if (specs[k].role == Role::output) mine[k].poison();
          else std::memcpy(mine[k].data(), given[k].data(), size_t(given[k].bytes()));
        }
        std::string inputs;
        for (size_t d = 0; d < shape.size(); ++d) inputs += op.op.dims[d] + "=" + std::to_string(shape[d]) + " ";
        inputs += name_of(pattern);
        variants[v]->bind(shape, mine.pointers())();
        ++result.cases;
        const double u = unit_roundoff(variants[v]->numerics.unit);
        const double terms = op.op.terms(shape);
        const double growth = pattern == Pattern::random && variants[v]->numerics.growth == Growth::sqrt
                                  ? std::min(terms, 4 * std::sqrt(terms) + 1) : terms;
        for (size_t k = 0; k < specs.size(); ++k) {
          if (std::string where; !mine[k].intact(&where)) result.failures.push_back({.fault = Fault::out_of_bounds, .tensor = specs[k].name, .inputs = inputs, .note = where});
          if (specs[k].role == Role::input) {
            if (std::memcmp(mine[k].data(), given[k].data(), size_t(given[k].bytes())) != 0) result.failures.push_back({.fault = Fault::input_changed, .tensor = specs[k].name, .inputs = inputs});
            continue;
          }
          for (int64_t i = 0, n = volume(specs[k].dims); i < n; ++i) {
            if (specs[k].element != Element::f32) {
              const int64_t w = size_of(specs[k].element);
              if (std::memcmp(mine[k].as<char>() + i * w, ref[k].as<char>() + i * w, size_t(w)) == 0) continue;
              result.failures.push_back({.fault = Fault::wrong_value, .tensor = specs[k].name, .index = index_text(i, specs[k].dims), .inputs = inputs});
              break;
            }
            const double got = mine[k].as<float>()[i], want = ref[k].as<double>()[i];
            const double bound = u * growth * mag[k].as<double>()[i] + (terms > 0 ? 0x1p-149 * (terms + 2) : 0);
            const double error = std::abs(got - want);
            if (error <= bound) { if (bound > 0) result.worst = std::max(result.worst, error / bound); continue; }
            result.failures.push_back({.fault = std::isfinite(got) ? Fault::wrong_value : Fault::non_finite, .tensor = specs[k].name, .index = index_text(i, specs[k].dims), .expected = digits(want), .got = digits(got), .bound = digits(bound), .inputs = inputs});
            break;
          }
        }
      }
    }
  }
  return results;
}

}  // namespace klab
