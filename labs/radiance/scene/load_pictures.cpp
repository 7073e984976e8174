// Makes views from frames: reports what will be read and checks its memory, then decodes on all threads.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>

#include "harness/records/memory_left.h"
#include "labs/radiance/scene/depth.h"
#include "labs/radiance/scene/frames.h"
#include "labs/radiance/scene/lens_undone.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

/// Returns the bytes of the pictures in memory, and of the lists of counted pixels if there are masks.
int64_t bytes_of(const std::vector<Frame>& frames) {
  int64_t bytes = 0;
  for (const Frame& f : frames) {
    const Camera c = f.small();
    bytes += int64_t(c.width) * c.height * (f.mask.empty() ? 4 : 8);
  }
  return bytes;
}

// Returns the additional bytes during decoding: one picture for each thread, with its file and rows.
int64_t bytes_to_decode(const std::vector<Frame>& frames) {
  int64_t largest = 0;
  for (const Frame& f : frames)
    if (f.factor > 1 || f.fisheye)
      largest = std::max(largest, bytes_to_load({f.camera.width, f.camera.height}, f.factor, f.jpeg));
  return bytes_of(frames) + largest * std::min<int64_t>(omp_get_max_threads(), int64_t(frames.size()));
}

bool same_lens(const Frame& a, const Frame& b) {
  const Camera &p = a.camera, &q = b.camera;
  return a.factor == b.factor && a.model == b.model && a.fisheye == b.fisheye && p.width == q.width &&
         p.height == q.height && p.fx == q.fx && p.fy == q.fy && p.cx == q.cx && p.cy == q.cy &&
         p.k1 == q.k1 && p.k2 == q.k2 && p.p1 == q.p1 && p.p2 == q.p2;
}

std::string lens_text(const Frame& frame) {
  const Camera c = frame.small();
  std::string text = fmt::format("{} {}x{}, focal length {:.6g}", frame.model, c.width, c.height, c.fx);
  if (c.fx != c.fy) text += fmt::format(" {:.6g}", c.fy);
  text += fmt::format(" px, middle {:.6g} {:.6g}", c.cx, c.cy);
  if (frame.fisheye) {
    const Fisheye& k = *frame.fisheye;
    text += fmt::format(", fisheye k1 {:.4g} k2 {:.4g} k3 {:.4g} k4 {:.4g}", k[0], k[1], k[2], k[3]);
  } else if (c.distorts()) {
    text += fmt::format(", k1 {:.4g} k2 {:.4g} p1 {:.4g} p2 {:.4g}", c.k1, c.k2, c.p1, c.p2);
  }
  return text;
}

/// Lists each lens once, with the number of its pictures.
std::vector<std::string> lenses_of(const Frames& frames) {
  std::vector<std::pair<const Frame*, int>> lenses;
  for (const auto* set : {&frames.train, &frames.test})
    for (const Frame& frame : *set) {
      const auto at =
          std::ranges::find_if(lenses, [&](const auto& lens) { return same_lens(*lens.first, frame); });
      if (at == lenses.end())
        lenses.emplace_back(&frame, 1);
      else
        ++at->second;
    }
  std::vector<std::string> lines;
  for (const auto& [frame, count] : lenses)
    lines.push_back(fmt::format("{}; {} picture{}", lens_text(*frame), count, count == 1 ? "" : "s"));
  return lines;
}

std::string describe(const Scene& scene, const Frames& frames, const fs::path& path, int downscale,
                     int64_t bytes) {
  const Frame& first = frames.train.front();
  const Camera c = first.small();
  const WorldPosition m = scene.position_of({0.5F, 0.5F, 0.5F});
  const auto along = [&](size_t k) {
    return scene.far_away() ? fmt::format("{:.8g}", m[k]) : fmt::format("{:.3g}", m[k]);
  };
  std::string text = fmt::format(
      "scene     {} ({} format)\nviews     {} for training, {} for testing\npicture   {}x{}{}, focal length "
      "{:.1f} "
      "px{}\nbox       a cube of side {:.3g} in the file's units around ({}, {}, {}), near plane "
      "{:.3g}\n",
      path.string(), scene.format, frames.train.size(), frames.test.size(), c.width, c.height,
      downscale > 1 ? fmt::format(" (downscaled by {})", downscale) : "", c.fx,
      first.fisheye  ? ", a lens of wide angle"
      : c.distorts() ? ", lens distortion"
                     : "",
      scene.side() / scene.scale, along(0), along(1), along(2), scene.near / scene.scale);
  if (!scene.points.empty()) text += fmt::format("points    {}\n", scene.points.size());
  return text + fmt::format("memory    {:.0f} MB for the pictures", double(bytes) * 1e-6);
}

/// Returns the pixels of a picture of that size that a mask keeps: all of a pixel's mask pixels must be
/// neither black nor transparent.
std::vector<uint8_t> read_mask(const fs::path& file, int width, int height) {
  const Image mask = load_image(file);
  if (std::abs(double(mask.width) * height / (double(mask.height) * width) - 1) > 0.02 ||
      mask.width < width || mask.height < height)
    throw Refused(file, "mask",
                  fmt::format("the mask is {}x{}, which does not fit its picture of {}x{}", mask.width,
                              mask.height, width, height),
                  "make it as large as the picture, or take it away");
  std::vector<uint8_t> counted(size_t(width) * size_t(height), 1);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int64_t j = int64_t(y) * mask.height / height; j < int64_t(y + 1) * mask.height / height; ++j)
        for (int64_t i = int64_t(x) * mask.width / width; i < int64_t(x + 1) * mask.width / width; ++i) {
          const uint8_t* p = mask.at(int(i), int(j));
          if (p[3] == 0 || std::max({p[0], p[1], p[2]}) == 0)
            counted[size_t(y) * size_t(width) + size_t(x)] = 0;
        }
  return counted;
}

/// Returns the pixels of `list` (null: all) that count.
std::shared_ptr<const std::vector<int32_t>> both(const std::shared_ptr<const std::vector<int32_t>>& list,
                                                 const std::vector<uint8_t>& counted) {
  if (counted.empty()) return list;
  auto kept = std::make_shared<std::vector<int32_t>>();
  const auto n = int32_t(list ? list->size() : counted.size());
  for (int32_t i = 0; i < n; ++i) {
    const int32_t pixel = list ? (*list)[size_t(i)] : i;
    if (counted[size_t(pixel)] != 0) kept->push_back(pixel);
  }
  if (!list && kept->size() == counted.size()) return nullptr;
  return kept;
}

bool becomes_pinhole(const Frame& frame, const SceneOptions& options) {
  return frame.fisheye || (options.pinhole && frame.camera.distorts());
}

/// Reads a view's picture from its file.
Image read_picture(const Frame& frame, bool resampled) {
  Image image = load_image(frame.image, {.reduce = frame.factor, .as_stored = frame.as_stored});
  const Camera c = frame.small();
  if (image.width != c.width || image.height != c.height)
    throw Refused(frame.image, "replaced",
                  fmt::format("is {}x{} now and was {}x{} before: it was replaced meanwhile", image.width,
                              image.height, c.width, c.height),
                  "start again with what is there");
  if (!resampled) return image;
  Image pinhole = pinhole_picture(image, c, frame.fisheye, {}).image;
  pinhole.extra_bytes = image.extra_bytes;
  return pinhole;
}

std::shared_ptr<const PictureSource> source_of(const Frame& frame, bool resampled) {
  const Camera c = frame.small();
  const int64_t bytes = bytes_to_load({frame.camera.width, frame.camera.height}, frame.factor, frame.jpeg) +
                        (resampled ? int64_t(c.width) * c.height * 4 : 0);
  return std::make_shared<const PictureSource>(
      PictureSource{frame.image, [frame, resampled] { return read_picture(frame, resampled); }, bytes});
}

/// Does the work of one view that is independent of the others. Masks of views that keep their lens are
/// applied later, because such views share their lists.
void load_view(const Frame& frame, const Scene& scene, const SceneOptions& options, View& view,
               std::vector<uint8_t>& counted) {
  const bool resampled = becomes_pinhole(frame, options);
  view.source = source_of(frame, resampled);
  if (options.depth && !resampled) view.depth = depth_of(frame, frame.small(), scene);
  if (options.pictures == SceneOptions::Pictures::decoded) view.image = view.source->read();
  if (frame.mask.empty()) return;
  const Camera c = frame.small();
  counted = read_mask(frame.mask, c.width, c.height);
  if (!resampled) return;
  view.with_ray = pixels_of_pinhole(c, frame.fisheye, counted);
  counted.clear();
}

/// Caches the lists of pixels with a ray, one for all views of a lens.
class RayLists {
 public:
  explicit RayLists(const fs::path& path) : path_(path) {}
  std::shared_ptr<const std::vector<int32_t>> of(const Frame& frame, bool resampled) {
    for (const auto& [other, list] : lists_)
      if (same_lens(*other, frame)) return list;
    const Camera camera = frame.small();
    if (resampled) return lists_.emplace_back(&frame, pixels_of_pinhole(camera, frame.fisheye, {})).second;
    lists_.emplace_back(&frame, pixels_with_ray(camera));
    if (const auto& list = lists_.back().second; list && list->empty())
      throw Refused(path_, frame.name, fmt::format("{}: no pixel has a ray through this lens", frame.name),
                    "check \"k1\", \"k2\", \"p1\", \"p2\"");
    return lists_.back().second;
  }

 private:
  const fs::path& path_;
  std::vector<std::pair<const Frame*, std::shared_ptr<const std::vector<int32_t>>>> lists_;
};

/// Counts over both sets of views.
struct Counts {
  int resampled = 0, empty = 0, extra_bytes = 0;
};

std::vector<View> load_views(const std::vector<Frame>& frames, const Scene& scene,
                             const SceneOptions& options, const fs::path& path, Counts& counts) {
  std::vector<View> views(frames.size());
  std::vector<std::vector<uint8_t>> counted(frames.size());
  std::vector<std::exception_ptr> errors(frames.size());
  std::mutex one_at_a_time;
  size_t done = 0;
#pragma omp parallel for schedule(dynamic)
  for (size_t i = 0; i < frames.size(); ++i) {
    try {
      if (options.pictures == SceneOptions::Pictures::none) continue;
      load_view(frames[i], scene, options, views[i], counted[i]);
      const std::lock_guard lock(one_at_a_time);
      if (options.progress) options.progress(++done, frames.size());
    } catch (...) {
      errors[i] = std::current_exception();  // an exception must not leave a parallel region
    }
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  RayLists lists(path);
  std::vector<View> kept;
  for (size_t i = 0; i < frames.size(); ++i) {
    View& view = views[i];
    view.name = frames[i].name;
    view.camera = frames[i].small();
    counts.extra_bytes += view.image.extra_bytes ? 1 : 0;
    if (becomes_pinhole(frames[i], options)) {
      view.camera.k1 = view.camera.k2 = view.camera.p1 = view.camera.p2 = 0;
      ++counts.resampled;
      if (view.source && frames[i].mask.empty()) view.with_ray = lists.of(frames[i], true);
    } else {
      view.with_ray = both(lists.of(frames[i], false), counted[i]);
    }
    if (view.with_ray && view.with_ray->empty() && ++counts.empty > 0) continue;
    kept.push_back(std::move(view));
  }
  return kept;
}

void note_views(Scene& scene, const Counts& counts) {
  if (counts.resampled > 0)
    scene.notes.push_back(
        fmt::format("{} pictures of lenses that bend are taken as a pinhole's, of the same focal length",
                    counts.resampled));
  if (counts.extra_bytes > 0)
    scene.notes.push_back(
        fmt::format("{} JPEGs have a few bytes between their parts, which are passed over: every pixel "
                    "is there",
                    counts.extra_bytes));
  if (counts.empty > 0)
    scene.notes.push_back(fmt::format("{} views have no pixel that counts and are left out", counts.empty));
}

void note_pixels_left_out(Scene& scene, bool masks, bool lenses, bool resampled) {
  int64_t all = 0, seen = 0;
  size_t views = 0;
  for (const auto* set : {&scene.train, &scene.test})
    for (const View& v : *set) {
      if (!v.with_ray) continue;
      ++views;
      all += int64_t(v.camera.width) * v.camera.height;
      seen += int64_t(v.with_ray->size());
    }
  if (views == 0) return;
  const char* lens = resampled ? "show nothing: they lie beyond the picture that the lens made"
                               : "have no ray: their lens's polynomial folds before it reaches them";
  const char* why = masks && lenses ? "are masked, or out of the lens's reach" : masks ? "are masked" : lens;
  scene.notes.push_back(
      fmt::format("{} of {} pixels in {} views {}. They are left out of training and scores", all - seen, all,
                  views, why));
}

/// Says how much measured depth there is and whether it was read.
void note_depth(Scene& scene, const Frames& frames, const SceneOptions& options) {
  const auto maps = std::ranges::count_if(frames.train, [](const Frame& f) { return !f.depth.empty(); });
  if (!options.depth) {
    if (maps > 0)
      scene.notes.push_back(
          fmt::format("depth is not read: {} pictures have a \"depth_file_path\", and pictures alone are "
                      "learned unless the "
                      "config gives \"depth\" a weight",
                      maps));
    return;
  }
  int64_t known = 0, without = 0;
  for (const View& v : scene.train) {
    known += std::ranges::count_if(v.depth, [](float d) { return d > 0; });
    without += v.depth.empty();
  }
  if (known > 0)
    scene.notes.push_back(fmt::format("measured depth of {} pixels in {} views{}", known,
                                      int64_t(scene.train.size()) - without,
                                      without > 0 ? fmt::format("; {} views have none", without) : ""));
}

/// Returns whether a ray of a coarse grid over the view meets the scene's box.
bool sees_box(const Scene& scene, const View& view) {
  constexpr int kRays = 9;  // rays along a side
  const float half = 0.5F * scene.side();
  for (int i = 0; i < kRays * kRays; ++i) {
    const float u = (float(i % kRays) + 0.5F) / kRays * float(view.camera.width);
    const float v = (float(i / kRays) + 0.5F) / kRays * float(view.camera.height);
    if (!view.camera.sees(u, v)) continue;
    const Ray ray = view.camera.ray(u, v);
    const float o[] = {ray.origin.x, ray.origin.y, ray.origin.z};
    const float d[] = {ray.direction.x, ray.direction.y, ray.direction.z};
    float enter = 0, leave = 1e30F;
    for (size_t k = 0; k < 3; ++k) {
      const float slope = std::abs(d[k]) < 1e-12F ? 1e-12F : d[k];
      const float near = (0.5F - half - o[k]) / slope, far = (0.5F + half - o[k]) / slope;
      enter = std::max(enter, std::min(near, far));
      leave = std::min(leave, std::max(near, far));
    }
    if (enter < leave) return true;
  }
  return false;
}

// Notes views that see nothing of the box: the usual sign of a wrong scale or convention.
void note_odd_cameras(Scene& scene, const fs::path& path) {
  size_t inside = 0, away = 0;
  const float half = 0.5F * scene.side();
  for (const View& v : scene.train) {
    const Vec3 p = v.camera.position() - Vec3{0.5F, 0.5F, 0.5F};
    inside += std::max({std::abs(p.x), std::abs(p.y), std::abs(p.z)}) < half;
    away += !sees_box(scene, v);
  }
  if (away == scene.train.size())
    throw Refused(path, "cameras", fmt::format("no ray of its {} cameras for training meets the box", away),
                  "check \"scale\", \"offset\" and which way the cameras look (along their -z, +y up)");
  if (scene.cascades == 1 && inside)
    scene.notes.push_back(
        fmt::format("{} cameras stand inside the box: the scene may need a larger aabb_scale", inside));
  if (away)
    scene.notes.push_back(fmt::format("{} cameras look away from the box and see nothing of it", away));
}

}  // namespace

void load_pictures(Scene& scene, const Frames& frames, const SceneOptions& options, const fs::path& path) {
  scene.lenses = lenses_of(frames);
  if (frames.train.size() < 2)
    scene.notes.emplace_back(
        "only one view to train on: it can be learned by heart, its geometry cannot be known");
  const int64_t train = bytes_of(frames.train), test = bytes_of(frames.test);
  if (options.say) options.say(describe(scene, frames, path, options.downscale, train + test));
  if (options.pictures == SceneOptions::Pictures::decoded)
    require_memory(std::max(bytes_to_decode(frames.train) + test, train + bytes_to_decode(frames.test)),
                   "reading the pictures of " + path.string(), "use --downscale, or fewer pictures");
  Counts counts;
  scene.train = load_views(frames.train, scene, options, path, counts);
  scene.test = load_views(frames.test, scene, options, path, counts);
  note_depth(scene, frames, options);
  note_views(scene, counts);
  if (scene.train.empty())
    throw Refused(path, "mask", "no view for training is left: no pixel counts, by lens or mask",
                  "check the masks, in which black is left out");
  bool masks = false, lenses = false;
  for (const auto* set : {&frames.train, &frames.test})
    for (const Frame& frame : *set) {
      scene.masks += frame.mask.empty() ? 0 : 1;
      masks = masks || !frame.mask.empty();
      lenses = lenses || frame.camera.distorts() || frame.fisheye;
    }
  note_pixels_left_out(scene, masks, lenses, counts.resampled > 0);
  note_odd_cameras(scene, path);
}

}  // namespace klab
