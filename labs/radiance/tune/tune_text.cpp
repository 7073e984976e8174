// The text of a search's result.
#include <fmt/format.h>

#include <algorithm>

#include "harness/report/table.h"
#include "harness/simt/gpus.h"
#include "labs/radiance/run/stages.h"
#include "labs/radiance/tune/tune.h"

namespace klab {
namespace {

std::string race_text(const char* title, const std::vector<Racer>& racers, size_t best) {
  if (racers.empty()) return "";
  Table table({{title}, {"samples/s", Column::Kind::right}, {"", Column::Kind::bar, 16}, {""}});
  for (size_t i = 0; i < racers.size(); ++i) {
    const Racer& r = racers[i];
    const double rate = r.seconds.empty() ? 0 : 1 / *std::ranges::min_element(r.seconds);
    table.add({r.name, fmt::format("{:.3f} M", rate * 1e-6), Cell::bar(rate),
               i == best        ? "chosen"
               : !r.out.empty() ? r.out
                                : "no difference that counts"});
  }
  return table.text();
}

std::string blocks_text(const std::vector<BlockChoice>& blocks, const std::string& by) {
  if (blocks.empty()) return "";
  const bool counted = by == "counts";
  Table table(
      {{"threads of a block"}, {"usual", Column::Kind::right}, {"chosen", Column::Kind::right}, {""}});
  for (const BlockChoice& c : blocks) {
    std::string tried;
    for (const Racer& size : c.sizes)
      if (!size.seconds.empty())
        tried += fmt::format(
            "{}{} {}", tried.empty() ? "" : ", ", size.name,
            counted ? seconds_text(size.seconds.front())
                    : fmt::format("{:.3f} M samples/s", 1e-6 / *std::ranges::min_element(size.seconds)));
    table.add({c.variant, std::to_string(c.usual), std::to_string(c.threads), tried});
  }
  return table.text() +
         (counted ? fmt::format(
                        "blocks are chosen by the least time that {} needs for what is counted, then by how "
                        "many of its multiprocessors they reach, then by how far they fill these; no time "
                        "was measured\n",
                        simt::named_gpu().name)
                  : std::string("blocks are chosen by the time of whole steps\n"));
}

std::string halving_text(const std::vector<Contender>& contenders, size_t best) {
  if (contenders.empty()) return "";
  Table table({{"batch"}, {"PSNR on views left out, dB"}, {""}});
  for (size_t i = 0; i < contenders.size(); ++i) {
    const Contender& c = contenders[i];
    std::string scores;
    for (size_t k = 0; k < c.score.size(); ++k)
      scores += fmt::format("{}{:.2f} after {:.0f} s", k == 0 ? "" : ", ", c.score[k], c.seconds[k]);
    table.add({c.name, scores, i == best ? "chosen" : c.out});
  }
  return table.text();
}

/// Returns the index of the candidate whose name begins with `begin`.
template <class Candidate>
size_t index_of(const std::vector<Candidate>& list, const std::string& begin) {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].name.starts_with(begin)) return i;
  return list.size();
}

}  // namespace

std::string tune_text(const TuneResult& result) {
  const Tuned& t = result.tuned;
  std::string text =
      race_text("threads", result.threads, index_of(result.threads, fmt::format("{} thread", t.threads)));
  text += race_text("pictures", result.pictures,
                    index_of(result.pictures, fmt::format("{} worker{}, {} ahead", t.workers,
                                                          t.workers == 1 ? "" : "s", t.ahead)));
  text += blocks_text(result.blocks, t.blocks_by);
  text += halving_text(result.batch, index_of(result.batch, fmt::format("{} samples", t.batch_samples)));
  const double gain = t.gain();
  if (t.blocks_by == "counts")
    text +=
        fmt::format("took      {}; how much of it is won back only a GPU can say\n", duration_text(t.took));
  else if (gain <= 1.005)
    text += fmt::format(
        "took      {}; what there was before is as good as anything that was tried: the time is not won "
        "back\n",
        duration_text(t.took));
  else  // a run of x seconds takes x/gain: x·(1 - 1/gain) are saved
    text += fmt::format(
        "took      {}; runs are {:.2f} times as fast with it, so it is won back after {} of training\n",
        duration_text(t.took), gain, duration_text(t.took / (gain - 1)));
  return text;
}

}  // namespace klab
