#include "labs/radiance/run/batch_relief.h"

#include <fmt/format.h>
#include <malloc.h>

#include <utility>

namespace klab {

BatchRelief::BatchRelief(RunContext& run)
    : run_(run),
      shortage_([](const std::string& text) { std::fprintf(stderr, "note      %s\n", text.c_str()); }),
      pressure_(run.options.pressure) {}

// The batch of other fields has a fixed size, and several processes would have to agree.
void BatchRelief::relieve(FieldTrainer& trainer) {
  if (run_.ranks.size() > 1) return;
  const Relief relief = pressure_.measure();
  const int64_t batch = trainer.batch_samples(), planned = batch_samples(run_.options.settings);
  const auto say = [&](const std::string& what) {
    fmt::print(stderr, "note      memory: {}; {}\n", pressure_.text(), what);
  };
  if (relief == Relief::drop_caches) {
    run_.memory.choice.ceilings = false;  // and the arrays that they copy
    if (run_.pool) run_.pool->forget_cached_pages();
    malloc_trim(0);
    say("caches are dropped");
  } else if (relief == Relief::shrink && batch / 2 >= kLeastBatch) {
    say(fmt::format("going on with a batch of {} samples instead of {}", batch / 2, batch));
    resize(trainer, batch / 2);
    ++shrunk_;
  } else if (relief == Relief::grow && batch > 0 && 2 * batch <= planned) {
    say(fmt::format("going on with a batch of {} samples instead of {}", 2 * batch, batch));
    resize(trainer, 2 * batch);
    ++grown_;
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
