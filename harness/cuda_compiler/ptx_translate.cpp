#include <cctype>
#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>

#include "harness/cuda_compiler/ptx.h"
#include "harness/cuda_compiler/ptx_parts.h"

namespace klab::cuda_compiler {
namespace {

std::string without_comments(const std::string& text) {
  std::string out;
  for (size_t k = 0; k < text.size();) {
    if (text.compare(k, 2, "//") == 0) {
      while (k < text.size() && text[k] != '\n') ++k;
    } else if (text.compare(k, 2, "/*") == 0) {
      const size_t end = text.find("*/", k + 2);
      k = end == std::string::npos ? text.size() : end + 2;
    } else {
      out += text[k++];
    }
  }
  return out;
}

/// Splits the text into statements, without the braces of enclosing scopes.
std::vector<std::string> ptx_statements(const std::string& text) {
  std::vector<std::string> list;
  std::string one;
  for (const char c : without_comments(text) + ";") {
    if (c != ';') {
      one += c == '\n' || c == '\t' ? ' ' : c;
      continue;
    }
    one = ptx_trimmed(one);
    while (!one.empty() && (one[0] == '{' || one[0] == '}')) one = ptx_trimmed(one.substr(1));
    if (!one.empty()) list.push_back(one);
    one.clear();
  }
  return list;
}

std::vector<std::string> ptx_operands(const std::string& text) {
  std::vector<std::string> list;
  std::string one;
  int depth = 0;
  for (const char c : text) {
    depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) {
      list.push_back(ptx_trimmed(one));
      one.clear();
    } else {
      one += c;
    }
  }
  if (one = ptx_trimmed(one); !one.empty()) list.push_back(one);
  return list;
}

PtxInstruction ptx_parsed(const std::string& text) {
  PtxInstruction i{.text = text, .parts = {}, .operands = {}};
  const size_t space = text.find(' ');
  std::string part;
  for (const char c : text.substr(0, space) + ".") {
    if (c == '.') {
      if (!part.empty()) i.parts.push_back(part);
      part.clear();
    } else {
      part += c;
    }
  }
  if (space != std::string::npos) i.operands = ptx_operands(text.substr(space));
  return i;
}

/// Translates a declaration: `.reg .b32 a, b<3>;`.
std::string ptx_declared(const std::string& text, PtxNames& names) {
  const size_t dot = text.find('.', 1), space = text.find(' ', dot);
  if (dot == std::string::npos || space == std::string::npos) throw std::invalid_argument(text);
  const std::string type = ptx_type(text.substr(dot + 1, space - dot - 1));
  if (type.empty()) throw std::invalid_argument(text);
  std::string code;
  const auto one = [&](const std::string& name) {
    names.declare(name);
    code += "[[maybe_unused]] " + type + " " + names.value(name) + "{};";
  };
  for (const std::string& name : ptx_operands(text.substr(space))) {
    const size_t open = name.find('<');
    if (open == std::string::npos) {
      one(name);
      continue;
    }
    for (int k = 0; k < std::atoi(name.c_str() + open + 1); ++k)
      one(name.substr(0, open) + std::to_string(k));
  }
  return code;
}

/// Name of a label in C++. `%=` makes a name unique in nvcc's output; here a label belongs to its statement anyway.
std::string ptx_label(const std::string& name) {
  std::string label = "klab_label_";
  for (const char c : ptx_trimmed(name)) label += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return label;
}

/// Splits "name: instruction"; the position of the colon, or npos.
size_t ptx_colon(const std::string& text) {
  size_t k = 0;
  while (k < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[k])) != 0 || std::strchr("_$%=", text[k]) != nullptr))
    ++k;
  size_t colon = k;
  while (colon < text.size() && text[colon] == ' ') ++colon;
  const bool one =
      colon < text.size() && text[colon] == ':' && (colon + 1 == text.size() || text[colon + 1] != ':');
  return k > 0 && one ? colon : std::string::npos;
}

std::string ptx_translated(const std::string& text, PtxNames& names) {
  if (text.starts_with(".reg")) return ptx_declared(text, names);
  if (const size_t colon = ptx_colon(text); colon != std::string::npos) {
    std::string rest = ptx_trimmed(text.substr(colon + 1));
    while (!rest.empty() && (rest[0] == '{' || rest[0] == '}')) rest = ptx_trimmed(rest.substr(1));
    return ptx_label(text.substr(0, colon)) + ":; " + (rest.empty() ? "" : ptx_translated(rest, names));
  }
  if (text[0] == '@') {
    const size_t space = text.find(' ');
    if (space == std::string::npos) throw std::invalid_argument(text);
    return "if (" + names.value(text.substr(1, space - 1)) + ") { " +
           ptx_translated(ptx_trimmed(text.substr(space)), names) + " }";
  }
  const PtxInstruction i = ptx_parsed(text);
  if (i.parts.empty()) throw std::invalid_argument(text);
  if (i.op() == "bra" && i.operands.size() == 1) return "goto " + ptx_label(i.operands[0]) + ";";
  try {
    for (const auto part : {ptx_arithmetic, ptx_memory, ptx_matrices, ptx_warp, ptx_async})
      if (std::string code = part(i, names); !code.empty()) return code;
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument(text + ": " + e.what());
  }
  throw std::invalid_argument(text);
}

}  // namespace

std::string translate_ptx(const std::string& text) {
  PtxNames names;
  // Declarations come first, so that no branch enters their scope; a branch goes to a label of the same statement.
  std::string declarations, code, labels;
  std::set<std::string> known, wanted;
  for (const std::string& s : ptx_statements(text)) {
    (s.starts_with(".reg") ? declarations : code) += ptx_translated(s, names) + " ";
    if (const size_t colon = ptx_colon(s); colon != std::string::npos) {
      if (!known.insert(ptx_label(s.substr(0, colon))).second) throw std::invalid_argument(s);
      labels += (labels.empty() ? "" : ", ") + ptx_label(s.substr(0, colon));
    }
    if (const size_t goes = s.find("bra");
        goes == 0 || (s[0] == '@' && goes != std::string::npos && s[goes - 1] == ' '))
      if (const PtxInstruction i = ptx_parsed(s.substr(goes));
          i.op() == "bra" && i.operands.size() == 1 && wanted.insert(ptx_label(i.operands[0])).second &&
          text.find(i.operands[0] + ":") == std::string::npos &&
          text.find(i.operands[0] + " :") == std::string::npos)
        throw std::invalid_argument(s + ": the label is not in this statement");
  }
  code = declarations + code;
  if (code.find("klab_carry") != std::string::npos) code = "bool klab_carry = false; " + code;
  if (!labels.empty()) code = "__label__ " + labels + "; " + code;
  return code;
}

}  // namespace klab::cuda_compiler
