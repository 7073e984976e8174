#include "harness/step/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <stdexcept>

#include "harness/core/lab.h"
#include "harness/core/registry.h"
#include "harness/core/select.h"
#include "harness/core/source.h"
#include "harness/records/atomic_file.h"
#include "harness/step/arguments.h"
#include "harness/step/mutate.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

constexpr ListingKind kKinds[] = {
    {"uninitialized", "reads what no thread has written"},
    {"race", "threads use one word, with no barrier between"},
    {"divergence", "a barrier that not all threads of the block reach"},
    {"bounds", "reads or writes outside of an array"},
    {"incomplete", "leaves out a part of the formula"},
    {"misplaced", "stores a result where another belongs"},
    {"traffic", "moves more than the simple kernel does, for nothing"},
    {"endless", "a loop that some inputs never end"},
};

constexpr const char* kFault = "// FAULT";
constexpr const char* kRepair = "//+ ";

/// Returns "KEY" -> text of the comments in front of the code, and the code.
std::map<std::string, std::string> header_of_listing(std::istringstream& in, std::string& first_line) {
  std::map<std::string, std::string> header;
  std::string key;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("// ")) {
      first_line = line;
      break;
    }
    const std::string text = line.substr(3);
    const size_t word = text.find_first_not_of(' ');
    if (word == 0) {
      const size_t end = std::min(text.find(' '), text.size());
      key = text.substr(0, end);
      const size_t begin = std::min(text.find_first_not_of(' ', end), text.size());
      header[key] = text.substr(begin);
    } else if (word != std::string::npos && !key.empty()) {
      header[key] += " " + text.substr(word);
    }
  }
  return header;
}

/// Formats "// KEY       text", wrapped.
std::string wrapped(const std::string& key, const std::string& text) {
  std::istringstream in(text);
  std::string out, line = fmt::format("// {:<10}", key);
  bool first = true;
  for (std::string word; in >> word; first = false) {
    if (!first && line.size() + 1 + word.size() > 110) {
      out += line + "\n";
      line = fmt::format("// {:10}", "") + word;
    } else {
      line += (first ? "" : " ") + word;
    }
  }
  return out + line + "\n";
}

std::string learner_header(const Listing& l) {
  std::string kinds;
  for (const ListingKind& k : kKinds)
    kinds += fmt::format("{}{} ({})", kinds.empty() ? "" : "; ", k.name, k.meaning);
  std::string text =
      fmt::format("// Listing {}: {}.\n//\n", l.name, l.title) + wrapped("CLAIM", l.claim) +
      wrapped("TASK",
              "It looks right, and does not do what it says. Find the line, name the fault, repair it.") +
      wrapped("ANSWER",
              fmt::format("klab step {} --answer LINE:KIND, with a line of this file as it was. Kinds: {}.",
                          l.name, kinds)) +
      wrapped("EVIDENCE", fmt::format("klab step {} --evidence runs it and shows what is found.", l.name)) +
      wrapped("REPAIR", fmt::format("change this file, then: klab step --check {}", l.name));
  for (const auto& [name, meaning] : arguments_of(l.rung->op))
    text += wrapped("ARGUMENT", "x." + name + (meaning.empty() ? "" : ": " + meaning));
  return text;
}

}  // namespace

std::span<const ListingKind> listing_kinds() { return kKinds; }

Listing listing_from(const std::string& source, const std::string& lab, const std::string& name,
                     const std::string& where) {
  std::istringstream in(source);
  std::string line;
  const auto header = header_of_listing(in, line);
  const auto at = [&](const char* key) {
    const auto found = header.find(key);
    if (found == header.end() || found->second.empty())
      throw std::runtime_error(fmt::format("{}: its header has no {}", where, key));
    return found->second;
  };
  Listing l{.name = name,
            .lab = lab,
            .title = at("TITLE"),
            .claim = at("CLAIM"),
            .kind = at("KIND"),
            .why = at("WHY"),
            .count = header.contains("COUNT") ? at("COUNT") : "",
            .text = {},
            .repaired = {},
            .lines = {},
            .work = {}};
  l.rung = find_variant(at("REPAIRS"));
  if (l.rung == nullptr)
    throw std::runtime_error(fmt::format("{}: REPAIRS: no rung {}", where, at("REPAIRS")));
  if (std::ranges::find(kKinds, l.kind, &ListingKind::name) == std::end(kKinds))
    throw std::runtime_error(fmt::format("{}: KIND: there is no kind {}", where, l.kind));
  l.work = lab + "/fault_" + name.substr(name.rfind('.') + 1) + ".cu";
  l.text = l.repaired = learner_header(l);
  int number = int(std::ranges::count(l.text, '\n'));
  bool repair = false;
  do {
    const size_t begin = std::min(line.find_first_not_of(' '), line.size());
    if (line.compare(begin, 4, kRepair) == 0) {
      l.repaired += line.substr(0, begin) + line.substr(begin + 4) + "\n";
      repair = true;
      continue;
    }
    ++number;
    if (line.ends_with(kFault)) {
      line.resize(line.size() - std::string_view(kFault).size());
      line.resize(line.find_last_not_of(' ') + 1);
      l.lines.insert(number);
    } else {
      l.repaired += line + "\n";
    }
    l.text += line + "\n";
  } while (std::getline(in, line));
  if (l.lines.empty() || !repair)
    throw std::runtime_error(fmt::format("{}: has no line that ends with {}, or none that begins with {}",
                                         where, kFault, kRepair));
  return l;
}

const std::vector<Listing>& listings() {
  static const std::vector<Listing> all = [] {
    std::vector<Listing> list;
    // A build that runs no CUDA on the host (by Clang, with sanitizers) has nothing that listings could repair.
    if (std::ranges::none_of(variants(), [](const Variant& v) { return v.backend == "cuda"; })) return list;
    for (const Lab& lab : labs()) {
      const fs::path folder = source_root() / "labs" / lab.id / "faults";
      std::vector<fs::path> files;
      std::error_code error;
      for (const auto& entry : fs::directory_iterator(folder, error))
        if (entry.path().extension() == ".listing") files.push_back(entry.path());
      std::ranges::sort(files);
      for (const fs::path& file : files)
        list.push_back(listing_from(read_text(file), lab.id,
                                    lab.id.substr(0, 2) + ".fault." + file.filename().string().substr(0, 2),
                                    file.string()));
    }
    return list;
  }();
  return all;
}

bool is_listing(const std::string& name) { return name.find(".fault.") != std::string::npos; }

const Listing& find_listing(const std::string& name) {
  std::vector<std::string> names;
  for (const Listing& l : listings()) {
    if (l.name == name) return l;
    names.push_back(l.name);
  }
  throw NotFound(not_found_text("listing", name, names) +
                 (names.empty() ? "" : fmt::format("; there are {}", fmt::join(names, ", "))));
}

fs::path work_path(const Listing& listing) { return work_folder() / listing.work; }

bool start_listing(const Listing& listing) {
  const fs::path file = work_path(listing);
  if (fs::exists(file)) return false;
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  try {
    write_file(file, listing.text);
  } catch (const FileError& failure) {
    throw FileError(std::string(failure.what()) + ": set KLAB_WORK to a folder that you may write to");
  }
  return true;
}

Naming named(const Listing& listing, const std::string& answer) {
  const size_t colon = answer.find(':');
  int line = 0;
  const auto [end, error] =
      std::from_chars(answer.data(), answer.data() + std::min(colon, answer.size()), line);
  const int most = int(std::ranges::count(listing.text, '\n'));
  if (colon == std::string::npos || error != std::errc() || end != answer.data() + colon || line < 1 ||
      line > most)
    throw std::invalid_argument(
        fmt::format("--answer {}: write LINE:KIND, with a line from 1 to {} of the listing", answer, most));
  const std::string kind = answer.substr(colon + 1);
  if (std::ranges::find(kKinds, kind, &ListingKind::name) == std::end(kKinds)) {
    std::string names;
    for (const ListingKind& k : kKinds) names += (names.empty() ? "" : ", ") + std::string(k.name);
    throw std::invalid_argument(
        fmt::format("--answer {}: there is no kind \"{}\"; kinds are {}", answer, kind, names));
  }
  return {.line = listing.lines.contains(line), .kind = kind == listing.kind};
}

Answer check_listing(const Listing& listing, const fs::path& file, CheckStepOptions options) {
  options.time = !listing.count.empty();  // of a CUDA variant: count
  options.variant = true;
  const Step step = step_of(*listing.rung);
  Answer a = check_work(step, file, options);
  if (!a.passed() || !a.counts || listing.count.empty()) return a;
  for (const CountVerdict::Line& l : a.counts->lines)
    if (l.name == listing.count && l.yours > l.own) {
      a.outcome = Outcome::no_faster;
      a.text = fmt::format("right and safe, with {} {} at {}, where {} has {}", l.yours, l.name, a.counted_at,
                           listing.rung->id, l.own);
    }
  return a;
}

}  // namespace klab
