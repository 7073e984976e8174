// Shared by all readers of scenes on disk: finding pictures, decoding them, and placing the scene in the box.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/records/refused.h"
#include "labs/radiance/scene/lens_models.h"
#include "labs/radiance/scene/scene.h"

namespace klab {

/// A picture that was found, and its camera.
struct Frame {
  std::filesystem::path image;
  std::filesystem::path mask;   // empty: none
  std::filesystem::path depth;  // a depth map (scene/depth.h); empty: none
  double depth_unit = 0.001;    // of its numbers, in the file's units
  std::vector<int32_t> shows;   // points of the scene that a COLMAP model has seen in it
  std::string name;             // for messages and reports
  std::string model;            // name of the lens model, for the list of cameras
  Camera camera;                // at the size of `image`; its pose in the file's own world, less the origin
  WorldPosition at{};           // position in the file's own world
  std::optional<Fisheye> fisheye;  // lens; replaces the camera's k1, k2, p1, p2
  bool as_stored = false;          // ignore the EXIF orientation
  bool jpeg = false;
  int factor = 1;  // by which the picture must still be reduced
  Camera small() const { return camera.downscaled(factor); }
};

/// Frames for training and for testing; no frame is in both.
struct Frames {
  std::vector<Frame> train, test;
  /// Moves every holdout-th frame, starting with the first, from train to test; 0: none. A single frame
  /// stays.
  void hold_out(int holdout);
  /// Returns the positions of all cameras in the file's own world.
  std::vector<WorldPosition> positions() const;
};

/// What a picture that was left out differs in from its camera.
struct OddPicture {
  std::string name;
  ImageSize is, stated;
};

/// Finds the pictures of a scene's frames, and counts those that are missing or do not fit.
class PictureFinder {
 public:
  /// `downscale`: the factor by which pictures will be reduced. Uses reduced copies next to the originals:
  /// images_4/x.jpg for images/x.jpg and 4, or images_2/x.jpg, which is then reduced by 2.
  PictureFinder(std::filesystem::path root, int downscale) : root_(std::move(root)), downscale_(downscale) {}

  /// Finds the picture `name` below the root, also with .png, .jpg or .jpeg appended. Returns a frame with
  /// image, name and the picture's size in its camera. `stated` is the size that the camera was calibrated
  /// for: a picture of another aspect ratio (by more than 2 %) is counted and left out. If no size is stated,
  /// the picture must have the aspect ratio of `shape`. A JPEG with an EXIF orientation is turned upright
  /// unless the stated size fits the file as stored. If both fit, the stored form is used, because COLMAP and
  /// programs based on it do not turn pictures.
  std::optional<Frame> find(const std::string& name, std::optional<ImageSize> stated,
                            std::optional<ImageSize> shape = {});
  const std::filesystem::path& root() const { return root_; }
  /// Returns the counts, a line each. `what`: the file that names the frames; `all`: their number.
  std::vector<std::string> notes(const std::string& what, size_t all) const;
  /// Returns the refusal of a file of `all` frames, none of which has a usable picture; `field` names the pictures'
  /// names there, and `size` their size.
  Refused none_usable(const std::filesystem::path& file, size_t all, const std::string& field,
                      const std::string& size) const;

 private:
  const PictureHeader& header_of(const std::filesystem::path& file);
  std::optional<Frame> smaller_copy(const std::string& name, ImageSize full);

  std::filesystem::path root_;
  int downscale_;
  std::map<std::string, PictureHeader> headers_;  // by file, which several frames may share
  int missing_ = 0, odd_ = 0, exchanged_ = 0, turned_ = 0, as_stored_ = 0, copies_ = 0;
  std::string first_missing_;
  OddPicture first_odd_;
};

/// Replaces the separators of Windows by those of this system.
std::string with_slashes(std::string name);

/// Returns the file of that name in `folder`, also with a picture's ending appended; if there is none, the one whose
/// name has slashes where this one has backslashes. Empty if neither is there.
std::filesystem::path picture_in(const std::filesystem::path& folder, const std::string& name);

/// Subtracts the scene's origin from the positions of all cameras, and notes an origin that is not zero.
void subtract_origin(Scene& scene, Frames& frames);

/// Moves the points into the scene, in the file's world. Adds notes about points left out, or if there are
/// none.
void take_points(Scene& scene, PointCloud cloud);

/// Moves cameras and points from the file's world into the grid by the scene's turn, scale and offset. Throws
/// Refused, naming the frame, if a camera then lies outside of range::place.
void place_in_grid(Scene& scene, Frames& frames, const std::filesystem::path& file);
/// Does so for one camera, whose position is relative to the scene's origin.
void place_in_grid(const Scene& scene, const std::filesystem::path& file, const std::string& name,
                   Camera& camera);

/// Chooses turn, scale, offset and cascades for a world without a box of its own, from cameras and points:
///   turn     the mean of the cameras' up directions becomes +z
///   offset   the point nearest to all lines of sight (by least squares) becomes the center of the box; if the lines
///            are nearly parallel or that point lies behind most cameras, the mean of the cameras' positions
///   scale    cameras are 1.32 grid units from the center on average: 4 units of instant-ngp's world, as in its
///            converter of COLMAP models (scripts/colmap2nerf.py)
///   box      a cube of side 1, 2, 4, 8 or 16, the smallest that holds 95 % of the points; 4 without points
void choose_place(Scene& scene, const Frames& frames);

/// Decodes the pictures of frames that place_in_grid() has placed, on all threads, and makes them the scene's
/// views. Wide-angle lenses, and all lenses with options.pinhole, are resampled as pinholes. Pictures that
/// the options leave on the disk are not read; without pictures, masks are not read either. Throws Refused for
/// pictures that cannot be read, and if no camera sees the box or no pixel is left; std::runtime_error for lack of
/// memory.
void load_pictures(Scene& scene, const Frames& frames, const SceneOptions& options,
                   const std::filesystem::path& path);

}  // namespace klab
