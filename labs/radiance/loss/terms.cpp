#include "labs/radiance/loss/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "reference/axpy/axpy.h"
#include "reference/weighted_sum/weighted_sum.h"

namespace klab {
namespace {

std::string need_text(unsigned needs) {
  const std::pair<unsigned, const char*> all[] = {{Term::opacity, "the opacity of rays"},
                                                  {Term::depth, "the expected depth of rays"},
                                                  {Term::true_depth, "pictures with their true depth"},
                                                  {Term::densities, "densities of samples along rays"}};
  std::string text;
  for (const auto& [need, name] : all)
    if (needs & need) text += (text.empty() ? "" : " and ") + std::string(name);
  return text;
}

}  // namespace

const std::array<LossTerm, kLossTerms>& loss_terms() {
#define KLAB_TERM(term) LossTerm{&terms::term, &LossSettings::term},
  static const std::array<LossTerm, kLossTerms> all = {KLAB_LOSS_TERMS(KLAB_TERM)};
#undef KLAB_TERM
  return all;
}

bool has_terms(const LossSettings& c, Term::Where where) {
  return std::ranges::any_of(
      loss_terms(), [&](const LossTerm& each) { return each.term->where == where && c.*each.weight > 0; });
}

bool needs(const LossSettings& c, Term::Need need) {
  return std::ranges::any_of(loss_terms(), [&](const LossTerm& each) {
    return (each.term->needs & need) != 0 && c.*each.weight > 0;
  });
}

void require_given(const LossSettings& c, unsigned given) {
  for (const LossTerm& each : loss_terms())
    if (const unsigned lacking = each.term->needs & ~given; c.*each.weight > 0 && lacking != 0)
      throw std::invalid_argument(
          fmt::format("config: \"{}\" needs {}, and there is none: leave the setting out", each.term->name,
                      need_text(lacking)));
}

std::string need_of_setting(const std::string& name) {
  for (const LossTerm& each : loss_terms())
    if (name == each.term->name) return need_text(each.term->needs);
  return "";
}

std::vector<std::string> with_ops_of_terms(std::vector<std::string> ops, unsigned given) {
  for (const LossTerm& each : loss_terms())
    for (const std::string_view op : each.term->ops)
      if (!op.empty() && (each.term->needs & ~given) == 0 && std::ranges::find(ops, op) == ops.end())
        ops.emplace_back(op);
  return ops;
}

std::string table_of_terms() {
  std::string text =
      "| key | what it asks for | unit | weight | default | try it when |\n|---|---|---|---|---|---|\n";
  for (const LossTerm& each : loss_terms()) {
    const Term& t = *each.term;
    text += fmt::format("| `{}` | {} | {} | {} to {} | {} | {} |\n", t.name, t.help, t.unit, t.low, t.high,
                        t.default_value, t.when_to_try);
  }
  return text;
}

void TermTensors::add_to_loss(Ops& ops, const Handle<float>& of) const {
  for (const Handle<float>& sum : {loss, own_loss})
    ops.call<WeightedSum>({.n = values}, {.weight = weight, .value = of, .sum = sum});
}

void TermTensors::copy(Ops& ops, const Handle<float>& from, const Handle<float>& to) const {
  ops.fill("axpy", to, 0, values.now() * int64_t(sizeof(float)));
  ops.call<Axpy>({.n = values}, {.a = one, .x = from, .y = to});
}

}  // namespace klab
