#include "harness/step/mutations.h"

#include <algorithm>
#include <random>
#include <regex>
#include <sstream>

namespace klab {
namespace {

struct Exchange {
  const char *from, *to;
};
// With spaces: clang-format puts them around binary operators only.
constexpr Exchange kOperators[] = {
    {" < ", " <= "},          {" <= ", " < "},         {" > ", " >= "},  {" >= ", " > "},  {" == ", " != "},
    {" != ", " == "},         {" + ", " - "},          {" - ", " + "},   {" * ", " / "},   {" / ", " * "},
    {" % ", " / "},           {" += ", " = "},         {" += ", " -= "}, {" -= ", " += "}, {" *= ", " = "},
    {" && ", " || "},         {" || ", " && "},        {" << ", " >> "}, {" >> ", " << "}, {" & ", " | "},
    {"std::min", "std::max"}, {"std::max", "std::min"}};

// Matches synchronization between threads. The first group is the text to remove.
const std::regex& synchronization() {
  static const std::regex form(
      R"(#pragma omp (barrier|critical|atomic|ordered)\b.*|)"
      R"(\breduction\([^)]*\)|)"
      R"(\b(__syncthreads|__syncwarp|__threadfence|__threadfence_block)\([^;]*\);|)"
      R"(\b[A-Za-z_:]*(cp_async_wait|wait_group|pipeline_wait|copy_wait)[A-Za-z_]*(<[^>]*>)?\([^;]*\);)");
  return form;
}

const std::regex& atomic_add() {
  static const std::regex form(R"(\batomicAdd\((&?)(.+), ([^,]+)\);)");
  return form;
}

// Matches a store: an assignment that declares nothing.
const std::regex& store() {
  static const std::regex form(
      R"(^\s*(?!return|const\b|auto\b|using\b|static\b|for\b|if\b|while\b|else\b)[A-Za-z_*(][\w\[\]\.\->*()+ %/,:&]*[\])\w] [-+*/|&^]?= [^;]*;\s*$)");
  return form;
}

// Returns whether the line is a declaration: "float sum = 0;" is not a store.
bool declares(const std::string& line) {
  static const std::regex form(R"(^\s*[A-Za-z_][\w:<>, ]*[&*]* [&*]*[A-Za-z_]\w* = .*)");
  static const std::regex member(R"(^\s*[\w.\->]+(\[.*\])? [-+*/|&^]?= .*)");
  return std::regex_match(line, form) && !std::regex_match(line, member);
}

const std::regex& number() {
  static const std::regex form(
      R"((^|[^\w.'])(\d+\.\d*(?:[eE][-+]?\d+)?F?|\.\d+F?|0[xX][0-9a-fA-F]+|\d+)(?![\w.']))");
  return form;
}

std::string unindented(const std::string& line) {
  const size_t begin = line.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : line.substr(begin);
}

/// Returns the text with comments and quoted text blanked out, at the same length.
std::string code_of(const std::string& source) {
  std::string code = source;
  enum class In { program, line, block, text, letter } in = In::program;
  for (size_t i = 0; i < code.size(); ++i) {
    const char c = source[i], next = i + 1 < source.size() ? source[i + 1] : '\0';
    const bool digit_separator =
        c == '\'' && i > 0 && std::isalnum(static_cast<unsigned char>(source[i - 1])) != 0;
    if (in == In::program) {
      if (c == '/' && next == '/')
        in = In::line;
      else if (c == '/' && next == '*')
        in = In::block;
      else if (c == '"')
        in = In::text;
      else if (c == '\'' && !digit_separator)
        in = In::letter;
      else
        continue;
      code[i] = ' ';
      continue;
    }
    if (c == '\n') {
      if (in == In::line) in = In::program;
      continue;
    }
    code[i] = ' ';
    if (in == In::block && c == '*' && next == '/') code[++i] = ' ', in = In::program;
    if ((in == In::text || in == In::letter) && c == '\\')
      code[++i] = ' ';
    else if ((in == In::text && c == '"') || (in == In::letter && c == '\''))
      in = In::program;
  }
  return code;
}

class Maker {
 public:
  explicit Maker(const std::string& source) : lines_(split(source)), code_(split(code_of(source))) {}

  std::vector<Mutation> make() {
    for (line_ = 0; line_ < code_.size(); ++line_) {
      const std::string& code = code_[line_];
      const std::string text = unindented(code);
      if (text.starts_with("KLAB_VARIANT")) break;  // last statement of a file
      synchronizations(code);
      if (text.empty() || text.starts_with("#") || text.starts_with("namespace") ||
          text.starts_with("using") || text.starts_with("static_assert") || text.starts_with("HWY_") ||
          text.starts_with("KLAB_SIMD_") || text.starts_with("template"))
        continue;
      operators(code);
      bounds(code);
      numbers(code);
      stores(code);
    }
    return std::move(list_);
  }

 private:
  static std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  void add(const std::string& what, const std::vector<std::pair<size_t, std::string>>& changed) {
    std::string text;
    for (size_t i = 0; i < lines_.size(); ++i) {
      const auto found = std::ranges::find(changed, i, &std::pair<size_t, std::string>::first);
      text += (found == changed.end() ? lines_[i] : found->second) + "\n";
    }
    list_.push_back({int(line_) + 1, what, unindented(lines_[line_]), std::move(text)});
  }

  void replace(size_t at, size_t length, const std::string& with, const std::string& what) {
    std::string line = lines_[line_];
    line.replace(at, length, with);
    add(what, {{line_, line}});
  }

  void operators(const std::string& code) {
    for (const auto& [from, to] : kOperators) {
      const std::string word = from;
      for (size_t at = code.find(word); at != std::string::npos; at = code.find(word, at + 1))
        replace(at, word.size(), to,
                unindented(word).substr(0, unindented(word).find(' ')) + " becomes " +
                    unindented(to).substr(0, unindented(to).find(' ')));
    }
  }

  /// Changes bounds of loops and guards: "i < n;" to "i < n - 1;" and "+ 1".
  void bounds(const std::string& code) {
    static const std::regex form(R"((for|while|if) ?\(.*[<>]=? )");
    static const std::regex loop(R"(<=? ([\w.\[\]]+)(?=;|\)| &&))");
    if (!std::regex_search(code, form)) return;
    for (std::sregex_iterator m(code.begin(), code.end(), loop), end; m != end; ++m)
      for (const char* by : {" - 1", " + 1"})
        replace(size_t(m->position(1) + m->length(1)), 0, by, m->str(1) + " becomes " + m->str(1) + by);
  }

  void numbers(const std::string& code) {
    for (std::sregex_iterator m(code.begin(), code.end(), number()), end; m != end; ++m) {
      const std::string was = m->str(2);
      const auto at = size_t(m->position(2));
      if (was.find_first_of(".eE") != std::string::npos && !was.starts_with("0x") && !was.starts_with("0X")) {
        const std::string by = was.ends_with("F") ? "1.001F" : "1.001";
        replace(at, was.size(), "(" + was + " * " + by + ")", was + " becomes " + was + " * 1.001");
        continue;
      }
      replace(at, was.size(), "(" + was + " + 1)", was + " becomes " + was + " + 1");
      if (was != "0") replace(at, was.size(), "(" + was + " - 1)", was + " becomes " + was + " - 1");
    }
  }

  void synchronizations(const std::string& code) {
    for (std::sregex_iterator m(code.begin(), code.end(), synchronization()), end; m != end; ++m) {
      const std::string gone = unindented(m->str());
      replace(size_t(m->position()), size_t(m->length()), gone.ends_with(";") ? ";" : "",
              gone.substr(0, gone.find(';')) + " is gone");
    }
    for (std::sregex_iterator m(code.begin(), code.end(), atomic_add()), end; m != end; ++m)
      replace(size_t(m->position()), size_t(m->length()),
              (m->length(1) > 0 ? "" : "*") + ("(" + m->str(2) + ")") + " += " + m->str(3) + ";",
              "an atomic addition becomes a plain one");
  }

  void stores(const std::string& code) {
    if (!std::regex_match(code, store()) || declares(code)) return;
    const size_t indent = code.find_first_not_of(' ');
    const size_t before = line_ == 0 ? 0 : code_[line_ - 1].find_last_not_of(' ');
    // The only statement after the head of a loop or condition is its body.
    const bool body = line_ > 0 && before != std::string::npos && code_[line_ - 1][before] == ')';
    replace(indent, code.size() - indent, body ? "{}" : ";", "the statement is gone");
    if (line_ + 1 >= code_.size() || body) return;
    const std::string& next = code_[line_ + 1];
    if (next.find_first_not_of(' ') == indent && std::regex_match(next, store()) && !declares(next))
      add("this statement and the next change places",
          {{line_, lines_[line_ + 1]}, {line_ + 1, lines_[line_]}});
  }

  std::vector<std::string> lines_, code_;
  size_t line_ = 0;
  std::vector<Mutation> list_;
};

}  // namespace

std::vector<Mutation> mutations_of(const std::string& source) { return Maker(source).make(); }

std::vector<Mutation> sampled(std::vector<Mutation> all, size_t most, uint64_t seed) {
  if (most == 0 || all.size() <= most) return all;
  std::vector<Mutation> some;
  std::mt19937_64 random(seed);
  std::ranges::sample(all, std::back_inserter(some), std::ptrdiff_t(most), random);  // keeps the order
  return some;
}

}  // namespace klab
