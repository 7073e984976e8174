#include "labs/learning/experiments/recording.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/core/project_info.h"
#include "harness/core/select.h"
#include "harness/records/input.h"
#include "harness/records/rows.h"
#include "harness/timing/machine.h"
#include "harness/timing/statistics.h"

namespace klab::learning {
namespace {

namespace fs = std::filesystem;

/// Returns the processor time of this process and of those that it has started and waited for, in seconds.
double processor_time() {
  double seconds = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(who, &used);
    for (const timeval& t : {used.ru_utime, used.ru_stime})
      seconds += double(t.tv_sec) + 1e-6 * double(t.tv_usec);
  }
  return seconds;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(now));
}

/// Returns the name of a recorded machine's GPU; its fingerprint if its record has none.
std::string gpu_of(const fs::path& root, const std::string& machine) {
  const fs::path file = root / "reports" / "recorded" / machine / "machine.json";
  if (!fs::exists(file)) return machine;
  const nlohmann::json j = read_json_file(file);
  const auto at = j.find("machine");
  return at != j.end() && at->contains("gpu") && (*at)["gpu"].is_string() ? (*at)["gpu"].get<std::string>()
                                                                          : machine;
}

/// The recorded tour of a processor.
struct Tour {
  std::string processor;
  Recording recording;
};

/// Returns the tours of all machines, by fingerprint. Throws RowsError.
std::vector<Tour> recorded_tours(const fs::path& root) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& folder : fs::directory_iterator(root / "reports" / "recorded", error))
    if (const fs::path file = folder.path() / "run.csv"; fs::exists(file)) files.push_back(file);
  std::ranges::sort(files);
  std::vector<Tour> tours;
  for (const fs::path& file : files) {
    const nlohmann::json j = read_json_file(file.parent_path() / "machine.json");
    tours.push_back({j.at("machine").at("processor").get<std::string>(), read_csv(file.string(), true)});
  }
  return tours;
}

/// Adds a row for each tour that has timed the claim's slower rung, one of a processor, at the size of a GPU's row. Both were timed
/// on machines of their own, so the interval is that of the two intervals.
void compare_with_processors(ClaimEntry& entry, const Row& gpu, const std::vector<Tour>& tours) {
  for (const Tour& tour : tours)
    for (const Row& r : tour.recording.rows) {
      if (r.variant != entry.claim.slower || r.shape != gpu.shape || r.seconds.empty()) continue;
      const std::string condition =
          fmt::format("{}, {} threads of {} with {}", r.shape, r.threads, tour.processor, r.instruction_set);
      if (std::ranges::find(entry.rows, condition, &ClaimRow::condition) != entry.rows.end()) continue;
      entry.rows.push_back(
          {condition,
           {r.time.low / gpu.time.high, r.time.value / gpu.time.value, r.time.high / gpu.time.low}});
    }
}

/// Returns whether both claims are measured and decided alike.
bool same_measurement(const Claim& a, const Claim& b) {
  return a.rule == b.rule && a.metric == b.metric && a.kind == b.kind && a.on == b.on &&
         a.faster == b.faster && a.slower == b.slower;
}

int edition_of(const Claim& claim) {
  const Experiment* e = experiment_of(claim);
  return e == nullptr ? 1 : e->edition;
}

/// Returns the seeds that a record of the claim needs.
std::vector<uint64_t> seeds_of(const Claim& claim) {
  const Experiment* e = experiment_of(claim);
  if (e == nullptr) return {};
  if (claim.kind == ClaimKind::exact || e->own_seeds >= int(std::size(kClaimSeeds))) return {kClaimSeeds[0]};
  return {std::begin(kClaimSeeds), std::end(kClaimSeeds)};
}

/// Returns the part of an entry that counts for the claim as it is now.
const ClaimEntry* current(const Claim& claim, const ClaimEntry* entry) {
  return entry != nullptr && same_measurement(entry->claim, claim) && entry->edition == edition_of(claim)
             ? entry
             : nullptr;
}

}  // namespace

std::vector<Claim> claims_named(const std::vector<std::string>& names) {
  std::vector<Claim> all = all_claims();
  if (names.empty()) return all;
  std::vector<std::string> known;
  for (const Claim& c : all) {
    known.push_back(c.id);
    if (known.end() == std::ranges::find(known, c.experiment())) known.push_back(c.experiment());
  }
  for (const std::string& name : names)
    if (std::ranges::find(known, name) == known.end())
      throw NotFound(fmt::format("{}; klab claims lists all", not_found_text("claim", name, known)));
  std::erase_if(all, [&](const Claim& c) {
    return std::ranges::find(names, c.id) == names.end() &&
           std::ranges::find(names, c.experiment()) == names.end();
  });
  return all;
}

std::string why_no_verdict(const Claim& claim, const ClaimEntry* entry) {
  if (entry == nullptr) return "not yet recorded";
  if (entry->edition != edition_of(claim))
    return fmt::format("recorded by edition {} of its experiment, which is at {}", entry->edition,
                       edition_of(claim));
  if (entry->claim.rule != claim.rule)
    return fmt::format("recorded with another rule: {} instead of {}", entry->claim.rule.text(),
                       claim.rule.text());
  if (!same_measurement(entry->claim, claim)) return "recorded with another metric";
  if (!entry->complete())
    return fmt::format("interrupted: {} of {} seeds are recorded", entry->seeds.size(),
                       least_values(claim.kind));
  return "";
}

std::vector<Piece> missing_pieces(const std::vector<Claim>& claims, const ClaimRecord& record) {
  std::vector<Piece> pieces;
  for (const Experiment& e : experiments()) {
    std::map<uint64_t, std::set<std::string>> wanted;
    for (const Claim& c : claims) {
      if (experiment_of(c) != &e) continue;
      const ClaimEntry* entry = current(c, record.find(c.id));
      for (const uint64_t seed : seeds_of(c))
        if (entry == nullptr || std::ranges::find(entry->seeds, seed) == entry->seeds.end())
          wanted[seed].insert(c.id);
    }
    for (auto& [seed, ids] : wanted) pieces.push_back({&e, seed, std::move(ids)});
  }
  return pieces;
}

void add_run(ClaimRecord& record, const Piece& piece, const Outcome& outcome, const RunNote& note) {
  for (const Claim& claim : piece.experiment->claims) {
    if (!piece.claims.contains(claim.id)) continue;
    const auto decided = std::ranges::find(outcome.decided, claim.id, &Decided::id);
    if (decided == outcome.decided.end())
      throw std::runtime_error(fmt::format("{}: the experiment has no result for it", claim.id));
    const ClaimEntry* before = current(claim, record.find(claim.id));
    ClaimEntry entry =
        before != nullptr ? *before : ClaimEntry{.claim = claim, .rows = {}, .because = decided->because};
    if (before == nullptr) entry.rows.resize(decided->rows.size());
    if (entry.rows.size() != decided->rows.size())
      throw std::runtime_error(fmt::format("{}: {} conditions with seed {}, {} before", claim.id,
                                           decided->rows.size(), piece.seed, entry.rows.size()));
    for (size_t i = 0; i < entry.rows.size(); ++i) {
      ClaimRow& row = entry.rows[i];
      const ClaimRow& now = decided->rows[i];
      if (before != nullptr && row.condition != now.condition)
        throw std::runtime_error(fmt::format("{}: condition \"{}\" with seed {}, \"{}\" before", claim.id,
                                             now.condition, piece.seed, row.condition));
      row.condition = now.condition;
      row.values.insert(row.values.end(), now.values.begin(), now.values.end());
    }
    for (size_t i = 0; i < decided->rows.front().values.size(); ++i) entry.seeds.push_back(piece.seed + i);
    entry.claim = claim;
    entry.edition = piece.experiment->edition;
    entry.machine = note.machine;
    entry.commit = note.commit;
    entry.date = note.date;
    entry.seconds = std::round(10 * (entry.seconds + note.seconds)) / 10;
    record.set(std::move(entry));
  }
}

double run_piece(ClaimRecord& record, const Piece& piece) {
  const double begin = processor_time();
  const Outcome outcome = piece.experiment->run(piece.seed);
  // Tenths of seconds: a cost, not a measurement.
  const double seconds = std::round(10 * (processor_time() - begin)) / 10;
  add_run(record, piece, outcome,
          {.machine = fingerprint(this_machine()),
           .commit = project_info().commit,
           .date = today(),
           .seconds = seconds});
  return seconds;
}

std::optional<ClaimEntry> from_gpu_rows(const Claim& claim, const fs::path& root) {
  std::vector<fs::path> machines;
  std::error_code error;
  for (const auto& folder : fs::directory_iterator(root / "reports" / "recorded", error))
    if (fs::exists(folder.path() / "gpu_rows.csv")) machines.push_back(folder.path());
  std::ranges::sort(machines);
  const bool processor = claim.slower.find(".cpu.") != std::string::npos;
  const std::vector<Tour> tours = processor ? recorded_tours(root) : std::vector<Tour>();
  for (const fs::path& machine : machines) {
    std::vector<fs::path> files;
    for (const auto& file : fs::directory_iterator(machine))
      if (file.path().filename().string().starts_with("gpu_rows") && file.path().extension() == ".csv")
        files.push_back(file.path());
    std::ranges::sort(files);
    ClaimEntry entry{.claim = claim, .rows = {}, .because = "the times that a GPU took for both rungs"};
    for (const fs::path& file : files) {
      // Most files are about other operations.
      if (read_input(file).find(claim.faster) == std::string::npos) continue;
      const Recording recording = read_csv(file.string(), true);
      for (const Row& fast : recording.rows) {
        if (fast.variant != claim.faster || fast.seconds.empty()) continue;
        const size_t before = entry.rows.size();
        if (processor) compare_with_processors(entry, fast, tours);
        const auto slow = std::ranges::find_if(recording.rows, [&](const Row& r) {
          return r.variant == claim.slower && r.shape == fast.shape && r.session == fast.session &&
                 r.seconds.size() == fast.seconds.size();
        });
        if (slow != recording.rows.end() &&
            std::ranges::find(entry.rows, fast.shape, &ClaimRow::condition) == entry.rows.end()) {
          const Estimate ratio = ratio_interval(slow->seconds, fast.seconds);
          entry.rows.push_back({fast.shape, {ratio.low, ratio.value, ratio.high}});
        }
        if (entry.rows.size() == before) continue;
        entry.machine = machine.filename().string();
        entry.commit = fast.commit;
        entry.rows_of = fs::relative(machine, root).string();
      }
    }
    if (!entry.rows.empty()) return entry;
  }
  return std::nullopt;
}

bool waits_for_gpu(const fs::path& root, const std::string& rung) {
  std::ifstream in(root / "reports" / "gpu_queue.csv");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(rung + ",")) return true;
  return false;
}

std::map<std::string, std::string> unrecorded_claims(const fs::path& root) {
  const fs::path file = root / "reports" / "claims_unrecorded.csv";
  std::map<std::string, std::string> reasons;
  std::ifstream in(file);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (number == 1 && line == "claim,reason") continue;
    const size_t comma = line.find(',');
    if (number == 1 || comma == std::string::npos || comma == 0 || comma + 1 == line.size())
      throw std::invalid_argument(fmt::format("{}:{}: must be \"claim,reason\"", file.string(), number));
    if (!reasons.emplace(line.substr(0, comma), line.substr(comma + 1)).second)
      throw std::invalid_argument(
          fmt::format("{}:{}: claim {} is listed twice", file.string(), number, line.substr(0, comma)));
  }
  return reasons;
}

std::vector<Standing> standings(const std::vector<Claim>& claims, const fs::path& root,
                                const std::string& fingerprint) {
  std::vector<ClaimRecord> records = read_claim_records(root);
  std::ranges::stable_sort(records, {}, [&](const ClaimRecord& r) { return r.fingerprint != fingerprint; });
  const auto reasons = unrecorded_claims(root);
  std::vector<Standing> all;
  for (const Claim& claim : claims) {
    Standing s{claim, std::nullopt, "", ""};
    if (claim.kind == ClaimKind::gpu) {
      s.entry = from_gpu_rows(claim, root);
      if (s.entry)
        s.processor = gpu_of(root, s.entry->machine);
      else
        s.missing =
            fmt::format("not testable here: it needs a GPU{}",
                        waits_for_gpu(root, claim.faster) ? ", and stands in reports/gpu_queue.csv" : "");
      all.push_back(std::move(s));
      continue;
    }
    for (const ClaimRecord& record : records) {
      const ClaimEntry* entry = record.find(claim.id);
      const std::string why = why_no_verdict(claim, entry);
      if (!why.empty()) {
        if (entry != nullptr && s.missing.empty()) s.missing = why;
        continue;
      }
      s.entry = *entry;
      s.processor = record.processor;
      s.missing.clear();
      break;
    }
    if (!s.entry && s.missing.empty()) {
      const auto reason = reasons.find(claim.id);
      s.missing = reason == reasons.end() ? "not yet recorded" : "not yet recorded: " + reason->second;
    }
    all.push_back(std::move(s));
  }
  return all;
}

}  // namespace klab::learning
