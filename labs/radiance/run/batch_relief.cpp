#include "labs/radiance/run/batch_relief.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace klab {

BatchRelief::BatchRelief(RunContext& run)
    : run_(run),
      shortage_([](const std::string& text) { std::fprintf(stderr, "note      %s\n", text.c_str()); },
                run.options.least_batch.value_or(kLeastBatch)),
      pressure_(run.options.pressure),
      too_large_(std::numeric_limits<int64_t>::max()) {}

// The batch of other fields has a fixed size, and several processes would have to agree.
void BatchRelief::relieve(FieldTrainer& trainer) {
  if (run_.ranks.size() > 1) return;
  const Relief relief = pressure_.measure();
  const int64_t batch = trainer.batch_samples();
  const int64_t most = std::max(batch_samples(run_.options.settings), run_.options.most_batch.value_or(0));
  const auto say = [&](const std::string& what) {
    fmt::print(stderr, "note      memory: {}; {}\n", pressure_.text(), what);
  };
  if (relief == Relief::drop_caches) {
    run_.memory.choice.ceilings = false;  // and the arrays that they copy
    if (run_.pool) run_.pool->forget_cached_pages();
    malloc_trim(0);
    say("caches are dropped");
  } else if (relief == Relief::shrink && batch / 2 >= run_.options.least_batch.value_or(kLeastBatch)) {
    say(fmt::format("going on with a batch of {} samples instead of {}", batch / 2, batch));
    resize(trainer, batch / 2);
    ++shrunk_;
  } else if (relief == Relief::grow && batch > 0 && 2 * batch <= most && 2 * batch < too_large_) {
    say(fmt::format("going on with a batch of {} samples instead of {}", 2 * batch, batch));
    resize(trainer, 2 * batch);
    if (trainer.batch_samples() == 2 * batch)
      ++grown_;
    else
      too_large_ = 2 * batch;
  }
}

void BatchRelief::resize(FieldTrainer& trainer, int64_t samples) {
  bool tried = false;
  shortage_.through(trainer, [&] {  // if that fails, the batch shrinks further
    if (std::exchange(tried, true)) return;
    trainer.resize_batch(samples);
  });
}

}  // namespace klab
