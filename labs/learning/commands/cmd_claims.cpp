// klab claims: what is claimed about learning and rendering, with the verdicts on record; decides claims again, and records them.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/cli/command.h"
#include "harness/cli/json_option.h"
#include "harness/cli/ladder_text.h"
#include "harness/cli/number_option.h"
#include "harness/cli/recorded.h"
#include "harness/records/atomic_file.h"
#include "harness/report/table.h"
#include "harness/timing/machine.h"
#include "labs/learning/commands/interruption.h"
#include "labs/learning/experiments/claims_page.h"
#include "labs/learning/experiments/recording.h"

namespace klab::claims_command {
namespace {

namespace fs = std::filesystem;
using learning::Claim;
using learning::Piece;
using learning::Standing;

struct Options {
  std::vector<std::string> names;
  bool json = false, run = false, all = false, again = false, untimed = false, page = false, lessons = false;
  int check = 0;
  double minutes = 0, under = 60;
  std::string out;
};

Ink ink_of(ClaimVerdict v) {
  return v == ClaimVerdict::held ? Ink::green : v == ClaimVerdict::refuted ? Ink::red : Ink::yellow;
}

void save(const fs::path& file, const ClaimRecord& record) {
  learning::uninterrupted([&] { write_file(file, claim_record_json(record)); });
}

/// Returns a claim's line, its numbers and its reason.
std::string lines_of(const Standing& s) {
  constexpr int kIndent = 11;
  if (!s.entry)
    return fmt::format("{:{}}{}\n{:{}}{}: klab {}\n", inked("-", Ink::dim),
                       inked("-", Ink::dim).size() + kIndent - 1, s.claim.said, "", kIndent, s.missing,
                       s.claim.command());
  const ClaimEntry& e = *s.entry;
  const std::string word = name_of(e.verdict()), inked_word = inked(word, ink_of(e.verdict()));
  std::string text = fmt::format("{}{:{}}{} (said in a {})\n", inked_word, "", kIndent - int(word.size()),
                                 s.claim.said, s.claim.source);
  if (const std::string on = e.depends_text(); !on.empty())
    text += fmt::format("{:{}}depends {}\n", "", kIndent, on);
  text += fmt::format("{:{}}{}, holds {}\n", "", kIndent, learning::measured_text(s), s.claim.rule.text());
  const std::string by = s.claim.kind == ClaimKind::gpu     ? "times in " + e.rows_of
                         : s.claim.kind == ClaimKind::exact ? "exact"
                                                            : fmt::format("{} seeds", e.seeds.size());
  text += fmt::format("{:{}}{}; {}{}, klab {} (klab {})\n", "", kIndent, by, s.processor,
                      e.date.empty() ? "" : ", " + e.date, e.commit, s.claim.command());
  return text;
}

/// Prints standings, for people or for programs.
int show(const std::vector<Standing>& all, bool json) {
  if (json) {
    ClaimRecord shown{fingerprint(this_machine()), this_machine().processor, {}};
    for (const Standing& s : all)
      if (s.entry) shown.set(*s.entry);
    fmt::print("{}", claim_record_json(shown));
    return exit_ok;
  }
  int held = 0, refuted = 0, depend = 0, missing = 0;
  for (const Standing& s : all) {
    fmt::print("{}", lines_of(s));
    ++(!s.entry                                      ? missing
       : s.entry->verdict() == ClaimVerdict::held    ? held
       : s.entry->verdict() == ClaimVerdict::refuted ? refuted
                                                     : depend);
  }
  fmt::print("\n{} claims: {} held, {} refuted, {} depend on what the line says, {} without a verdict\n",
             all.size(), held, refuted, depend, missing);
  return exit_ok;
}

/// Runs the pieces; `after` is called behind each. Returns false if the minutes are over before the end.
template <class F>
bool run_pieces(ClaimRecord& record, const std::vector<Piece>& pieces, double minutes, F after) {
  const auto begin = std::chrono::steady_clock::now();
  Progress progress;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (minutes > 0 && spent.count() > 60 * minutes) return false;
    progress.show(fmt::format("running {}, seed {} ({} of {})", pieces[i].experiment->name, pieces[i].seed,
                              i + 1, pieces.size()));
    const double seconds = learning::run_piece(record, pieces[i]);
    progress.clear();
    after(i, seconds);
  }
  return true;
}

/// Decides claims now, all seeds of each, or the seed of --seed alone. Returns what was measured.
ClaimRecord measured_now(const std::vector<Claim>& claims) {
  ClaimRecord now{fingerprint(this_machine()), this_machine().processor, {}};
  std::vector<Piece> pieces = learning::missing_pieces(claims, now);
  if (settings().seed_given) {
    std::erase_if(pieces, [](const Piece& p) { return p.seed != learning::kClaimSeeds[0]; });
    for (Piece& p : pieces) p.seed = settings().seed;
  }
  run_pieces(now, pieces, 0, [](size_t, double) {});
  return now;
}

int decide_now(const std::vector<Claim>& claims, const fs::path& root, bool json) {
  const ClaimRecord now = measured_now(claims);
  if (json) {
    fmt::print("{}", claim_record_json(now));
    return exit_ok;
  }
  for (const Standing& recorded : learning::standings(claims, root, now.fingerprint)) {
    const ClaimEntry* e = now.find(recorded.claim.id);
    if (e == nullptr) {  // a GPU decides it
      fmt::print("{}", lines_of(recorded));
      continue;
    }
    Standing s{recorded.claim, *e, now.processor, ""};
    if (e->complete())
      fmt::print("{}{:11}now {}: {}\n", lines_of(s), "", e->because.empty() ? "" : "because", e->because);
    else
      fmt::print("{:11}{}\n{:11}with seed {} alone: {}; {}\n", inked("-", Ink::dim), s.claim.said, "",
                 e->seeds.front(), learning::measured_text(s), e->because);
    fmt::print("{:11}{}\n", "",
               !recorded.entry  ? recorded.missing
               : !e->complete() ? "on record: " + learning::verdict_text(recorded)
               : claims_agree(*recorded.entry, *e)
                   ? "agrees with the record: " + learning::verdict_text(recorded)
                   : "DIFFERS from the record: " + learning::verdict_text(recorded));
  }
  return exit_ok;
}

/// Decides some recorded claims again, chosen at random among those that take less than `under` seconds.
int check(const Options& o, const std::vector<Claim>& claims, const fs::path& root) {
  std::vector<Standing> cheap = learning::standings(claims, root, fingerprint(this_machine()));
  std::erase_if(cheap, [&](const Standing& s) {
    return !s.entry || s.entry->seconds >= o.under ||
           (s.claim.kind != ClaimKind::exact && s.claim.kind != ClaimKind::random);
  });
  if (cheap.empty())
    throw std::invalid_argument(fmt::format("--check: no record takes less than {} s", o.under));
  const uint64_t seed = settings().seed_given ? settings().seed : std::random_device{}();
  std::mt19937_64 random(seed);
  std::ranges::shuffle(cheap, random);
  cheap.resize(std::min(cheap.size(), size_t(o.check)));
  std::vector<Claim> chosen;
  for (const Standing& s : cheap) chosen.push_back(s.claim);
  fmt::print("{} of the claims on record, chosen by --seed {}\n", chosen.size(), seed);
  std::fflush(stdout);
  ClaimRecord now{fingerprint(this_machine()), this_machine().processor, {}};
  run_pieces(now, learning::missing_pieces(chosen, now), 0, [](size_t, double) {});
  int differ = 0;
  for (const Standing& s : cheap) {
    const ClaimEntry& e = *now.find(s.claim.id);
    const bool agree = claims_agree(*s.entry, e);
    differ += agree ? 0 : 1;
    fmt::print("{}  {}: {} on record ({}), now {} ({})\n",
               inked(agree ? "agrees " : "DIFFERS", agree ? Ink::green : Ink::red), s.claim.id,
               name_of(s.entry->verdict()), claim_interval(s.entry->low(), s.entry->high()),
               name_of(e.verdict()), claim_interval(e.low(), e.high()));
  }
  return differ == 0 ? exit_ok : exit_failed;
}

int record_all(const Options& o, std::vector<Claim> claims, const fs::path& root) {
  if (o.untimed) std::erase_if(claims, [](const Claim& c) { return c.kind == ClaimKind::timed; });
  const std::string machine = fingerprint(this_machine());
  const fs::path file = o.out.empty() ? claim_record_file(root, machine) : fs::path(o.out);
  ClaimRecord record{machine, this_machine().processor, {}};
  if (fs::exists(file)) record = read_claim_record(file, machine);
  if (o.again)
    std::erase_if(record.entries, [&](const ClaimEntry& e) {
      return std::ranges::find(claims, e.claim.id, &Claim::id) != claims.end();
    });
  if (o.out.empty()) fs::create_directories(file.parent_path());
  require_writable_file(file);
  for (const Claim& c : claims)
    if (c.kind == ClaimKind::gpu)
      if (auto entry = learning::from_gpu_rows(c, root)) record.set(std::move(*entry));
  learning::on_interruption(
      "interrupted; finished runs are recorded, klab claims --all continues with the others");
  save(file, record);
  const std::vector<Piece> pieces = learning::missing_pieces(claims, record);
  size_t done = 0;
  const bool whole = run_pieces(record, pieces, o.minutes, [&](size_t i, double seconds) {
    save(file, record);
    done = i + 1;
    fmt::print("{}, seed {}: {} claims, {:.0f} s of processor time; {} of {} runs\n",
               pieces[i].experiment->name, pieces[i].seed, pieces[i].claims.size(), seconds, done,
               pieces.size());
    std::fflush(stdout);
  });
  if (!whole)
    fmt::print("{} min are over: {} runs are left; klab claims --all continues\n", o.minutes,
               pieces.size() - done);
  else
    fmt::print("{}: {} claims\n", file.string(), record.entries.size());
  return exit_ok;
}

/// Rewrites the tables of claims in the lessons that have some.
int make_lessons(const std::vector<Standing>& all, const fs::path& root) {
  for (const auto& lab : fs::directory_iterator(root / "labs")) {
    const fs::path file = lab.path() / "README.md";
    std::ifstream in(file);
    const std::string before(std::istreambuf_iterator<char>(in), {});
    const std::string now = learning::with_claims(before, all, file.string());
    if (now == before) continue;
    write_file(file, now);
    fmt::print("{}\n", file.string());
  }
  return exit_ok;
}

int run(const Options& o) {
  if (int(o.run) + int(o.all) + int(o.page) + int(o.lessons) + int(o.check > 0) > 1)
    throw std::invalid_argument(
        "--run, --all, --check, --page and --lessons exclude each other: leave out all but one");
  if (!o.all && (o.again || o.untimed || o.minutes > 0 || !o.out.empty()))
    throw std::invalid_argument(
        "--again, --untimed, --minutes and --out are options of --all: add it, or leave them out");
  if ((o.page || o.lessons) && !o.names.empty())
    throw std::invalid_argument("--page and --lessons hold all claims: leave out " + o.names.front());
  if (o.json && (o.all || o.page || o.lessons || o.check > 0))
    throw std::invalid_argument(
        "--json shows the record, or with --run what is measured now: leave out the other option");
  const fs::path root = root_or_throw();
  const std::vector<Claim> claims = learning::claims_named(o.names);
  if (o.all) return record_all(o, claims, root);
  if (o.run) return decide_now(claims, root, o.json);
  if (o.check > 0) return check(o, claims, root);
  // Page and lessons do not depend on the machine that makes them.
  const bool everywhere = o.page || o.lessons;
  const std::vector<Standing> all =
      learning::standings(claims, root, everywhere ? "" : fingerprint(this_machine()));
  if (o.page) {
    fmt::print("{}", learning::claims_page(all));
    return exit_ok;
  }
  return o.lessons ? make_lessons(all, root) : show(all, o.json);
}

KLAB_COMMAND(
    {.name = "claims",
     .summary = "What is claimed about learning and rendering, and the verdicts on record",
     .details = "Each claim has a metric and a range of it in which it holds. NAME is an experiment or a "
                "claim: norms, norms.alike.\n"
                "A record lies in reports/recorded/<machine>/claims.json. Three seeds decide "
                "where something is random;\n"
                "--run with --seed N measures that seed alone. A claim that does not hold is no failure: the "
                "exit code is 0, and 1 only\n"
                "where --check finds another verdict than the recorded one, and intervals that do not meet.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("name", o->names, "experiments or claims (default: all)")->option_text("[NAME ...]");
       app.add_flag("--run", o->run, "decide now, and compare with the record");
       app.add_flag("--all", o->all,
                    "record what this machine's record lacks, run by run; continues after an interruption");
       app.add_flag("--again", o->again, "with --all: also what is on record");
       app.add_flag("--untimed", o->untimed,
                    "with --all: leave out claims that times decide, on a busy machine");
       add_number(app, "--minutes", o->minutes, range::minutes, "with --all: begin no run after this time");
       app.add_option("--out", o->out, "with --all: another file than this machine's record")
           ->type_name("FILE");
       add_number(app, "--check", o->check, Range{1, 1000},
                  "decide as many recorded claims again, chosen at random; exit code 1 if one differs");
       add_number(app, "--under", o->under, range::seconds,
                  "with --check: among those that took less processor time (default: 60)");
       app.add_flag("--page", o->page, "print the page docs/claims.md");
       app.add_flag("--lessons", o->lessons, "make the tables of claims in the lessons again");
       add_json(app, o->json, {{"claims", ""}, {"claims", "--run"}});
       add_json_file(app, "claims", "--all --out FILE");
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab::claims_command
