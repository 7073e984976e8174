// Trains a radiance field on pictures with known cameras, saves and scores it, and renders a picture that no camera took.
//
//   train_a_scene [SCENE] [SECONDS] [CONFIG.json]      without a scene: the one that klab makes itself
#include <klab/radiance.h>

#include <cstdio>
#include <cstdlib>

using namespace klab::radiance;

int main(int argc, char** argv) try {
  const Scene scene = argc > 1 ? Scene::load(argv[1]) : Scene::built_in();
  std::printf("%s: %zu views to learn from\n", scene.name().c_str(), scene.train_views().size());

  // "best", the default, first times the variants of each operation on this machine.
  Trainer trainer(scene, {.config = argc > 3 ? argv[3] : "", .rungs = "last"});
  trainer.train({.seconds = argc > 2 ? std::atof(argv[2]) : 30}, [](const Progress& now) {
    std::printf("step %lld, %.0f s, %.2f dB\n", static_cast<long long>(now.step), now.seconds, now.psnr);
    return true;  // false ends the training here
  });
  const Field field = trainer.field();
  field.save("model.safetensors");

  Renderer renderer(field, {.rungs = "last"});
  const Score score = renderer.score(scene);
  std::printf("PSNR %.2f dB, SSIM %.4f on %zu test views\n", score.psnr, score.ssim, score.views.size());
  const Camera camera = look_at({1.6F, 0.5F, 1.2F}, {0.5F, 0.5F, 0.4F}, 320, 240, 45);
  renderer.render(camera).save_png("picture.png");
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
