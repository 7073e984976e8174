#include <cctype>
#include <cstdlib>
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

std::string ptx_translated(const std::string& text, PtxNames& names) {
  if (text.starts_with(".reg")) return ptx_declared(text, names);
  if (text[0] == '@') {
    const size_t space = text.find(' ');
    if (space == std::string::npos) throw std::invalid_argument(text);
    return "if (" + names.value(text.substr(1, space - 1)) + ") { " +
           ptx_translated(ptx_trimmed(text.substr(space)), names) + " }";
  }
  const PtxInstruction i = ptx_parsed(text);
  if (i.parts.empty()) throw std::invalid_argument(text);
  try {
    for (const auto part : {ptx_arithmetic, ptx_memory, ptx_matrices, ptx_warp})
      if (std::string code = part(i, names); !code.empty()) return code;
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument(text + ": " + e.what());
  }
  throw std::invalid_argument(text);
}

}  // namespace

std::string translate_ptx(const std::string& text) {
  PtxNames names;
  std::string code;
  for (const std::string& s : ptx_statements(text)) code += ptx_translated(s, names) + " ";
  if (code.find("klab_carry") != std::string::npos) code = "bool klab_carry = false; " + code;
  return code;
}

}  // namespace klab::cuda_compiler
