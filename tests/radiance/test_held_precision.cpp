// Models whose numbers stay in few bits in memory: pictures of all fields, bytes of the process, and what is refused.
// ctest: sanitized-ops
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>

#include "harness/program/random.h"
#include "labs/radiance/evaluate/piecewise.h"
#include "labs/radiance/field/stored.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/scene/camera.h"
#include "reference/narrow_numbers.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCudaRungs = false;  // the build with sanitizers has none
#else
constexpr bool kCudaRungs = true;
#endif

namespace fs = std::filesystem;

constexpr std::array kPrecisions = {Storage::f16, Storage::bf16, Storage::int8};

Config small_held(const std::string& table = "fixed", const std::string& hash = "primes") {
  Config c;
  c.levels = 4;
  c.log2_table = 8;
  c.base_resolution = 4;
  c.finest_resolution = 32;
  c.width = 16;
  c.grid = 8;
  c.steps_per_diagonal = 32;
  c.max_samples_per_ray = 64;
  c.table = table;
  c.hash = hash;
  return c;
}

/// A model with features of ordinary size, all of whose cells are occupied.
Model model_held(const Config& config) {
  Model model(config, {});
  model.initialize(3);
  const Draws draws(3, 1, 5);
  const Array<float>& table = model.of(Part::table);
  for (int64_t i = 0; i < table.size(); ++i) table[i] = 3 * (draws.unit(uint64_t(i)) - 0.5F);
  return model;
}

Camera camera_held(int side = 12) {
  return look_at({1.7F, 0.6F, 1.1F}, {0.5F, 0.5F, 0.5F}, side, side, 0.7F);
}

Picture picture_of(const FieldModel& model, const std::string& backend = "cpu",
                   const std::string& plan = "naive") {
  BackendChoice where = backend_named(backend);
  where.picture_samples = 4096;
  static CallTimes times;
  const Plan chosen = Plan::named(plan, model.picture_calls(where), times, where.ladder);
  return model.renderer(chosen, where, 256)(camera_held());
}

double largest_difference_held(const Picture& a, const Picture& b) {
  double most = 0;
  for (size_t i = 0; i < a.rgb.size(); ++i)
    most = std::max(most, std::abs(double(a.rgb[i]) - double(b.rgb[i])));
  return most;
}

/// Bytes of this process in memory.
int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

class HeldPrecision : public ::testing::Test {
 protected:
  const TempFolder temp_;
  const fs::path folder = temp_.path();
  const fs::path floats = folder / "model.safetensors", few = folder / "few.safetensors";

  static std::string text_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::string refusal(const fs::path& file, Storage precision) {
    try {
      Model::load(file, precision);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  }
};

/// Ops read the numbers that the reader of a file in few bits would get, for each layout of the table.
TEST_F(HeldPrecision, HashPicturesEqualThoseOfTheRoundedFloats) {
  for (const Config& config : {small_held(), small_held("adaptive"), small_held("fixed", "morton")}) {
    const Model model = model_held(config);
    const Picture exact = picture_of(*field_model(model_held(config)));
    for (const Storage precision : kPrecisions) {
      save_stored(model, precision, few);
      const auto held = field_model(Model::load(few, precision));
      ASSERT_EQ(held->precision(), precision);
      const Picture picture = picture_of(*held), rounded = picture_of(*field_model(Model::load(few)));
      EXPECT_LT(largest_difference_held(picture, rounded), 2e-5) << name_of(precision);
      EXPECT_GT(largest_difference_held(picture, exact), 1e-6)
          << name_of(precision) << ": nothing was rounded";
    }
  }
}

TEST_F(HeldPrecision, FastRungsAndTheExecutorDrawTheSamePictures) {
  for (const Storage precision : kPrecisions) {
    model_held(small_held()).save(floats);
    const auto held = field_model(Model::load(floats, precision));
    const Picture naive = picture_of(*held);
    EXPECT_LT(largest_difference_held(naive, picture_of(*held, "cpu", "last")), 1e-4) << name_of(precision);
    // Rays end at the sample that makes them opaque there.
    if (kCudaRungs)
      EXPECT_LT(largest_difference_held(naive, picture_of(*held, "simt")), 1e-3) << name_of(precision);
  }
}

/// A model of floats that is narrowed in memory is the one that klab quantize writes, and saved it is the same file.
TEST_F(HeldPrecision, NarrowingWhileReadingIsQuantizing) {
  for (const Config& config : {small_held(), small_held("adaptive")})
    for (const Storage precision : kPrecisions) {
      const Model model = model_held(config);
      model.save(floats);
      save_stored(model, precision, few);
      const Model held = Model::load(floats, precision);
      EXPECT_EQ(held.of(Part::table).size(), 0);
      held.save(folder / "again");
      EXPECT_TRUE(text_of(folder / "again") == text_of(few)) << name_of(precision);
      Model::load(few, precision).save(folder / "again");
      EXPECT_TRUE(text_of(folder / "again") == text_of(few)) << name_of(precision);
    }
}

TEST_F(HeldPrecision, VoxelPicturesEqualThoseOfTheRoundedFloats) {
  VoxelConfig config;
  config.first_grid = config.grid = 8;
  VoxelModel model = VoxelModel::at_first(config, {});
  const Draws draws(4, 1, 6);
  for (int64_t i = 0; i < model.rows(); ++i) model.density[i] = 4 * draws.unit(uint64_t(i)) - 2;
  for (int64_t i = 0; i < model.coefficients.size(); ++i)
    model.coefficients[i] = 2 * draws.unit(uint64_t(10000 + i)) - 1;
  const Picture exact = picture_of(*field_model(model.copy()));
  for (const Storage precision : kPrecisions) {
    const VoxelModel narrow = model.narrowed(precision);
    VoxelModel rounded = model.copy();
    const int64_t numbers = 3 * config.basis(), format = narrow_format_of(precision);
    for (int64_t i = 0; i < rounded.rows(); ++i)
      rounded.density[i] = float_from_half(narrow.few_densities.halves[i]);
    for (int64_t i = 0; i < rounded.coefficients.size(); ++i) {
      const NarrowPart& part = narrow.few_coefficients;
      rounded.coefficients[i] = narrow_number(format, part.halves.data(), part.bytes.data(), i) *
                                (precision == Storage::int8 ? part.factors[i % numbers] : 1);
    }
    const auto held = field_model(model.narrowed(precision));
    const Picture picture = picture_of(*held);
    EXPECT_LT(largest_difference_held(picture, picture_of(*field_model(std::move(rounded)))), 2e-5);
    EXPECT_GT(largest_difference_held(picture, exact), 1e-6) << name_of(precision) << ": nothing was rounded";
    EXPECT_LT(largest_difference_held(picture, exact), 0.05) << name_of(precision);
    EXPECT_LT(largest_difference_held(picture, picture_of(*held, "cpu", "last")), 1e-4);
    if (kCudaRungs) EXPECT_LT(largest_difference_held(picture, picture_of(*held, "simt")), 1e-4);
  }
}

/// One layer at a time becomes floats, or pairs of bfloat16s with its inputs.
TEST_F(HeldPrecision, FrequencyPicturesEqualThoseOfTheRoundedFloats) {
  FrequencyConfig config;
  config.octaves = 3, config.direction_octaves = 2, config.width = 16, config.depth = 3, config.skip = 1;
  config.coarse = 8, config.fine = 8, config.chunk = 1024;
  FrequencyModel model(config, {});
  model.initialize(5);
  const FrequencyNet net(config);
  const Picture exact = picture_of(*field_model(model.copy()));
  for (const Storage precision : kPrecisions) {
    const FrequencyModel narrow = model.narrowed(precision);
    FrequencyModel rounded = model.copy();
    for (size_t k = 0; k < 2; ++k)
      for (const FrequencyNet::Layer& l : net.layers)
        widen_rows(narrow.matrices[k], precision, l.to, l.from, l.first, l.row,
                   rounded.parameters[k].data() + l.weights);
    const auto held = field_model(model.narrowed(precision));
    // By the naive plan products are in float.
    const Picture picture = picture_of(*held);
    EXPECT_EQ(largest_difference_held(picture, picture_of(*field_model(std::move(rounded)))), 0);
    EXPECT_GT(largest_difference_held(picture, exact), 1e-7) << name_of(precision) << ": nothing was rounded";
    EXPECT_LT(largest_difference_held(picture, picture_of(*held, "cpu", "last")), 0.02) << name_of(precision);
    EXPECT_LT(held->held_bytes(), (precision == Storage::int8 ? 0.4 : 0.55) * double(4 * held->numbers()));
  }
}

/// What the system counts for a process with a large table, once a picture was drawn.
TEST_F(HeldPrecision, TheProcessHoldsAQuarterOfTheBytes) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer keeps what was freed";
#endif
  mallopt(M_MMAP_THRESHOLD, 1 << 20);  // what a load has freed goes back, as where a process loads once
  Config config = small_held();
  config.levels = 12, config.log2_table = 20, config.finest_resolution = 4096;
  const auto growth = [&](const fs::path& file, Storage precision) {
    const int64_t before = resident_bytes();
    const auto held = load_field_model(file, nullptr, precision);
    const int64_t after = resident_bytes();
    EXPECT_GE(after - before, held->held_bytes());
    picture_of(*held);
    return after - before;
  };
  {
    const Model model = model_held(config);
    model.save(floats);
    save_stored(model, Storage::int8, few);
  }
  picture_of(*load_field_model(few, nullptr, Storage::int8));  // what stays of a first picture is no model's
  const double all = double(growth(floats, Storage::f32));
  EXPECT_GT(all, 50e6);  // much more than the huge pages that small arrays begin
  EXPECT_LE(double(growth(few, Storage::int8)), 0.4 * all);
  EXPECT_LE(double(growth(floats, Storage::int8)), 0.4 * all);
  EXPECT_LE(double(growth(floats, Storage::bf16)), 0.6 * all);
}

/// Half as many pixels at a time, until allocations are granted; the picture is the same.
TEST_F(HeldPrecision, PiecesShrinkWhereAnAllocationFails) {
  const auto model = field_model(model_held(small_held()));
  const BackendChoice where = backend_named("cpu");
  CallTimes times;
  const Plan plan = Plan::named("naive", model->picture_calls(where), times);
  std::vector<std::string> lines;
  const auto say = [&](const std::string& line) { lines.push_back(line); };
  const Picture whole = picture_of(*model);
  PiecewisePictures pieces(*model, plan, where, {}, say);
  EXPECT_TRUE(lines.empty());
  set_allocation_hook([](int64_t bytes) {
    if (bytes > 10'000'000) throw std::bad_alloc();
  });
  const Picture picture = pieces.draw(camera_held());
  EXPECT_LT(pieces.pixels(), Renderer::kRays);
  EXPECT_GE(pieces.pixels(), 512);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.front(), "memory    an allocation failed: 4096 pixels at a time from here on");
  EXPECT_LT(largest_difference_held(whole, picture), 1e-5);
  set_allocation_hook([](int64_t) { throw std::bad_alloc(); });
  PiecewisePictures none(*model, plan, where, {}, say);
  try {
    none.draw(camera_held());
    ADD_FAILURE() << "draws without memory";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("out of memory: not even 64 pixels at a time"), std::string::npos);
  }
  set_allocation_hook({});
  // A limit chooses the pieces before anything is drawn.
  const int64_t limit = model->piece_bytes(where, 1024);
  EXPECT_EQ(PiecewisePictures(*model, plan, where, {.memory = limit}, say).pixels(), 1024);
}

TEST_F(HeldPrecision, ChoosesThePrecisionOfTheFile) {
  const Model model = model_held(small_held());
  model.save(floats);
  EXPECT_EQ(load_precision("", floats), Storage::f32);
  EXPECT_EQ(load_precision("int8", floats), Storage::int8);
  save_stored(model, Storage::int8, few);
  EXPECT_EQ(load_precision("", few), Storage::int8);
  EXPECT_EQ(load_precision("f32", few), Storage::f32);
  EXPECT_EQ(load_precision("bf16", few), Storage::bf16);
  save_stored(model, Storage::int4, few);
  EXPECT_EQ(load_precision("", few), Storage::f32);  // no op reads four bits
  EXPECT_THROW(load_precision("int4", few), std::invalid_argument);
}

TEST_F(HeldPrecision, RefusesDamagedFilesAndNumbersThatTheFormatLacks) {
  Model model = model_held(small_held());
  save_stored(model, Storage::int8, few);
  const std::string whole = text_of(few);
  std::ofstream(few, std::ios::binary) << whole.substr(0, whole.size() - 100);
  EXPECT_NE(refusal(few, Storage::int8).find("is cut short"), std::string::npos)
      << refusal(few, Storage::int8);
  std::string zero = whole;
  std::ofstream(few, std::ios::binary) << whole;
  const float scale = Model::load(few, Storage::int8).narrow[size_t(Part::color)].factors[0];
  const size_t at = zero.find(std::string(reinterpret_cast<const char*>(&scale), sizeof scale));
  ASSERT_NE(at, std::string::npos);
  std::fill_n(zero.begin() + std::ptrdiff_t(at), sizeof scale, '\0');
  std::ofstream(few, std::ios::binary) << zero;
  EXPECT_NE(refusal(few, Storage::int8).find("holds a scale that is not a finite number above 0"),
            std::string::npos)
      << refusal(few, Storage::int8);
  model.of(Part::table)[7] = 1e6F;
  model.save(floats);
  EXPECT_NE(refusal(floats, Storage::f16).find("the hash table holds a number that f16 cannot"),
            std::string::npos)
      << refusal(floats, Storage::f16);
  EXPECT_EQ(refusal(floats, Storage::int8), "");
}

}  // namespace
}  // namespace klab
