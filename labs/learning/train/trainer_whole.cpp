// A network that is split by layers as a whole, for files: numbers of all ranks to the first, and those of a file to each rank.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "labs/learning/network/models.h"
#include "labs/learning/train/trainer.h"

namespace klab::learning {
namespace {

/// Appends a rank's numbers, or takes them out again, in one order: of each group values and moments, running averages, counts.
/// `begins` says where the rank's group begins in the network's and the step's.
template <class Use>
void each_array(Network& network, Step& step, const std::array<int64_t, 2>& begins,
                const std::array<int64_t, 2>& sizes, const Use& use) {
  const std::vector<Kept> moments = step.kept();
  for (const bool decays : {false, true}) {
    use(network.parameters().group(decays).values.data() + begins[decays], sizes[decays]);
    for (const size_t moment : {0, 1}) {
      const Kept& k = moments[2 * size_t(decays) + moment];
      use(k.values + begins[decays], sizes[decays]);
    }
  }
}

}  // namespace

WholeTraining Trainer::whole_training() const {
  WholeTraining all;
  all.network = make_model(settings_.model, data_.train.dims, data_.train.classes);
  all.network->build(1, settings_.seed);
  all.step = std::make_unique<Step>(*all.network, StepSettings{.optimizer = settings_.optimizer});
  return all;
}

std::string Trainer::own_layers() const {
  const auto& layers = network_->modules();
  return fmt::format("{} to {}", layers.front()->name(), layers.back()->name());
}

/// Groups of the ranks follow each other in the whole network's, because layers do, and each tensor is padded for itself.
std::unique_ptr<WholeTraining> Trainer::whole() {
  Parameters& own = network_->parameters();
  const std::array<int64_t, 2> sizes = {own.group(false).size, own.group(true).size};
  std::vector<float> mine;
  const auto append = [&](const float* values, int64_t n) { mine.insert(mine.end(), values, values + n); };
  each_array(*network_, program_, {0, 0}, sizes, append);
  for (const Kept& k : network_->kept()) append(k.values, volume(k.dims));
  for (const bool decays : {false, true}) mine.push_back(std::bit_cast<float>(*program_.count(decays)));
  const double facts[] = {double(sizes[0]), double(sizes[1]), double(mine.size())};
  const std::vector<double> of_all = ranks_.gather(facts);
  std::vector<int64_t> counts;
  for (int r = 0; r < ranks_.size(); ++r) counts.push_back(int64_t(of_all[size_t(3 * r + 2)]));
  const std::vector<float> numbers = ranks_.to_first(mine, counts);
  if (!ranks_.first()) return nullptr;
  auto all = std::make_unique<WholeTraining>(whole_training());
  std::vector<Kept> kept = all->network->kept();
  const float* at = numbers.data();
  const auto take = [&](float* to, int64_t n) {
    std::copy_n(at, n, to);
    at += n;
  };
  std::array<int64_t, 2> begins = {0, 0};
  size_t averages = 0;
  for (int r = 0; r < ranks_.size(); ++r) {
    const float* const end = at + counts[size_t(r)];
    const std::array<int64_t, 2> theirs = {int64_t(of_all[size_t(3 * r)]),
                                           int64_t(of_all[size_t(3 * r + 1)])};
    each_array(*all->network, *all->step, begins, theirs, take);
    for (; at < end - 2; ++averages) take(kept[averages].values, volume(kept[averages].dims));
    for (const bool decays : {false, true}) {
      begins[decays] += theirs[decays];
      // A rank without parameters of a group has not counted its updates.
      *all->step->count(decays) = std::max(*all->step->count(decays), std::bit_cast<int32_t>(*at++));
    }
  }
  return all;
}

void Trainer::take_own(WholeTraining& all) {
  Parameters &own = network_->parameters(), &theirs = all.network->parameters();
  std::array<int64_t, 2> begins = {0, 0};
  const std::array<int64_t, 2> sizes = {own.group(false).size, own.group(true).size};
  for (const bool decays : {false, true}) {
    const auto first =
        std::ranges::find_if(own.tensors(), [&](const Tensor& t) { return t.decays == decays; });
    if (first == own.tensors().end()) continue;
    const auto there =
        std::ranges::find_if(theirs.tensors(), [&](const Tensor& t) { return t.name == first->name; });
    begins[decays] = there->value - theirs.group(decays).values.data();
    *program_.count(decays) = *all.step->count(decays);
  }
  std::vector<float*> from;
  each_array(*all.network, *all.step, begins, sizes, [&](float* values, int64_t) { from.push_back(values); });
  size_t next = 0;
  each_array(*network_, program_, {0, 0}, sizes,
             [&](float* to, int64_t n) { std::copy_n(from[next++], n, to); });
  for (const Kept& k : network_->kept())
    for (const Kept& there : all.network->kept())
      if (there.name == k.name) std::copy_n(there.values, volume(k.dims), k.values);
}

}  // namespace klab::learning
