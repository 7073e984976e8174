// Writes rows as comma-separated values, and reads them back with errors that name line and column.
#if defined(__GNUC__) && !defined(__clang__)
// The parser cuts long file names on purpose, and ends them itself.
#pragma GCC diagnostic ignored "-Wstringop-truncation"
#endif
#include <csv.h>
#include <fmt/core.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "harness/core/lab.h"
#include "harness/core/registry.h"
#include "harness/records/csv_text.h"
#include "harness/records/input.h"
#include "harness/records/rows.h"
#include "harness/records/rows_columns.h"

namespace klab {
namespace {

using namespace rows_csv;

constexpr int64_t kLargestFile = 64'000'000;  // bytes

/// Returns the estimate if it is present. Estimates of a row share rounds and confidence with its time.
std::optional<Estimate> present(Estimate e, const Row& row) {
  if (!(e.value > 0)) return std::nullopt;
  e.n = row.time.n;
  e.confidence = row.time.confidence;
  return e;
}

void require_ordered(const char* column, const Estimate& e) {
  if (e.value > 0 && !(e.low <= e.value && e.value <= e.high))
    throw std::pair<const char*, CellError>(
        column, CellError(fmt::format("{} lies outside of its interval {} to {}", e.value, e.low, e.high)));
}

/// Checks that valid cells do not contradict each other. Throws a pair of column and error.
void finish(Line& l) {
  using Problem = std::pair<const char*, CellError>;
  Row& r = l.row;
  const bool timed = r.skipped.empty() && r.wrong.empty();
  if (timed && r.seconds.empty())
    throw Problem("seconds", CellError("is empty, though the row was not skipped"));
  if (!timed && !r.seconds.empty())
    throw Problem("seconds", CellError("holds times, though the row was skipped"));
  if (l.rounds != int64_t(r.seconds.size()))
    throw Problem("seconds",
                  CellError(fmt::format("holds {} times, but 'rounds' says {}", r.seconds.size(), l.rounds)));
  for (const auto& [column, list] : {std::pair{"shares", &r.shares}, std::pair{"waited", &r.waited},
                                     std::pair{"core_to_core_ns", &r.core_to_core_ns}})
    if (!list->empty() && list->size() != r.seconds.size())
      throw Problem(column,
                    CellError(fmt::format("holds {} numbers for {} times", list->size(), r.seconds.size())));
  if (!timed) return;
  if (!(r.time.value > 0))
    throw Problem("seconds_median", CellError("is empty, though the row was not skipped"));
  r.time.n = int(r.seconds.size());
  require_ordered("seconds_median", r.time);
  require_ordered("over_naive", l.over_naive);
  require_ordered("over_parent", l.over_parent);
  require_ordered("over_peer", l.over_peer);
  require_ordered("of_ceiling", l.of_ceiling);
  if (const double m = median(r.seconds); !(std::abs(m - r.time.value) <= 1e-9 * m))
    throw Problem("seconds_median",
                  CellError(fmt::format("{} is not the median of 'seconds', {}", r.time.value, m)));
  r.over_naive = present(l.over_naive, r);
  r.over_parent = present(l.over_parent, r);
  r.over_peer = present(l.over_peer, r);
  r.of_ceiling = present(l.of_ceiling, r);
}

using Reader = io::CSVReader<kColumns, io::trim_chars<>, io::double_quote_escape<',', '"'>>;

/// Returns the columns' names as used in the file at `path`: a renamed column may appear under its former
/// name.
std::array<std::string, kColumns> names_in(const std::string& path) {
  std::set<std::string> header;
  io::LineReader lines(path);
  if (const char* text = lines.next_line(); text != nullptr) {
    std::istringstream cells(text);
    for (std::string cell; std::getline(cells, cell, ',');) {
      std::erase_if(cell, [](char c) { return c == ' ' || c == '\t' || c == '"'; });
      header.insert(cell);
    }
  }
  std::array<std::string, kColumns> names;
  for (size_t i = 0; i < kColumns; ++i) {
    const Column& c = columns()[i];
    names[i] = c.was != nullptr && header.contains(c.was) && !header.contains(c.name) ? c.was : c.name;
  }
  return names;
}

template <size_t... I>
void read_header(Reader& reader, const std::array<std::string, kColumns>& names, std::index_sequence<I...>) {
  reader.read_header(io::ignore_missing_column, names[I]...);
}

template <size_t... I>
bool read_cells(Reader& reader, std::array<char*, kColumns>& cells, std::index_sequence<I...>) {
  return reader.read_row(cells[I]...);
}

class RunReader {
 public:
  explicit RunReader(const std::string& path) : path_(path) {}

  Recording read(bool allow_partial) {
    try {
      require_regular_file(path_, kLargestFile);
    } catch (const std::runtime_error& error) {
      throw RowsError(error.what());
    }
    try {
      reader_.emplace(path_);
      names_ = names_in(path_);
      read_header(*reader_, names_, std::make_index_sequence<kColumns>());
      find_columns();
      lines(allow_partial);
    } catch (const io::error::can_not_open_file&) {
      fail("cannot be opened; is there such a file?");
    } catch (const io::error::header_missing&) {
      fail("is empty; a line with the names of the columns should come first");
    } catch (const io::error::extra_column_in_header& e) {
      fail_at(1, e.column_name, "is none that this version knows: name a file that klab bench --out wrote");
    } catch (const io::error::duplicated_column_in_header& e) {
      fail_at(1, e.column_name, "is in the header twice");
    } catch (const io::error::too_few_columns&) {
      fail_ragged();
    } catch (const io::error::too_many_columns&) {
      fail_at(
          line(), columns().back().name,
          fmt::format("is the last of {} columns, but the line goes on", std::ranges::count(present_, true)));
    } catch (const io::error::escaped_string_not_closed&) {
      fail_at(line(), "", "a quoted cell is not closed; was the file cut off?");
    } catch (const io::error::base& e) {
      fail(e.what());
    }
    return std::move(run_);
  }

 private:
  unsigned line() const { return reader_ ? reader_->get_file_line() : 0; }

  [[noreturn]] void fail(const std::string& why) const { throw RowsError(fmt::format("{}: {}", path_, why)); }

  [[noreturn]] void fail_at(unsigned line, const std::string& column, const std::string& why) const {
    if (column.empty()) throw RowsError(fmt::format("{}:{}: {}", path_, line, why));
    throw RowsError(fmt::format("{}:{}: column '{}' {}", path_, line, column, why));
  }

  /// Determines which columns the file has. An estimate with a missing part counts as missing.
  void find_columns() {
    const auto base = [](std::string name) {
      for (const char* part : {"_low", "_high"})
        if (name.ends_with(part)) name.resize(name.size() - std::string_view(part).size());
      return name;
    };
    std::set<std::string> incomplete;
    for (size_t i = 0; i < kColumns; ++i) {
      const Column& c = columns()[i];
      if (reader_->has_column(names_[i])) continue;
      if (!c.optional)
        fail_at(1, c.name, fmt::format("is missing from the header; record the rows again: {}", command()));
      incomplete.insert(base(c.name));
    }
    for (size_t i = 0; i < kColumns; ++i) present_[i] = !incomplete.contains(base(columns()[i].name));
  }

  /// Returns the command that writes a file like this one.
  std::string command() const {
    const std::filesystem::path path = path_;
    if (path.parent_path().parent_path().filename() != "recorded")
      return fmt::format("klab bench WHAT --out {}", path_);
    const std::string name = path.stem().string();
    return name == "run" ? fmt::format("klab run --out {}", path_)
                         : fmt::format("klab bench WHAT --baseline {}", name);
  }

  /// Fills in values that can be derived if the file lacks their columns.
  static void complete(Row& r) {
    if (const Lab* lab = lab_of(r.op); r.lab.empty() && lab != nullptr) r.lab = lab->id;
    const size_t dot = r.variant.find('.');
    if (r.backend.empty() && dot != std::string::npos)
      r.backend = r.variant.substr(dot + 1, r.variant.find('.', dot + 1) - dot - 1);
    if (r.size.empty()) r.size = r.shape;
  }

  /// Throws an error that names the last column of the truncated line.
  [[noreturn]] void fail_ragged() const {
    io::LineReader again(path_);
    const char* text = again.next_line();
    std::vector<std::string> names(1);
    for (const char* c = text; *c != '\0'; ++c)
      if (*c == ',')
        names.emplace_back();
      else if (*c != ' ' && *c != '\t' && *c != '"')
        names.back() += *c;
    for (unsigned i = 1; i < line(); ++i) text = again.next_line();
    size_t cells = 1;
    bool inside = false;
    for (; text != nullptr && *text != '\0'; ++text) {
      if (*text == '"') inside = !inside;
      if (*text == ',' && !inside) ++cells;
    }
    const size_t missing = std::min(cells, names.size() - 1);
    fail_at(line(), names[missing],
            fmt::format("is missing: the line ends after {} of {} cells; was the file cut off?", cells,
                        names.size()));
  }

  /// A truncated number is still a number, so only the line end proves that the last one is complete.
  bool ends_in_newline() const {
    std::ifstream in(path_, std::ios::binary | std::ios::ate);
    return in.seekg(-1, std::ios::end) && in.get() == '\n';
  }

  void lines(bool allow_partial) {
    std::array<char*, kColumns> cells{};
    int64_t announced = 0;
    std::map<std::string, unsigned> seen;
    while (read_cells(*reader_, cells, std::make_index_sequence<kColumns>())) {
      Line l;
      for (size_t i = 0; i < kColumns; ++i) {
        if (!present_[i]) continue;
        try {
          columns()[i].read(l, cells[i]);
        } catch (const CellError& e) {
          fail_at(line(), columns()[i].name, e.what());
        }
      }
      try {
        finish(l);
      } catch (const std::pair<const char*, CellError>& problem) {
        fail_at(line(), problem.first, problem.second.what());
      }
      complete(l.row);
      const Row& r = l.row;
      const std::string key = fmt::format("{}|{}|{}|{}|{}|{}", r.fingerprint, r.variant, r.shape, r.threads,
                                          r.cache.substr(0, 4), r.session);
      if (const auto [at, fresh] = seen.emplace(key, line()); !fresh)
        fail_at(line(), "variant",
                fmt::format("repeats line {}: {} at {} on {} threads", at->second, r.variant, r.shape,
                            r.threads));
      if (announced == 0) announced = l.count;
      if (l.count != announced)
        fail_at(line(), "rows", fmt::format("says {} where the first row says {}", l.count, announced));
      if (l.index != int64_t(run_.rows.size()) + 1)
        fail_at(line(), "row",
                fmt::format("is {}, but this is row {}; a line is missing or moved", l.index,
                            run_.rows.size() + 1));
      if (!l.complete && !allow_partial)
        fail_at(line(), "run", "says that the run was interrupted, so that the file holds only a part of it");
      run_.complete = run_.complete && l.complete;
      run_.rows.push_back(std::move(l.row));
    }
    if (run_.rows.empty()) fail("holds a header and no rows");
    if (!ends_in_newline())
      fail_at(line(), columns().back().name, "is the end of the file, without a line end; was it cut off?");
    if (int64_t(run_.rows.size()) != announced)
      fail_at(line(), "rows",
              fmt::format("announces {} rows, but the file ends after {}; was it cut off?", announced,
                          run_.rows.size()));
  }

  std::string path_;
  std::optional<Reader> reader_;
  std::array<std::string, kColumns> names_;
  std::array<bool, kColumns> present_{};
  Recording run_;
};

/// Renames rows to the present ids of their variants. If several rows in a file now belong to one variant,
/// the one with the latest name is kept: the others were rungs that have since been merged into it.
void take_present_ids(Recording& run) {
  const auto age = [](const Row& r) {  // 0: the present name
    const Variant* v = find_variant(r.variant);
    if (v == nullptr || v->id == r.variant) return size_t(0);
    return size_t(v->was.end() - std::ranges::find(v->was, r.variant));
  };
  const auto key = [](const Row& r) {
    return fmt::format("{}|{}|{}|{}|{}|{}", r.fingerprint, current_id(r.variant), r.shape, r.threads,
                       r.cache.substr(0, 4), r.session);
  };
  std::map<std::string, size_t> youngest;
  bool any = false;
  for (const Row& r : run.rows) {
    any = any || age(r) > 0;
    const auto [at, fresh] = youngest.emplace(key(r), age(r));
    if (!fresh) at->second = std::min(at->second, age(r));
  }
  if (!any) return;
  std::erase_if(run.rows, [&](const Row& r) { return age(r) != youngest[key(r)]; });
  for (Row& r : run.rows) {
    r.variant = current_id(r.variant);
    r.peer = current_id(r.peer);
  }
}

}  // namespace

std::string to_csv(const Recording& run) {
  if (columns().size() != kColumns)
    throw std::logic_error("rows_csv.cpp: kColumns is not the number of columns");
  std::string text;
  for (size_t i = 0; i < kColumns; ++i) text += (i ? "," : "") + std::string(columns()[i].name);
  text += '\n';
  for (size_t k = 0; k < run.rows.size(); ++k) {
    const Row& r = run.rows[k];
    const Line l{.row = r,
                 .index = int64_t(k) + 1,
                 .count = int64_t(run.rows.size()),
                 .complete = run.complete,
                 .over_naive = r.over_naive.value_or(Estimate{}),
                 .over_parent = r.over_parent.value_or(Estimate{}),
                 .over_peer = r.over_peer.value_or(Estimate{}),
                 .of_ceiling = r.of_ceiling.value_or(Estimate{})};
    for (size_t i = 0; i < kColumns; ++i) text += (i ? "," : "") + csv_quoted(columns()[i].write(l));
    text += '\n';
  }
  return text;
}

Recording read_csv(const std::string& path, bool allow_partial) {
  Recording run = RunReader(path).read(allow_partial);
  take_present_ids(run);
  return run;
}

}  // namespace klab
