// Makes a wrong kernel from a rung and the lines in which it differs (tests/mutants/README.md says how these are written).
//
//   apply_hunks <root of the checkout> <file with hunks> <kernel to write> <list of files that it depends on>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

using Lines = std::vector<std::string>;

struct Hunk {
  int line = 0;  // where it begins in its file
  Lines before, after;
  bool only_adds = true;
};

struct Mutant {
  std::string file;
  Lines head;  // comments: the mistake, and the fault that it is caught as
  std::string rung, spec;
  std::vector<Hunk> hunks;
};

[[noreturn]] void fail(const std::string& file, int line, const std::string& text) {
  throw std::runtime_error(file + ":" + std::to_string(line) + ": " + text);
}

Lines read(const fs::path& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  Lines lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Returns the text behind `word` and a blank, or an empty string if the line begins with something else.
std::string behind(const std::string& line, const std::string& word) {
  return line.starts_with(word + " ") ? line.substr(word.size() + 1) : "";
}

Mutant parse(const fs::path& path) {
  Mutant m{.file = path.string(), .head = {}, .rung = {}, .spec = {}, .hunks = {}};
  int number = 0;
  for (const std::string& line : read(path)) {
    ++number;
    if (line == "@@") {
      m.hunks.push_back({.line = number, .before = {}, .after = {}, .only_adds = true});
    } else if (!m.hunks.empty()) {
      Hunk& hunk = m.hunks.back();
      const char kind = line.empty() ? ' ' : line[0];
      if (kind != ' ' && kind != '-' && kind != '+')
        fail(m.file, number, "a line of a hunk begins with a blank, '-' or '+': '" + line + "'");
      const std::string text = line.empty() ? "" : line.substr(1);
      if (kind != '+') hunk.before.push_back(text), hunk.only_adds = false;
      if (kind != '-') hunk.after.push_back(text);
    } else if (line.starts_with("//")) {
      m.head.push_back(line);
    } else if (const std::string rung = behind(line, "rung"); !rung.empty()) {
      m.rung = rung;
    } else if (const std::string spec = behind(line, "registers"); !spec.empty()) {
      m.spec = spec;
    } else {
      fail(m.file, number, "expected '// ...', 'rung ID', 'registers {...}' or '@@', not '" + line + "'");
    }
  }
  if (m.head.empty()) fail(m.file, 1, "says no mistake: begin with a line '// ID: what is wrong'");
  if (m.rung.empty())
    fail(m.file, 1, "names no rung: add a line 'rung ID', for example 'rung matmul.cpu.01_naive'");
  return m;
}

/// Returns the file of a rung, or of a kernel next to the mutants, right or wrong.
fs::path file_of(const fs::path& root, const Mutant& m) {
  std::string path = m.rung;
  for (char& c : path)
    if (c == '.') c = '/';
  for (const char* room : {"kernels", "tests/mutants"})
    for (const char* extension : {".cpp", ".cu"})
      if (fs::exists(root / room / (path + extension))) return root / room / (path + extension);
  fail(m.file, 1, "its rung " + m.rung + " has no file; name the rung that the mistake is made in now");
}

std::vector<size_t> places_of(const Lines& part, const Lines& text) {
  std::vector<size_t> places;
  for (size_t i = 0; i + part.size() <= text.size(); ++i)
    if (std::equal(part.begin(), part.end(), text.begin() + long(i))) places.push_back(i);
  return places;
}

/// Returns the one place of a hunk's old lines in its rung; 0 for a hunk that only adds lines.
size_t place_of(const Mutant& m, size_t index, const fs::path& rung, const Lines& text) {
  const Hunk& hunk = m.hunks[index];
  if (hunk.only_adds) return 0;
  const auto places = places_of(hunk.before, text);
  if (places.size() == 1) return places[0];
  std::string old;
  for (const std::string& line : hunk.before) old += "\n  " + line;
  fail(m.file, hunk.line,
       "hunk " + std::to_string(index + 1) + " of mutant " + fs::path(m.file).stem().string() +
           " does not apply: " + rung.string() + " holds its old lines " +
           (places.empty() ? "nowhere; write the hunk for the rung as it is now."
                           : std::to_string(places.size()) + " times; add lines around them.") +
           " The old lines:" + old);
}

/// Puts the parts that the rung shares with others (NN_name-inl.h, harness/step/bodies.h) in place of their includes, without the
/// comment that each begins with. Their files join `parts`.
Lines with_parts(const fs::path& root, const Lines& text, std::vector<fs::path>& parts) {
  const std::string begin = "#include \"kernels/", end = "-inl.h\"";
  Lines all;
  for (const std::string& line : text) {
    const size_t name = line.rfind('/') + 1;
    if (!line.starts_with(begin) || !line.ends_with(end) || std::isdigit(line[name]) == 0) {
      all.push_back(line);
      continue;
    }
    parts.push_back(root / line.substr(10, line.size() - 11));
    Lines part = read(parts.back());
    size_t head = 0;
    while (head < part.size() && (part[head].empty() || part[head].starts_with("//"))) ++head;
    all.insert(all.end(), part.begin() + long(head), part.end());
  }
  return all;
}

/// Applies all hunks to the text of the rung. Their places are those in the unchanged rung.
void apply(const Mutant& m, const fs::path& rung, Lines& text) {
  std::vector<std::pair<size_t, size_t>> places;  // line of the rung, hunk
  for (size_t i = 0; i < m.hunks.size(); ++i) places.emplace_back(place_of(m, i, rung, text), i);
  std::sort(places.begin(), places.end());
  size_t end = text.size();
  for (size_t i = places.size(); i-- > 0;) {
    const Hunk& hunk = m.hunks[places[i].second];
    const auto at = text.begin() + long(places[i].first);
    if (places[i].first + hunk.before.size() > end)
      fail(m.file, hunk.line,
           "hunk " + std::to_string(places[i].second + 1) + " overlaps the next; write one for both");
    end = places[i].first;
    text.insert(text.erase(at, at + long(hunk.before.size())), hunk.after.begin(), hunk.after.end());
  }
}

/// Returns the fields of a registration "{.run = run, .tiles = {8}}" but those that say where a rung stands in its ladder.
std::string without_ladder(const std::string& spec) {
  std::string kept, field;
  int depth = 0;
  for (const char c : spec.substr(1)) {
    if (depth == 0 && (c == ',' || c == '}')) {
      const size_t begin = field.find_first_not_of(" \n");
      bool drop = begin == field.npos;
      for (const char* name : {".parent ", ".expect ", ".when ", ".was ", ".peer "})
        drop = drop || field.compare(begin, std::string(name).size(), name) == 0;
      if (!drop) kept += (kept.empty() ? "" : ", ") + field.substr(begin);
      field.clear();
      if (c == '}') break;
      continue;
    }
    depth += (c == '{' || c == '(') - (c == '}' || c == ')');
    field += c;
  }
  return "{" + kept + "}";
}

/// Registers the mutant instead of its rung: CUDA kernels as any variant, CPU kernels with the fault that their head states.
void register_mutant(const Mutant& m, bool cuda, Lines& text) {
  size_t first = 0;
  while (first < text.size() && !text[first].starts_with("KLAB_VARIANT(")) ++first;
  size_t last = first;
  std::string statement;
  for (; last < text.size(); ++last) {
    statement += (last == first ? "" : " ") + text[last].substr(text[last].find_first_not_of(' '));
    if (text[last].ends_with(");")) break;
  }
  const size_t comma = statement.find(", {");
  if (last >= text.size() || comma == statement.npos)
    fail(m.file, 1, "its rung " + m.rung + " registers no variant");
  const std::string contract = statement.substr(13, comma - 13);
  const std::string spec =
      m.spec.empty() ? without_ladder(statement.substr(comma + 2, statement.size() - comma - 4)) : m.spec;
  std::string macro = "KLAB_VARIANT(" + contract;
  if (!cuda) {
    std::string fault;
    for (const std::string& line : m.head)
      if (const size_t at = line.find("Fault::"); at != line.npos && fault.empty())
        for (size_t i = at + 7; i < line.size() && (std::isalnum(line[i]) || line[i] == '_'); ++i)
          fault += line[i];
    if (fault.empty())
      fail(m.file, 1, "says no fault: add a line '// Must be caught as Fault::wrong_value.' or another");
    macro = "KLAB_MUTANT(" + contract + ", Fault::" + fault;
  }
  text.erase(text.begin() + long(first), text.begin() + long(last) + 1);
  text.insert(text.begin() + long(first), macro + ", " + spec + ");");
  if (!cuda) text.insert(text.begin(), "#include \"tests/mutants/mutant.h\"");
}

void make(const fs::path& root, const fs::path& hunks, const fs::path& out, const fs::path& dependencies) {
  const Mutant mutant = parse(hunks);
  const fs::path rung = file_of(root, mutant);
  std::vector<fs::path> parts;
  Lines text = with_parts(root, read(rung), parts);
  size_t head = 0;
  while (head < text.size() && text[head].starts_with("//")) ++head;
  text.erase(text.begin(), text.begin() + long(head));
  apply(mutant, rung, text);
  register_mutant(mutant, rung.extension() == ".cu", text);
  text.insert(text.begin(), mutant.head.begin(), mutant.head.end());
  fs::create_directories(out.parent_path());
  // A kernel that is the same already stays as old as it is, so that it is not compiled again.
  const bool same = fs::exists(out) && read(out) == text;
  std::ofstream file(out, same ? std::ios::app : std::ios::trunc);
  for (const std::string& line : text)
    if (!same) file << line << "\n";
  std::ofstream list(dependencies);
  list << out.string() << ": " << hunks.string() << " " << rung.string();
  for (const fs::path& part : parts) list << " " << part.string();
  list << "\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + out.string());
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) throw std::runtime_error("usage: apply_hunks ROOT HUNKS KERNEL DEPENDENCIES");
  make(argv[1], argv[2], argv[3], argv[4]);
  return 0;
} catch (const std::exception& e) {
  std::cerr << e.what() << "\n";
  return 2;
}
