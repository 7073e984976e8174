// What a browser asks for: a camera, what its picture shows, and what the browser has already.
#pragma once

#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include "labs/radiance/evaluate/crop.h"
#include "labs/radiance/scene/scene.h"

namespace klab {

inline constexpr int kViewPort = 7007;  // unless another one is given

/// A request that cannot be answered; what() says which of its values is wrong.
struct BadRequest : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A view of the scene, by its set and number.
struct ViewNumber {
  bool test = false;
  size_t index = 0;
};

/// A camera on a sphere around a target, in grid space; z is up.
struct Orbit {
  Vec3 target{0.5F, 0.5F, 0.4F};
  float azimuth = 0, elevation = 0.52F;  // radians
  float distance = 1.35F;                // sides of the unit cube
  float fov = 0.7F;                      // of the width, radians

  Camera camera(int width, int height) const;
};

/// Returns an orbit that begins at the scene: around it, or where its first camera stands if its cameras do not surround it.
Orbit orbit_of(const Scene& scene);

struct ViewRequest {
  enum class Shows { color, depth, normals, error };

  std::string client;  // a browser's window
  Camera camera;       // with the most pixels that the window has room for
  Shows shows = Shows::color;
  std::optional<ViewNumber> view;  // whose camera it is
  std::optional<GridBox> box;      // that the field is cropped to
  float exposure = 0;              // factor on the light, as its binary logarithm
  bool moving = false;             // another one will follow soon
  // The picture of this request that the browser has: its model, as in LivePictures::serve, and its width. -1, 0: none.
  int64_t version = -1;
  int width = 0;

  bool needs_depth() const { return shows == Shows::depth || shows == Shows::normals; }
};

using Query = std::map<std::string, std::string>;

/// Reads a request; `scene` may be missing. Throws BadRequest.
ViewRequest view_request(const Query& query, const Scene* scene);

/// Reads "train:3" or "test:0". Throws BadRequest for a view that the scene does not have.
ViewNumber view_number(const std::string& text, const Scene* scene);
const View& view_of(const Scene& scene, const ViewNumber& number);

/// Reads a number of a query. Throws BadRequest if it is missing, no number or out of range.
double number_of(const Query& query, const std::string& name, double low, double high);

/// Reads a port as port_from() does; kViewPort if the text is empty.
int view_port(const std::string& text, const std::string& option, const std::string& hint = "");

/// Returns the camera with an image of this size and the same field of view.
Camera resized(const Camera& camera, int width, int height);

}  // namespace klab
