#include "labs/radiance/train/picture_turns.h"

#include <vector>

namespace klab {

void PictureTurns::allocate(Memory& memory, const ViewTensors& tensors) {
  const ViewLoader views(scene_, tensors, pool_);
  views.tie(memory);
  memory.allocate();
  views.write(memory);
  if (pool_ != nullptr) loaded_ = pool_->turns();
}

// Turns follow the number of the step, so that a resumed run uses the same pictures. If the backend has its
// own memory, no later step reads the place that a picture left. The next pictures are loaded there while
// steps run, and a turn only changes the places to read from.
void PictureTurns::turn_to(int64_t step, Memory& memory, const ViewTensors& tensors, Profile& profile) {
  if (pool_ == nullptr) return;
  const ViewLoader views(scene_, tensors, pool_);
  std::vector<size_t> turned;
  while (pool_->turns() < step / kEvery)
    profile.time("waiting for data", [&] {
      turned.push_back(pool_->turn());
      if (loaded_ >= pool_->turns()) return;
      views.load_picture(memory, pool_->places()[turned.back()]);
      loaded_ = pool_->turns();
    });
  if (!turned.empty()) memory.loaded();
  for (const size_t place : turned) views.write_places(memory, place);
  load_ahead(views, memory, profile);
}

// Loads one picture a step, so that the host never has to wait for room because of pictures that are not
// urgent.
void PictureTurns::load_ahead(const ViewLoader& views, Memory& memory, Profile& profile) {
  if (memory.backend().in_host_memory || loaded_ >= pool_->turns() + kLoaded) return;
  const std::optional<PicturePool::Place> next = pool_->coming(loaded_);
  if (!next) return;
  profile.time("loading pictures", [&] { views.load_picture(memory, *next); });
  ++loaded_;
}

}  // namespace klab
