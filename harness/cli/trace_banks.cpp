// Lanes against the banks of shared memory, for the worst request of each source line; and active lanes of each line.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "harness/cli/swizzle.h"
#include "harness/cli/trace_pictures.h"
#include "harness/records/csv_text.h"
#include "harness/simt/banks.h"
#include "harness/simt/line_counts.h"
#include "harness/simt/modules.h"

namespace klab {
namespace {

constexpr size_t kMostBankPictures = 8, kMostLaneLines = 16;
constexpr double kLeftOfBanks = 44, kBankWidth = 11, kLaneHeight = 7;

/// An access of a source line: what the text of a trace shows in one line.
struct LineAccess {
  std::string file;
  int line = 0;
  const simt::RecordedAccess* worst = nullptr;  // the one with the worst request
  std::string kind;
  simt::Space space = simt::Space::global;
  bool engine = false;
  unsigned width = 0;
  simt::Counts counts;
  unsigned fewest = 32, most = 0;
};

std::string kind_of_access(const simt::RecordedAccess& a) {
  LineCounts l;
  l.space = a.space;
  l.write = a.write;
  l.atomic = a.atomic;
  l.async = a.engine;
  return kind_of(l);
}

std::vector<LineAccess> accesses_by_line(const simt::Recording& recording) {
  std::map<std::tuple<std::string, int, std::string, unsigned>, LineAccess> lines;
  for (const simt::RecordedAccess& a : recording.accesses()) {
    if (a.counts.requests == 0) continue;
    const simt::SourceLine at = simt::source_of(a.pc);
    const std::string kind = kind_of_access(a);
    LineAccess& l = lines[{at.file, at.line, kind, a.width}];
    l.file = at.file;
    l.line = at.line;
    l.kind = kind;
    l.space = a.space;
    l.engine = a.engine;
    l.width = a.width;
    l.counts.add(a.counts);
    l.fewest = std::min(l.fewest, a.fewest_lanes);
    l.most = std::max(l.most, a.most_lanes);
    if (l.worst == nullptr || a.worst.passes - a.worst.least > l.worst->worst.passes - l.worst->worst.least)
      l.worst = &a;
  }
  std::vector<LineAccess> list;
  for (auto& [key, line] : lines) list.push_back(std::move(line));
  return list;
}

/// A word of shared memory that a lane uses.
struct LaneWord {
  unsigned lane = 0, group = 0, bank = 0;
  uintptr_t offset = 0;
  size_t words_in_bank = 0;  // distinct words that the group wants of the bank
  bool shared_word = false;  // another lane of the group wants the same word
};

std::vector<LaneWord> words_of_request(const simt::RecordedAccess& a) {
  const simt::WorstRequest& r = a.worst;
  const auto groups = simt::bank_groups(a.write, r.bytes, r.mask, r.address);
  std::vector<LaneWord> words;
  for (unsigned g = 0; g < groups.size(); ++g) {
    std::map<unsigned, std::set<uintptr_t>> in_bank;
    std::map<uintptr_t, unsigned> lanes_of;
    for (unsigned lane = 0; lane < 32; ++lane) {
      if ((groups[g] >> lane & 1) == 0) continue;
      for (unsigned w = 0; w < simt::words_of_access(r.bytes); ++w) {
        const uintptr_t word = r.address[lane] / 4 + w;
        in_bank[unsigned(word % simt::kBanks)].insert(word);
        ++lanes_of[word];
        words.push_back(
            {.lane = lane, .group = g, .bank = unsigned(word % simt::kBanks), .offset = word * 4});
      }
    }
    for (LaneWord& w : words) {
      if (w.group != g) continue;
      w.words_in_bank = in_bank[w.bank].size();
      w.shared_word = lanes_of[w.offset / 4] > 1;
    }
  }
  return words;
}

TracePicture bank_picture(const LineAccess& l) {
  const simt::RecordedAccess& a = *l.worst;
  const simt::WorstRequest& r = a.worst;
  std::vector<LaneWord> words = words_of_request(a);
  TracePicture p{.name = fmt::format("banks_line_{}_{}", l.line, a.write ? "store" : "load"),
                 .title = fmt::format("Banks of line {}", l.line),
                 .svg = {},
                 .csv =
                     "line,access,bytes,requests,wavefronts,bank_conflicts,block,warp,passes,least,lane,"
                     "group,offset,bank,"
                     "words_in_bank\n"};
  for (const LaneWord& w : words)
    p.csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", l.line, l.kind, l.width,
                         l.counts.requests, l.counts.wavefronts, l.counts.conflicts(), r.block, r.warp,
                         r.passes, r.least, w.lane, w.group, w.offset, w.bank, w.words_in_bank);
  p.weight = double(r.passes - r.least) + 0.5;
  Svg& svg = p.svg;
  svg.grow(13);
  svg.text(0, svg.height() - 3, fmt::format("{}  {}", l.line, shortened(source_line(l.file, l.line), 56)),
           "m");
  svg.paragraph(fmt::format("{} of {} bytes a lane, its worst request: {} {} through the banks, {} would do",
                            l.kind, l.width, r.passes, r.passes == 1 ? "pass" : "passes", r.least),
                r.passes > r.least ? "t" : "");
  svg.paragraph(fmt::format("warp {} of block {}; {} conflicts in {} requests of this line", r.warp, r.block,
                            l.counts.conflicts(), l.counts.requests),
                "d");
  if (r.passes > r.least) {
    const std::array<int64_t, 4> under = passes_under_swizzles(a.write, r.bytes, r.mask, r.address);
    svg.paragraph(fmt::format("under a swizzle of 32, 64, 128 bytes: {}, {}, {} passes (klab swizzle)",
                              under[1], under[2], under[3]),
                  "d");
  }
  svg.grow(14);
  const double top = svg.height(), width = kBankWidth * simt::kBanks, height = kLaneHeight * 32;
  const auto x_of = [](double bank) { return kLeftOfBanks + bank * kBankWidth; };
  for (const unsigned bank : {0U, 8U, 16U, 24U, 31U})
    svg.text(x_of(bank + 0.5), top - 4, bank == 0 ? "bank 0" : std::to_string(bank), "d s", "middle");
  for (const unsigned lane : {0U, 8U, 16U, 24U, 31U})
    svg.text(kLeftOfBanks - 4, top + lane * kLaneHeight + 7, lane == 0 ? "lane 0" : std::to_string(lane),
             "d s", "end");
  std::string lines;
  for (int k = 0; k <= 4; ++k) {
    lines += fmt::format("M{:.1f} {:.1f}v{:.1f}", x_of(8 * k), top, height);
    lines += fmt::format("M{:.1f} {:.1f}h{:.1f}", x_of(0), top + 8 * k * kLaneHeight, width);
  }
  svg.path(lines, "rule");
  std::string conflict, free, same;
  for (const LaneWord& w : words) {
    const double x = x_of(w.bank), y = top + w.lane * kLaneHeight;
    if (w.words_in_bank > 1)
      conflict += box(x + 1, y + 0.7, kBankWidth - 2, kLaneHeight - 1.4);
    else if (w.shared_word)
      same += fmt::format("M{:.1f} {:.1f}a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0 -4.4 0", x + kBankWidth / 2 - 2.2,
                          y + kLaneHeight / 2);
    else
      free += fmt::format("M{:.1f} {:.1f}a2.4 2.4 0 1 0 4.8 0a2.4 2.4 0 1 0 -4.8 0", x + kBankWidth / 2 - 2.4,
                          y + kLaneHeight / 2);
  }
  svg.path(conflict, "bad");
  svg.path(free, "good");
  svg.path(same, "ring");
  // Words of each bank, in the group that wants most of it.
  std::map<unsigned, size_t> most;
  for (const LaneWord& w : words) most[w.bank] = std::max(most[w.bank], w.words_in_bank);
  const double below = top + height + 12;
  svg.text(kLeftOfBanks - 4, below, "words", "d s", "end");
  for (const auto& [bank, count] : most)
    svg.text(x_of(bank + 0.5), below, std::to_string(count), count > 1 ? "s t" : "s", "middle");
  svg.grow(height + 18);
  double x = kLeftOfBanks;
  const double key = svg.height() + 6;
  const auto entry = [&](const std::string& text, auto draw) {
    draw(x, key);
    svg.text(x + 14, key + 4, text, "s");
    x += 24 + 5.2 * double(text.size());
  };
  entry("waits for others in its bank", [&](double at, double y) { svg.rect(at, y - 3, 9, 6, "bad"); });
  entry("alone", [&](double at, double y) {
    svg.path(fmt::format("M{:.1f} {:.1f}a2.4 2.4 0 1 0 4.8 0a2.4 2.4 0 1 0 -4.8 0", at + 4, y), "good");
  });
  entry("same word as another lane", [&](double at, double y) {
    svg.path(fmt::format("M{:.1f} {:.1f}a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0 -4.4 0", at + 4, y), "ring");
  });
  svg.grow(14);
  return p;
}

/// A line of code without accesses, or with some.
struct LaneLine {
  std::string file, kind;
  int line = 0;
  int64_t times = 0, lanes = 0;
  unsigned fewest = 32, most = 0;
  double mean() const { return times > 0 ? double(lanes) / double(times) : 0; }
};

}  // namespace

std::vector<TracePicture> bank_pictures(const RecordedRun& of, std::vector<std::string>& left_out) {
  std::vector<LineAccess> list;
  for (LineAccess& l : accesses_by_line(*of.recording))
    if (l.space == simt::Space::shared && l.worst->worst.mask != 0) list.push_back(std::move(l));
  const auto beyond = [](const LineAccess& l) { return l.worst->worst.passes - l.worst->worst.least; };
  std::ranges::stable_sort(list,
                           [&](const LineAccess& a, const LineAccess& b) { return beyond(a) > beyond(b); });
  if (list.size() > kMostBankPictures) {
    left_out.push_back(
        fmt::format("banks of {} accesses to shared memory, none of them with more conflicts than those "
                    "shown",
                    list.size() - kMostBankPictures));
    list.resize(kMostBankPictures);
  }
  std::vector<TracePicture> pictures;
  for (const LineAccess& l : list) pictures.push_back(bank_picture(l));
  return pictures;
}

std::vector<TracePicture> lane_pictures(const RecordedRun& of, std::vector<std::string>& left_out) {
  std::vector<LaneLine> list;
  TracePicture p{.name = "lanes",
                 .title = "Active lanes",
                 .svg = {},
                 .csv =
                     "file,line,access,bytes,requests,lanes,fewest_lanes,most_lanes,sectors,wavefronts,bank_"
                     "conflicts\n"};
  for (const LineAccess& l : accesses_by_line(*of.recording)) {
    p.csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", csv_quoted(place_in_tree(l.file)), l.line,
                         l.kind, l.width, l.counts.requests, l.counts.lanes, l.fewest, l.most,
                         l.counts.sectors, l.counts.wavefronts, l.counts.conflicts());
    if (!l.engine)
      list.push_back({.file = l.file,
                      .kind = fmt::format("{} {} B", l.kind, l.width),
                      .line = l.line,
                      .times = l.counts.requests,
                      .lanes = l.counts.lanes,
                      .fewest = l.fewest,
                      .most = l.most});
  }
  std::map<std::pair<std::string, int>, LaneLine> code;
  for (const simt::RecordedCode& c : of.recording->code()) {
    const simt::SourceLine at = simt::source_of(c.pc);
    if (at.line == 0) continue;
    LaneLine& l = code[{at.file, at.line}];
    l.file = at.file;
    l.line = at.line;
    l.kind = "code";
    l.times += c.times;
    l.lanes += c.lanes;
    l.fewest = std::min(l.fewest, c.fewest_lanes);
    l.most = std::max(l.most, c.most_lanes);
  }
  for (const auto& [key, l] : code) {
    p.csv += fmt::format("{},{},code,,{},{},{},{},,,\n", csv_quoted(place_in_tree(l.file)), l.line, l.times,
                         l.lanes, l.fewest, l.most);
    list.push_back(l);
  }
  if (list.empty()) return {};
  std::ranges::stable_sort(list, [](const LaneLine& a, const LaneLine& b) { return a.mean() < b.mean(); });
  p.weight = 32 - list.front().mean();
  if (list.size() > kMostLaneLines) {
    left_out.push_back(
        fmt::format("active lanes of {} lines, none of them with fewer lanes than those shown (lanes.csv has "
                    "all)",
                    list.size() - kMostLaneLines));
    list.resize(kMostLaneLines);
  }
  std::ranges::stable_sort(list, [](const LaneLine& a, const LaneLine& b) {
    return std::tie(a.file, a.line) < std::tie(b.file, b.line);
  });
  Svg& svg = p.svg;
  svg.paragraph("Active lanes of each line: the mean of its requests, and of the times its code was entered",
                "t");
  svg.paragraph("A full bar is 32 lanes. The tick is the fewest that went together.", "d");
  constexpr double kBarLeft = 118, kBarWidth = 200, kHeight = 28;
  for (const LaneLine& l : list) {
    const double top = svg.height();
    svg.text(0, top + 12, fmt::format("{}  {}", l.line, shortened(source_line(l.file, l.line), 58)), "m");
    svg.text(kBarLeft - 6, top + 24, l.kind, "d s", "end");
    svg.path(box(kBarLeft, top + 16, kBarWidth, 9), "rule");
    svg.rect(kBarLeft, top + 16, kBarWidth * l.mean() / 32, 9, l.mean() < 31.99 ? "hot" : "blue", 0.85);
    const double tick = kBarLeft + kBarWidth * l.fewest / 32;
    svg.line(tick, top + 14, tick, top + 27, "edge");
    svg.text(kBarLeft + kBarWidth + 6, top + 24,
             l.fewest == l.most ? fmt::format("{:.1f}", l.mean())
                                : fmt::format("{:.1f}  ({}–{})", l.mean(), l.fewest, l.most),
             "s");
    svg.grow(kHeight);
  }
  return {std::move(p)};
}

}  // namespace klab
