#include "labs/radiance/scene/lens_models.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "harness/records/refused.h"

namespace klab {
namespace {

constexpr LensModel kModels[] = {{0, "SIMPLE_PINHOLE", 3},
                                 {1, "PINHOLE", 4},
                                 {2, "SIMPLE_RADIAL", 4},
                                 {3, "RADIAL", 5},
                                 {4, "OPENCV", 8},
                                 {5, "OPENCV_FISHEYE", 8},
                                 {6, "FULL_OPENCV", 12},
                                 {7, "FOV", 0},
                                 {8, "SIMPLE_RADIAL_FISHEYE", 4},
                                 {9, "RADIAL_FISHEYE", 5},
                                 {10, "THIN_PRISM_FISHEYE", 0},
                                 {11, "RAD_TAN_THIN_PRISM_FISHEYE", 0}};

std::string known() {
  std::string names;
  for (const LensModel& model : kModels)
    if (model.parameters > 0) names += (names.empty() ? "" : ", ") + std::string(model.name);
  return names;
}

/// The numbers of a camera, each within its range.
class Parameters {
 public:
  Parameters(const LensModel& model, std::span<const double> numbers, const std::filesystem::path& file,
             const std::string& record)
      : model_(model), numbers_(numbers), file_(file), record_(record) {
    if (numbers.size() != size_t(model.parameters))
      throw Refused(file, record,
                    fmt::format("{}: a camera {} has {} parameters, found {}", record, model.name,
                                model.parameters, numbers.size()),
                    "write all of its parameters");
  }
  float next(const char* name, double low, double high) {
    const double value = numbers_[at_++];
    if (!within(value, {low, high}))
      throw Refused(file_, record_,
                    fmt::format("{}: {} of the camera {} must be a number {}, found {}", record_, name,
                                model_.name, text_of({low, high}), value),
                    "correct it, or calibrate the camera again");
    return float(value);
  }
  float radial(const char* name) { return next(name, range::radial.low, range::radial.high); }
  float tangential(const char* name) { return next(name, range::tangential.low, range::tangential.high); }

 private:
  const LensModel& model_;
  std::span<const double> numbers_;
  const std::filesystem::path& file_;
  const std::string& record_;
  size_t at_ = 0;
};

}  // namespace

std::span<const LensModel> lens_models() { return kModels; }

const LensModel* lens_model(std::string_view name) {
  const auto at = std::ranges::find_if(kModels, [&](const LensModel& m) { return m.name == name; });
  return at != std::end(kModels) && at->parameters > 0 ? at : nullptr;
}

const LensModel* lens_model(int number) {
  const auto at = std::ranges::find_if(kModels, [&](const LensModel& m) { return m.number == number; });
  return at != std::end(kModels) && at->parameters > 0 ? at : nullptr;
}

std::string unknown_lens(std::string_view name) {
  return fmt::format("'{}' (known are {})", excerpt(name), known());
}

std::string unknown_lens(int number) {
  for (const LensModel& model : kModels)
    if (model.number == number) return unknown_lens(model.name);
  return unknown_lens(fmt::format("number {}", number));
}

Lens lens_of(const LensModel& model, std::span<const double> numbers, ImageSize size,
             const std::filesystem::path& file, const std::string& record) {
  Lens lens;
  Camera& c = lens.camera;
  c.width = size.width;
  c.height = size.height;
  Parameters p(model, numbers, file, record);
  const double longer = std::max(size.width, size.height);
  const auto focal = [&](const char* name) {
    return p.next(name, range::focal_sides.low * longer, range::focal_sides.high * longer);
  };
  const auto center = [&](const char* name, double side) {
    return p.next(name, range::center_sides.low * side, range::center_sides.high * side);
  };
  const bool two = model.name == "PINHOLE" || model.name.find("OPENCV") != std::string_view::npos;
  c.fx = focal(two ? "fx" : "f");
  c.fy = two ? focal("fy") : c.fx;
  c.cx = center("cx", size.width);
  c.cy = center("cy", size.height);
  if (model.name == "SIMPLE_RADIAL" || model.name == "RADIAL") {
    c.k1 = p.radial("k1");
    if (model.name == "RADIAL") c.k2 = p.radial("k2");
  } else if (model.name == "OPENCV" || model.name == "FULL_OPENCV") {
    c.k1 = p.radial("k1");
    c.k2 = p.radial("k2");
    c.p1 = p.tangential("p1");
    c.p2 = p.tangential("p2");
    for (size_t i = 8; i < numbers.size(); ++i)
      if (numbers[i] != 0)
        throw Refused(
            file, record,
            fmt::format("{}: k{} of the camera FULL_OPENCV is {}, and klab's cameras have k1, k2, p1, p2",
                        record, i - 5, numbers[i]),
            kUndistort);
  } else if (model.name.find("FISHEYE") != std::string_view::npos) {
    lens.fisheye = Fisheye{};
    const char* names[] = {"k1", "k2", "k3", "k4"};
    for (size_t i = 0; i + 4 - (two ? 0 : 1) < numbers.size(); ++i) (*lens.fisheye)[i] = p.radial(names[i]);
  }
  return lens;
}

}  // namespace klab
