// Splits a kernel into the function that runs one thread and the function that launches it.
#include <algorithm>
#include <array>

#include "harness/cuda_compiler/rewriter.h"

namespace klab::cuda_compiler {
namespace {

struct Named {
  std::string text;  // "const float* a", without a default
  std::string name;
  bool pack = false;
  std::string standard;  // "= 3", the default, or nothing
};

constexpr std::array kTypeWords = {"typename", "class",  "int",   "unsigned", "bool",    "char",
                                   "short",    "long",   "float", "double",   "signed",  "size_t",
                                   "auto",     "struct", "const", "volatile", "wchar_t", "void"};

bool is_type_word(std::string_view w) { return std::ranges::find(kTypeWords, w) != kTypeWords.end(); }

/// Splits tokens [from, to) at commas outside all brackets.
std::vector<std::pair<size_t, size_t>> at_commas(const Source& s, size_t from, size_t to) {
  std::vector<std::pair<size_t, size_t>> list;
  size_t begin = from;
  int angles = 0;
  for (size_t k = from; k < to; ++k) {
    if (s.is(k, "(") || s.is(k, "[") || s.is(k, "{")) {
      k = s.close_of(k);
    } else if (s.is(k, "<")) {
      ++angles;
    } else if (s.is(k, ">")) {
      --angles;
    } else if (s.is(k, ",") && angles == 0) {
      list.emplace_back(begin, k);
      begin = k + 1;
    }
  }
  if (begin < to) list.emplace_back(begin, to);
  return list;
}

/// Parses one parameter of a template or of a function. An unnamed one gets the name `own`.
Named parameter(const Source& s, size_t from, size_t to, const std::string& own) {
  size_t end = from;  // before a default
  int angles = 0;
  for (; end < to; ++end) {
    if (s.is(end, "(") || s.is(end, "[") || s.is(end, "{")) end = s.close_of(end);
    if (s.is(end, "<")) ++angles;
    if (s.is(end, ">")) --angles;
    if (s.is(end, "=") && angles == 0) break;
  }
  Named p;
  if (end < to) p.standard = s.plain(end, to);
  for (size_t k = from; k + 2 < end; ++k)
    if (s.is(k, ".") && s.is(k + 1, ".") && s.is(k + 2, ".")) p.pack = true;
  for (size_t k = from; k < end; ++k)  // float (*f)(float)
    if (s.is(k, "(") && (s.is(k + 1, "*") || s.is(k + 1, "&")) && s[k + 2].word()) {
      p.name = s[k + 2].text;
      p.text = s.plain(from, end);
      return p;
    }
  size_t last = end;
  while (last > from && s.is(last - 1, "]")) last = s.open_of(last - 1);
  // "T const x" has a name, "const T" has none: const and volatile follow a type or nothing.
  size_t type = last > from ? last - 1 : from;
  while (type > from && (s.is(type - 1, "const") || s.is(type - 1, "volatile"))) --type;
  const bool named =
      type > from && s[last - 1].word() && !is_type_word(s[last - 1].text) && !s.is(last - 2, "::");
  if (named) {
    p.name = s[last - 1].text;
    p.text = s.plain(from, end);
  } else {
    p.name = own;
    p.text = s.plain(from, last) + " " + own + s.plain(last, end);
  }
  return p;
}

enum class Joined { names, parameters };

std::string joined(const std::vector<Named>& list, Joined what) {
  std::string text;
  for (const Named& p : list) {
    if (!text.empty()) text += ", ";
    text += what == Joined::names ? p.name + (p.pack ? "..." : "")
                                  : p.text + (p.standard.empty() ? "" : " " + p.standard);
  }
  return text;
}

/// The positions of a kernel's parts before its body.
struct Head {
  size_t behind_templates = 0;  // first token after template<...>
  std::vector<Named> template_parameters;
  bool is_template = false, specialized = false;
  size_t name = 0, open = 0, close = 0;
  std::string bounds = "0";
  std::string cluster;  // "2, 1, 1"
};

Head parse(const Source& s, size_t head) {
  Head h;
  h.behind_templates = head;
  if (s.is(head, "template") && s.is(head + 1, "<")) {
    h.is_template = true;
    h.behind_templates = s.behind_angles(head + 1);
    h.specialized = h.behind_templates == head + 3;
    int number = 0;
    for (const auto& [from, to] : at_commas(s, head + 2, h.behind_templates - 1))
      h.template_parameters.push_back(parameter(s, from, to, "klab_t" + std::to_string(number++)));
  }
  for (size_t k = h.behind_templates; k < s.size(); ++k) {
    if (s.is(k, "__launch_bounds__")) {
      h.bounds = s.plain(k + 2, at_commas(s, k + 2, s.close_of(k + 1)).front().second);
      k = s.close_of(k + 1);
    } else if (s.is(k, "__cluster_dims__")) {
      h.cluster = s.plain(k + 2, s.close_of(k + 1));
      k = s.close_of(k + 1);
    } else if (s.is(k, "__attribute__") || s.is(k, "alignas") || s.is(k, "__maxnreg__") ||
               s.is(k, "decltype")) {
      k = s.close_of(k + 1);
    } else if (s.is(k, "<")) {
      k = s.behind_angles(k) - 1;
    } else if (s.is(k, "(")) {
      h.open = k;
      break;
    } else if (s.is(k, ";") || s.is(k, "{")) {
      s.fail(k, "no parameters behind __global__");
    } else if (s[k].word()) {
      h.name = k;
    }
  }
  h.close = s.close_of(h.open);
  return h;
}

}  // namespace

size_t rewrite_kernel(Source& s, size_t head, size_t word, int number) {
  const Head h = parse(s, head);
  size_t body = h.close + 1;
  while (body < s.size() && !s.is(body, "{") && !s.is(body, ";")) ++body;
  if (body == s.size() || s.is(body, ";")) {  // a declaration or an instantiation
    for (size_t k = head; k < h.open; ++k) {
      if (s.is(k, "__global__") || s.is(k, "__host__") || s.is(k, "__device__")) s.remove(k);
      if (s.is(k, "__forceinline__")) s.replace(k, k + 1, "inline");
      if (s.is(k, "__launch_bounds__") || s.is(k, "__maxnreg__") || s.is(k, "__cluster_dims__"))
        s.replace(k, s.close_of(k + 1) + 1, "");
    }
    return Source::kNone;
  }
  (void)word;
  const std::string own = std::string(s[h.name].text) + "__klab" + std::to_string(number);
  std::vector<Named> parameters;
  std::string constants;  // statements that name the __grid_constant__ parameters
  int unnamed = 0;
  for (const auto& [from, to] : at_commas(s, h.open + 1, h.close)) {
    if (to == from + 1 && s.is(from, "void")) continue;
    parameters.push_back(parameter(s, from, to, "klab_p" + std::to_string(unnamed++)));
    const std::string& name = parameters.back().name;
    for (size_t k = from; k < to && !parameters.back().pack; ++k)
      if (s.is(k, "__grid_constant__") && !name.starts_with("klab_p"))
        constants += " ::klab::simt::grid_constant(&" + name + ", sizeof " + name + ");";
  }
  if (!constants.empty()) s.insert_behind(body, constants);
  // The launching function, with the head as written. A kernel that launches itself needs its declaration first.
  const bool launches_itself = !h.specialized && [&] {
    for (size_t k = body; k < s.close_of(body); ++k)
      if (s.is(k, s[h.name].text) && s.is(k + 1, "<")) return true;
    return false;
  }();
  std::string launcher = " " + s.plain(head, h.open);
  std::string again = launcher;           // without defaults
  if (h.is_template && !h.specialized) {  // unnamed parameters have been named; defaults are kept
    std::string list, plain;
    int t = 0;
    for (const auto& [from, to] : at_commas(s, head + 2, h.behind_templates - 1)) {
      const Named& p = h.template_parameters[size_t(t++)];
      size_t end = from;
      while (end < to && !s.is(end, "=")) ++end;
      plain += (plain.empty() ? "" : ", ") + p.text;
      list += (list.empty() ? "" : ", ") + p.text +
              (s.plain(from, to).find('=') != std::string::npos && end < to ? " " + s.plain(end, to) : "");
    }
    launcher = " template <" + list + "> " + s.plain(h.behind_templates, h.open);
    again = " template <" + plain + "> " + s.plain(h.behind_templates, h.open);
  }
  launcher += "(" + joined(parameters, Joined::parameters);
  if (launches_itself) {
    s.insert_before(head, launcher + ");");
    for (Named& p : parameters) p.standard.clear();
    launcher = again + "(" + joined(parameters, Joined::parameters);
  }
  const std::string bounds =
      h.cluster.empty() ? h.bounds : "::klab::program::Bounds(" + h.bounds + ", " + h.cluster + ")";
  launcher += ") { ::klab::program::launch(" + bounds + ", &" + own;
  if (h.is_template && !h.specialized) launcher += "<" + joined(h.template_parameters, Joined::names) + ">";
  if (!parameters.empty()) launcher += ", " + joined(parameters, Joined::names);
  launcher += "); }";
  // The function that runs one thread: static, with a name of its own.
  if (h.specialized) s.replace(head, h.behind_templates, "");
  for (size_t k = h.behind_templates; k < h.name; ++k) {
    if (s.is(k, "__global__"))
      s.replace(k, k + 1, "static");
    else if (s.is(k, "static") || s.is(k, "inline") || s.is(k, "__inline__") || s.is(k, "__forceinline__") ||
             s.is(k, "__host__") || s.is(k, "__device__"))
      s.remove(k);
    else if (s.is(k, "extern"))
      s.replace(k, k + (s[k + 1].kind == TokenKind::text ? 2 : 1), "");
    else if (s.is(k, "__launch_bounds__") || s.is(k, "__maxnreg__") || s.is(k, "__cluster_dims__"))
      s.replace(k, s.close_of(k + 1) + 1, "");
  }
  s.replace(h.name, h.open, own);
  s.insert_behind(s.close_of(body), launcher);
  return h.open;
}

namespace {

/// Returns the first token of the expression that ends at i and names a kernel: a<b>::c<d>, x.f, (*p),
/// table[2].
size_t expression_begin(const Source& s, size_t i) {
  size_t k = i;
  for (;;) {
    if (s.is(k, ">")) {
      k = s.angle_open_of(k) - 1;
      continue;
    }
    if (s.is(k, ")") || s.is(k, "]")) {
      const size_t open = s.open_of(k);
      if (open > 0 && (s[open - 1].word() || s.is(open - 1, ")") || s.is(open - 1, "]")) &&
          !s.is(open - 1, "return") && !s.is(open - 1, "else")) {
        k = open - 1;
        continue;
      }
      k = open;
    } else if (!s[k].word()) {
      s.fail(i, "what stands before <<< names no kernel");
    }
    if (k == 0) return k;
    if (s.is(k - 1, "template") && k > 1) --k;
    if (s.is(k - 1, ".") || s.is(k - 1, "->")) {
      k -= 2;
      continue;
    }
    if (s.is(k - 1, "::")) {
      if (k > 1 && (s[k - 2].word() || s.is(k - 2, ">")) && !s.is(k - 2, "return") && !s.is(k - 2, "else")) {
        k -= 2;
        continue;
      }
      return k - 1;
    }
    return k;
  }
}

}  // namespace

void rewrite_launch(Source& s, size_t i) {
  size_t end = i + 3;
  for (; end < s.size(); ++end) {
    if (s.is(end, "(") || s.is(end, "[") || s.is(end, "{")) end = s.close_of(end);
    if (s.is(end, ";")) s.fail(i, "no >>> closes this <<<");
    if (s.is(end, ">") && s.is(end + 1, ">") && s.is(end + 2, ">") && s.is(end + 3, "(")) break;
  }
  if (end >= s.size()) s.fail(i, "no >>> closes this <<<");
  const size_t begin = expression_begin(s, i - 1), open = end + 3;
  s.insert_before(begin, "(::klab::program::configure(" + s.plain(i + 3, end) + "), ");
  s.replace(i, open, "");
  s.insert_behind(s.close_of(open), ")");
}

}  // namespace klab::cuda_compiler
