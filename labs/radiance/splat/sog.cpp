#include "labs/radiance/splat/sog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "harness/records/refused.h"
#include "labs/radiance/splat/codebook.h"
#include "labs/radiance/splat/ply.h"
#include "labs/radiance/splat/webp_picture.h"
#include "labs/radiance/splat/zip_file.h"

namespace klab {
namespace {

using Json = nlohmann::json;

constexpr int64_t kSogVersion = 2, kMostSets = 65536, kSetsInRow = 64;
constexpr float kRootTwo = 1.41421356F;
constexpr int kFirstRotationMark = 252;
constexpr float kMostLogarithm = 80;  // of a position or a scale: exp of it is a float
/// The components that are stored, of w x y z, by the one that is not.
constexpr size_t kKeptComponents[4][3] = {{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}};
constexpr const char* kSogRemedy = "export it again, as version 2 of SOG or as a .ply";

void require_webp(const std::filesystem::path& file) {
  if (!has_webp())
    throw Refused(file, "libwebp-dev", "is SOG, and this klab was built without libwebp-dev",
                  "install it (sudo apt-get install libwebp-dev) and build klab again, or take a .ply");
}

float sog_log(float x) { return std::copysign(std::log1p(std::abs(x)), x); }
float sog_exp(float x) { return std::copysign(std::expm1(std::abs(x)), x); }
uint8_t sog_byte(float v) { return uint8_t(std::clamp(std::lround(v), 0L, 255L)); }

uint32_t every_third_bit(uint32_t v) {  // of ten bits
  v = (v | v << 16) & 0x030000FFU;
  v = (v | v << 8) & 0x0300F00FU;
  v = (v | v << 4) & 0x030C30C3U;
  return (v | v << 2) & 0x09249249U;
}

/// Range of the logarithms of the positions along each axis.
struct SogRange {
  std::array<float, 3> low, high;
  explicit SogRange(const GaussianSet& set) {
    for (size_t k = 0; k < 3; ++k) {
      const auto first = set.position.begin() + int64_t(k) * set.n;
      const auto [least, most] = std::minmax_element(first, first + set.n);
      low[k] = sog_log(*least), high[k] = sog_log(*most);
    }
  }
  /// Returns where a position lies in the range, from 0 to 1.
  float share(float position, size_t k) const {
    return high[k] > low[k] ? std::clamp((sog_log(position) - low[k]) / (high[k] - low[k]), 0.0F, 1.0F) : 0;
  }
};

/// Returns the Gaussians in the order of their cells on the Morton curve.
std::vector<int64_t> spatial_order(const GaussianSet& set, const SogRange& range) {
  std::vector<uint32_t> cells(size_t(set.n), 0);
  for (size_t k = 0; k < 3; ++k)
    for (int64_t i = 0; i < set.n; ++i)
      cells[size_t(i)] |=
          every_third_bit(uint32_t(1023 * range.share(set.position[k * size_t(set.n) + size_t(i)], k))) << k;
  std::vector<int64_t> order(size_t(set.n));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int64_t i) { return cells[size_t(i)]; });
  return order;
}

/// A picture with a pixel for each Gaussian; those at its end are opaque black.
WebpPicture sog_picture(int64_t n) {
  WebpPicture out;
  out.width = std::max<int64_t>(4, int64_t(std::ceil(std::sqrt(double(n)) / 4)) * 4);
  out.height = std::max<int64_t>(4, (n + out.width * 4 - 1) / (out.width * 4) * 4);
  out.rgba.assign(size_t(4 * out.width * out.height), 0);
  for (size_t i = 3; i < out.rgba.size(); i += 4) out.rgba[i] = 255;
  return out;
}

/// Makes the files of an archive.
class SogWriter {
 public:
  explicit SogWriter(const GaussianSet& set) : set_(set), n_(size_t(set.n)) {
    meta_ = {{"version", kSogVersion},
             {"count", set.n},
             {"antialias", set.antialiased},
             {"asset", {{"generator", "klab"}}}};
    add_positions();
    add_rotations();
    add_scales();
    add_colors();
    if (set.degree > 0) add_harmonics();
  }
  std::vector<std::pair<std::string, std::vector<uint8_t>>> files() && {
    const std::string text = meta_.dump();
    files_.emplace_back("meta.json", std::vector<uint8_t>(text.begin(), text.end()));
    return std::move(files_);
  }

 private:
  void add(const char* name, const WebpPicture& picture) { files_.emplace_back(name, webp_of(picture)); }
  /// Calls visit(i, pixel) for each Gaussian.
  template <class Visit>
  WebpPicture picture(Visit&& visit) const {
    WebpPicture out = sog_picture(set_.n);
    for (size_t i = 0; i < n_; ++i) visit(i, out.rgba.data() + 4 * i);
    return out;
  }
  Codebook codebook(const char* key, const std::vector<float>& numbers, Json files) {
    const Codebook book = Codebook::of(numbers);
    meta_[key]["codebook"] = book.values;
    meta_[key]["files"] = std::move(files);
    return book;
  }

  void add_positions() {
    const SogRange range(set_);
    WebpPicture high = sog_picture(set_.n);
    const WebpPicture low = picture([&](size_t i, uint8_t* pixel) {
      for (size_t k = 0; k < 3; ++k) {
        const auto steps = uint32_t(std::lround(65535 * range.share(set_.position[k * n_ + i], k)));
        pixel[k] = uint8_t(steps & 255);
        high.rgba[4 * i + k] = uint8_t(steps >> 8);
      }
    });
    add("means_l.webp", low);
    add("means_u.webp", high);
    meta_["means"] = {
        {"mins", range.low}, {"maxs", range.high}, {"files", Json::array({"means_l.webp", "means_u.webp"})}};
  }
  void add_rotations() {
    add("quats.webp", picture([&](size_t i, uint8_t* pixel) {
          float q[4], squares = 0;
          size_t largest = 0;
          for (size_t k = 0; k < 4; ++k) {
            q[k] = set_.quaternion[k * n_ + i];
            squares += q[k] * q[k];
            if (std::abs(q[k]) > std::abs(q[largest])) largest = k;
          }
          if (squares == 0) q[0] = squares = 1;
          const float factor = (q[largest] < 0 ? -kRootTwo : kRootTwo) / std::sqrt(squares);
          for (size_t k = 0; k < 3; ++k)
            pixel[k] = sog_byte(255 * (0.5F + 0.5F * factor * q[kKeptComponents[largest][k]]));
          pixel[3] = uint8_t(size_t(kFirstRotationMark) + largest);
        }));
    meta_["quats"]["files"] = Json::array({"quats.webp"});
  }
  void add_scales() {
    const Codebook book = codebook("scales", set_.log_scale, Json::array({"scales.webp"}));
    add("scales.webp", picture([&](size_t i, uint8_t* pixel) {
          for (size_t k = 0; k < 3; ++k) pixel[k] = book.nearest(set_.log_scale[k * n_ + i]);
        }));
  }
  void add_colors() {
    const auto first = set_.coefficients.begin();
    const Codebook book = codebook("sh0", {first, first + 3 * set_.n}, Json::array({"sh0.webp"}));
    add("sh0.webp", picture([&](size_t i, uint8_t* pixel) {
          for (size_t k = 0; k < 3; ++k) pixel[k] = book.nearest(set_.coefficients[k * n_ + i]);
          pixel[3] = sog_byte(255 / (1 + std::exp(-set_.opacity_raw[i])));
        }));
  }
  void add_harmonics() {
    const size_t functions = size_t(set_.degree + 1) * size_t(set_.degree + 1) - 1, columns = 3 * functions;
    std::vector<float> rows(columns * n_);  // function by function, red, green, blue
    for (size_t c = 0; c < columns; ++c)
      for (size_t i = 0; i < n_; ++i) rows[i * columns + c] = set_.coefficients[(c + 3) * n_ + i];
    const RowGroups groups = grouped_rows(rows, int64_t(columns), kMostSets);
    const Codebook book =
        codebook("shN", groups.means, Json::array({"shN_centroids.webp", "shN_labels.webp"}));
    meta_["shN"]["count"] = groups.count;
    meta_["shN"]["bands"] = set_.degree;
    WebpPicture sets;
    sets.width = kSetsInRow * int64_t(functions);
    sets.height = (groups.count + kSetsInRow - 1) / kSetsInRow;
    sets.rgba.assign(size_t(4 * sets.width * sets.height), 255);
    for (size_t i = 0; i < groups.means.size(); ++i)
      sets.rgba[4 * (i / 3) + i % 3] = book.nearest(groups.means[i]);
    add("shN_centroids.webp", sets);
    add("shN_labels.webp", picture([&](size_t i, uint8_t* pixel) {
          pixel[0] = uint8_t(groups.group[i] & 255), pixel[1] = uint8_t(groups.group[i] >> 8);
        }));
  }

  const GaussianSet& set_;
  size_t n_;
  Json meta_;
  std::vector<std::pair<std::string, std::vector<uint8_t>>> files_;
};

class SogReader {
 public:
  explicit SogReader(const std::filesystem::path& file) : file_(file), files_(read_zip(file)) {
    const auto at = files_.find("meta.json");
    if (at == files_.end()) refuse("meta.json", "is a zip without meta.json, which a SOG file has");
    try {
      meta_ = parse_json({reinterpret_cast<const char*>(at->second.data()), at->second.size()}, "meta.json");
    } catch (const std::runtime_error& e) {
      refuse("meta.json", fmt::format("has a damaged file: {}", e.what()), "copy the file again");
    }
    const int64_t version =
        meta_.is_object() && meta_.contains("version") ? whole(meta_, "version", {0, 1e9}) : 1;
    if (version != kSogVersion)
      refuse("version", fmt::format("has version {} of SOG; klab reads {}", version, kSogVersion));
    n_ = size_t(whole(meta_, "count", {1, 1e8}));
  }

  GaussianSet gaussians() const {
    const bool harmonics = meta_.contains("shN");
    const Json& palette = harmonics ? object("shN") : meta_;
    const int degree = harmonics ? int(whole(palette, "bands", {1, 3})) : 0;
    // Check the pictures before memory is allocated.
    const std::vector<uint8_t> low = pixels("means", 0), high = pixels("means", 1),
                               rotations = pixels("quats", 0), scales = pixels("scales", 0),
                               colors = pixels("sh0", 0);
    GaussianSet set = GaussianSet::zeros(int64_t(n_), degree);
    read_positions(set, low, high);
    read_rotations(set, rotations);
    read_scales(set, scales);
    read_colors(set, colors);
    if (harmonics) read_harmonics(set, palette);
    return set;
  }
  bool antialiased() const {
    const auto at = meta_.find("antialias");
    return at != meta_.end() && at->is_boolean() && at->get<bool>();
  }

 private:
  [[noreturn]] void refuse(const std::string& field, const std::string& why,
                           const std::string& remedy = kSogRemedy) const {
    throw Refused(file_, field, why, remedy);
  }
  int64_t whole(const Json& in, const char* key, Range range) const {
    try {
      return number_in<int64_t>(in, key, range, "meta.json");
    } catch (const std::runtime_error& e) {
      refuse(key, fmt::format("has a wrong number: {}", e.what()));
    }
  }
  const Json& object(const char* key) const {
    const auto at = meta_.find(key);
    if (at == meta_.end() || !at->is_object())
      refuse(key, fmt::format("has no \"{}\" in its meta.json", key));
    return *at;
  }
  std::vector<float> numbers(const Json& in, const char* what, const char* key, size_t count,
                             float most) const {
    const auto at = in.find(key);
    std::vector<float> out;
    if (at != in.end() && at->is_array() && at->size() == count)
      for (const Json& each : *at)
        if (each.is_number() && std::abs(each.get<double>()) <= double(most))
          out.push_back(each.get<float>());
    if (out.size() != count)
      refuse(key, fmt::format("has a \"{}\" of \"{}\" that is not {} numbers from -{} to {}", key, what,
                              count, most, most));
    return out;
  }
  WebpPicture picture(const char* key, size_t index, int64_t most) const {
    const Json& in = object(key);
    const auto names = in.find("files");
    if (names == in.end() || !names->is_array() || names->size() <= index || !(*names)[index].is_string())
      refuse("files", fmt::format("names no picture {} among the \"files\" of \"{}\"", index, key));
    const std::string name = (*names)[index].get<std::string>();
    const auto at = files_.find(name);
    if (at == files_.end())
      refuse("files", fmt::format("has no {}, which \"files\" of \"{}\" names", excerpt(name), key));
    try {
      return picture_of_webp(at->second, most);
    } catch (const std::runtime_error& e) {
      refuse(key, fmt::format("has a picture of \"{}\" that {}", key, e.what()));
    }
  }
  /// Returns the bytes of a picture with a pixel for each Gaussian.
  std::vector<uint8_t> pixels(const char* key, size_t index) const {
    constexpr int64_t kSpare = 4'000'000;  // pixels behind the last Gaussian
    WebpPicture out = picture(key, index, 4 * int64_t(n_) + kSpare);
    if (out.rgba.size() / 4 < n_)
      refuse(key, fmt::format("has {} pixels of \"{}\" for {} Gaussians", out.rgba.size() / 4, key, n_),
             "copy the file again");
    return std::move(out.rgba);
  }

  void read_positions(GaussianSet& set, const std::vector<uint8_t>& low,
                      const std::vector<uint8_t>& high) const {
    const Json& means = object("means");
    const std::vector<float> least = numbers(means, "means", "mins", 3, kMostLogarithm),
                             most = numbers(means, "means", "maxs", 3, kMostLogarithm);
    for (size_t i = 0; i < n_; ++i)
      for (size_t k = 0; k < 3; ++k) {
        const float share = float(low[4 * i + k] | high[4 * i + k] << 8) / 65535;
        set.position[k * n_ + i] = sog_exp(least[k] + share * (most[k] - least[k]));
      }
  }
  void read_rotations(GaussianSet& set, const std::vector<uint8_t>& pixels) const {
    for (size_t i = 0; i < n_; ++i) {
      const int mark = pixels[4 * i + 3];
      if (mark < kFirstRotationMark)
        refuse("quats", fmt::format("has a rotation in \"quats\", of Gaussian {}, marked {}, not 252 to 255",
                                    i, mark));
      const auto largest = size_t(mark - kFirstRotationMark);
      float squares = 0;
      for (size_t k = 0; k < 3; ++k) {
        const float part = (float(pixels[4 * i + k]) / 255 * 2 - 1) / kRootTwo;
        squares += part * part;
        set.quaternion[kKeptComponents[largest][k] * n_ + i] = part;
      }
      // Three parts of ½√2 each are longer than a rotation; klab divides by the length.
      set.quaternion[largest * n_ + i] = std::sqrt(std::max(0.0F, 1 - squares));
    }
  }
  void read_scales(GaussianSet& set, const std::vector<uint8_t>& pixels) const {
    const std::vector<float> book = numbers(object("scales"), "scales", "codebook", 256, kMostLogarithm);
    for (size_t i = 0; i < n_; ++i)
      for (size_t k = 0; k < 3; ++k) set.log_scale[k * n_ + i] = book[pixels[4 * i + k]];
  }
  void read_colors(GaussianSet& set, const std::vector<uint8_t>& pixels) const {
    const std::vector<float> book = numbers(object("sh0"), "sh0", "codebook", 256, 1e6F);
    for (size_t i = 0; i < n_; ++i) {
      for (size_t k = 0; k < 3; ++k) set.coefficients[k * n_ + i] = book[pixels[4 * i + k]];
      const float opacity = std::clamp(float(pixels[4 * i + 3]), 0.5F, 254.5F) / 255;
      set.opacity_raw[i] = std::log(opacity / (1 - opacity));
    }
  }
  void read_harmonics(GaussianSet& set, const Json& palette) const {
    const size_t functions = size_t(set.degree + 1) * size_t(set.degree + 1) - 1;
    const auto count = size_t(whole(palette, "count", {1, double(kMostSets)}));
    const std::vector<float> book = numbers(palette, "shN", "codebook", 256, 1e6F);
    const WebpPicture sets = picture("shN", 0, kMostSets * int64_t(functions));
    if (sets.width != kSetsInRow * int64_t(functions))
      refuse("bands", fmt::format("has {} pixels a row in its sets of coefficients; \"bands\" {} takes {}",
                                  sets.width, set.degree, kSetsInRow * int64_t(functions)));
    const std::vector<uint8_t> labels = pixels("shN", 1);
    for (size_t i = 0; i < n_; ++i) {
      const auto label = size_t(labels[4 * i] | labels[4 * i + 1] << 8), row = label / size_t(kSetsInRow);
      if (label >= count || row >= size_t(sets.height))
        refuse("shN", fmt::format("has Gaussian {} with set {} of \"shN\", which has {}", i, label, count));
      const uint8_t* from = sets.rgba.data() + 4 * label * functions;  // rows have 64 sets each
      for (size_t f = 0; f < functions; ++f)
        for (size_t k = 0; k < 3; ++k) set.coefficients[(3 * (f + 1) + k) * n_ + i] = book[from[4 * f + k]];
    }
  }

  const std::filesystem::path& file_;
  std::map<std::string, std::vector<uint8_t>> files_;
  Json meta_;
  size_t n_ = 0;
};

}  // namespace

void save_sog(const std::filesystem::path& file, const GaussianSet& grid, const WorldPlace& place) {
  require_webp(file);
  GaussianSet set = in_world(grid, place);
  for (const std::vector<float>* values : set.tensors())
    if (!std::ranges::all_of(*values, [](float x) { return std::isfinite(x); }))
      throw std::runtime_error(
          file.string() +
          ": a Gaussian has a number that is not finite, which SOG cannot hold: train it again");
  set = gathered(set, spatial_order(set, SogRange(set)));
  write_zip(file, SogWriter(set).files());
}

GaussianSet load_sog(const std::filesystem::path& file, const WorldPlace& place) {
  require_webp(file);
  const SogReader reader(file);
  GaussianSet set = reader.gaussians();
  set.antialiased = reader.antialiased();
  subtract_origin(set, place);
  return in_grid(std::move(set), place);
}

}  // namespace klab
