// What all readers of scenes on disk share: pictures that are found or not, their decoding, and the scene's place in the box.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "labs/radiance/scene/lens_models.h"
#include "labs/radiance/scene/scene.h"

namespace klab {

/// A picture that is there, and the camera that took it.
struct Frame {
  std::filesystem::path image;
  std::filesystem::path mask;      // empty: none
  std::string name;                // for messages and reports
  std::string model;               // of the lens, for the list of cameras
  Camera camera;                   // at the size of `image`; its pose in the file's own world
  std::optional<Fisheye> fisheye;  // of the lens, in place of the camera's k1, k2, p1, p2
  bool as_stored = false;          // no orientation heeded
  bool jpeg = false;
  int factor = 1;  // by which the picture is still to be made smaller
  Camera small() const { return camera.downscaled(factor); }
};

/// Train and test never mix.
struct Frames {
  std::vector<Frame> train, test;
  /// Every holdout-th frame, the first among them, goes from train to test; 0: none. One frame alone stays.
  void hold_out(int holdout);
};

/// Looks for the pictures of a scene's frames, and counts those that are not there or do not fit.
class PictureFinder {
 public:
  /// `downscale`: by which pictures will be made smaller. Copies that are so much smaller are taken where they lie beside:
  /// images_4/x.jpg for images/x.jpg and 4, or images_2/x.jpg, of which half remains to be done.
  PictureFinder(std::filesystem::path root, int downscale) : root_(std::move(root)), downscale_(downscale) {}

  /// The picture `name` below the root, also with the ending .png, .jpg or .jpeg behind the name. `stated` is the size that
  /// the camera was measured with: a picture of another shape (by more than 2 %) is counted and left out. Gives a frame with
  /// image, name and the size in its camera. A JPEG with an EXIF orientation is turned upright, unless its camera says a
  /// size that fits the file as it is stored; where both fit, it is stored that counts, since COLMAP and what is built on
  /// it do not turn.
  /// Where nothing is stated, `shape` is what the picture must have the shape of.
  std::optional<Frame> find(const std::string& name, std::optional<ImageSize> stated,
                            std::optional<ImageSize> shape = {});
  const std::filesystem::path& root() const { return root_; }
  /// What was counted, a line each. `what`: the file that names the frames; `all`: how many it names.
  std::vector<std::string> notes(const std::string& what, size_t all) const;
  const std::string& first_missing() const { return first_missing_; }

 private:
  const PictureHeader& header_of(const std::filesystem::path& file);
  std::optional<Frame> smaller_copy(const std::string& name, ImageSize full);

  std::filesystem::path root_;
  int downscale_;
  std::map<std::string, PictureHeader> headers_;  // several frames may name one file
  int missing_ = 0, odd_ = 0, turned_ = 0, as_stored_ = 0, copies_ = 0;
  std::string first_missing_, first_odd_;
};

/// A file in `folder` of that name, also with a picture's ending behind it; empty where there is none.
std::filesystem::path picture_in(const std::filesystem::path& folder, const std::string& name);

/// The points become the scene's, in the file's world; those left out are counted in its notes, and that there are none.
void take_points(Scene& scene, PointCloud cloud);

/// Puts cameras and points from the file's world into the grid by the scene's turn, scale and offset. Throws
/// std::runtime_error, naming the frame, where a camera is not within range::place then.
void place_in_grid(Scene& scene, Frames& frames);

/// Chooses turn, scale, offset and cascades for a world without a box of its own, from cameras and points:
///   turn     the mean of the cameras' up directions becomes +z
///   offset   the point that is nearest to all lines of sight (by least squares) becomes the middle of the box; where the lines
///            are nearly parallel or that point lies behind most cameras, the mean of the cameras' places
///   scale    cameras are 1.32 grid units from the middle on average: 4 units of instant-ngp's world, which is what its
///            converter of COLMAP models (scripts/colmap2nerf.py) makes of them
///   box      a cube of side 1, 2, 4, 8 or 16, the smallest that holds 95 % of the points; 4 where there are none
void choose_place(Scene& scene, const Frames& frames);

/// Decodes the pictures of frames that place_in_grid() has placed, all threads at once, and makes them the scene's views.
/// Lenses of wide angle, and all lenses with options.pinhole, become pinholes. Pictures that the options leave on the disk are not
/// read, nor masks where there are to be no pictures.
/// Throws std::runtime_error for pictures that cannot be read, for want of memory, and where no camera sees the box or no
/// pixel is left.
void load_pictures(Scene& scene, const Frames& frames, const SceneOptions& options,
                   const std::filesystem::path& path);

}  // namespace klab
