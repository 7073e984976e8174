// All settings of all fields: each changes something that is measured or learned, or is refused by name.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <random>
#include <set>

#include "harness/core/registry.h"
#include "labs/radiance/run/settings_matrix.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

using nlohmann::json;

/// Settings of a field for which a step takes milliseconds and its grid changes within a few.
json small_recipe(const std::string& field) {
  if (field == "hash")
    return {{"levels", 4},
            {"log2_table", 9},
            {"finest_resolution", 64},
            {"batch_samples", 512},
            {"first_rays", 32},
            {"grid", 16},
            {"grid_every", 2},
            {"grid_warmup", 4},
            {"width", 16},
            {"steps_per_diagonal", 64}};
  if (field == "frequency")
    return {{"width", 16}, {"depth", 3},  {"skip", 2}, {"octaves", 4},
            {"rays", 16},  {"coarse", 8}, {"fine", 8}, {"chunk", 1024}};
  if (field == "voxels")
    return {{"first_grid", 8}, {"grid", 16}, {"batch_samples", 1024}, {"max_rows", 20000}};
  return {{"initial", 200}, {"most", 400}};
}

/// What must hold for a setting to matter.
json needed_for(const DeclaredSetting& setting) {
  const auto begins = [&](const char* with) { return setting.meaning.starts_with(with); };
  if (begins("adaptive table:")) return json::object({{"table", "adaptive"}});
  if (begins("schedule steps:")) return {{"schedule", "steps"}, {"decay_start", 2}, {"decay_every", 2}};
  if (begins("schedule shares:")) return json::object({{"schedule", "shares"}});
  if (begins("schedules steps and shares:")) return {{"schedule", "shares"}, {"decay_start_share", 0}};
  if (begins("directions octaves:")) return json::object({{"directions", "octaves"}});
  if (begins("levels in turn:")) return json::object({{"open_until", 1}});
  if (begins("sampling error:")) return json::object({{"sampling", "error"}});
  return json::object();
}

/// Cells whose effect a few steps of a small scene cannot show, with the reason.
const std::map<std::string, std::string>& later_effects() {
  static const std::map<std::string, std::string> list = {
      {"hash.table_entries", "levels of this small table stay below any limit"},
      {"voxels.max_rows", "grids of this recipe have fewer vertices"},
      {"hash.table_begin", "levels of this small table start at their least size"},
      {"hash.table_crowded", "levels grow after hundreds of steps"},
      {"hash.table_sparse", "levels shrink after hundreds of steps"},
      {"hash.table_every", "levels are checked after hundreds of steps"},
      {"hash.table_order", "levels grow after hundreds of steps"},
      {"hash.table_idle", "entries are reset after hundreds of steps"},
      {"hash.cone", "the scene is no larger than the unit cube"},
      {"hash.early_stop", "nothing is opaque yet"},
      {"hash.ema", "averages are made every eighth step, and pictures use them"},
      {"hash.epsilon", "moments are far above it"},
      {"frequency.epsilon", "moments are far above it"},
      {"hash.max_samples_per_ray", "rays of this small scene have fewer"},
      {"hash.grid_every", "all cells are occupied, before and after an update"},
      {"hash.grid_warmup", "all cells are occupied, before and after an update"},
      {"hash.grid_decay", "all cells are occupied, before and after an update"},
      {"hash.grid_fraction", "all cells are occupied, before and after an update"},
      {"hash.error_share", "errors are drawn by after hundreds of steps"},
      {"hash.grid_threshold", "the mean of the cells is smaller"},
      {"voxels.epsilon", "moments are far above it"},
      {"voxels.early_stop", "nothing is opaque yet"},
      {"voxels.spacing", "the scene is no larger than the unit cube"},
      {"voxels.empty", "no vertex is missing at first"},
      {"voxels.prune", "nothing is opaque yet"},
      {"voxels.prune_until", "nothing is opaque yet"},
      {"voxels.grow_until", "the grid changes where something is dense"},
      {"gaussians.budget", "their number changes after 300 steps"},
      {"gaussians.threshold", "their number changes after 300 steps"}};
  return list;
}

/// Values that a small scene shows, of settings whose range reaches far beyond it.
const std::map<std::string, json>& values_within_the_scene() {
  static const std::map<std::string, json> list = {{"far", 1.5}};
  return list;
}

FieldSettings settings_from(const std::string& field, const json& recipe) {
  return field_settings(field, recipe.dump(), "matrix");
}

/// What a plan and the memory account know of a training, without running it.
std::string measured_of_setting(const FieldSettings& s) {
  const BackendChoice cpu = backend_named("cpu");
  std::string text = fmt::format("{} {} {} {}", trainer_bytes(s, small_scene(), cpu), model_bytes(s, 1),
                                 batch_samples(s), grid_cells(s, 1));
  for (const PlannedCall& call : run_calls(s, 1, "cpu"))
    text += fmt::format("\n{} {}", call.op, fmt::join(call.shape, ","));
  return text;
}

/// What a few steps compute on a backend.
std::string learned_with(FieldSettings s, int steps = 8, const std::string& backend = "cpu") {
  static CallTimes times = later_is_faster();
  const BackendChoice place = backend_named(backend);
  s.on_a_gpu = place.ladder != "cpu";
  const Plan plan = Plan::named("last", run_calls(s, 1, place.ladder), times, place.ladder);
  const auto trainer = make_trainer(s, small_scene(), plan, 3, place);
  std::string text;
  for (int i = 0; i < steps; ++i) {
    const StepReport r = trainer->step(i / 8.0);
    text += fmt::format("{:.9g} {} {} {} {:.9g}\n", trainer->batch_loss(r.loss), r.rays, r.samples, r.marched,
                        trainer->batch_psnr());
  }
  return text;
}

/// Steps of small trainers wait for each other's threads more than they compute.
struct OneThread {
  const int before = omp_get_max_threads();
  OneThread() { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before); }
};

TEST(SettingsMatrix, EverySettingHasAnEffect) {
  const OneThread one;
  std::vector<const SettingOfField*> to_run;
  const std::vector<SettingOfField> all = all_settings();
  ASSERT_GT(all.size(), 100U);
  const auto recipes = [](const SettingOfField& s, const json& value) {
    json before = small_recipe(s.field);
    before.update(needed_for(s.declared));
    json after = before;
    after[s.declared.name] = value;
    return std::pair(before, after);
  };
  /// The first value that is accepted and different.
  const auto other_of = [&](const SettingOfField& s) -> std::optional<json> {
    if (const auto own = values_within_the_scene().find(s.declared.name);
        own != values_within_the_scene().end())
      return own->second;
    for (const json& value : s.declared.others) {
      const auto [before, after] = recipes(s, value);
      if (before.value(s.declared.name, s.declared.default_value) == value) continue;
      try {
        settings_from(s.field, after);
        return value;
      } catch (const std::runtime_error&) {
      }
    }
    return std::nullopt;
  };
  for (const SettingOfField& s : all) {
    EXPECT_NE(s.declared.meaning, "") << s.declared.name;
    EXPECT_NE(s.declared.values, "") << s.declared.name;
    const std::optional<json> other = other_of(s);
    ASSERT_TRUE(other) << s.field << "." << s.declared.name << " accepts its default only";
    const auto [before, after] = recipes(s, *other);
    if (measured_of_setting(settings_from(s.field, before)) ==
            measured_of_setting(settings_from(s.field, after)) &&
        !later_effects().contains(s.field + "." + s.declared.name))
      to_run.push_back(&s);
  }
  // The same thirty each time, of all that have to be run.
  std::mt19937 random(1);
  std::ranges::shuffle(to_run, random);
  to_run.resize(std::min<size_t>(to_run.size(), 30));
  for (const SettingOfField* s : to_run) {
    const auto [before, after] = recipes(*s, *other_of(*s));
    EXPECT_NE(learned_with(settings_from(s->field, before)), learned_with(settings_from(s->field, after)))
        << s->field << "." << s->declared.name << " = " << after[s->declared.name].dump()
        << " changes nothing";
  }
  // Three of them on the host executor, too, by CUDA rungs: some whose effect two steps show.
  if (std::ranges::none_of(variants(), [](const Variant& v) { return bool(v.host); })) return;
  int there = 0;
  for (const SettingOfField* s : to_run) {
    const auto [before, after] = recipes(*s, *other_of(*s));
    const FieldSettings plain = settings_from(s->field, before), other = settings_from(s->field, after);
    const std::vector<std::string> backends = backends_of(plain);
    if (there == 3 || std::ranges::find(backends, "simt") == backends.end()) continue;
    if (learned_with(plain, 2) == learned_with(other, 2)) continue;
    ++there;
    EXPECT_NE(learned_with(plain, 2, "simt"), learned_with(other, 2, "simt"))
        << s->field << "." << s->declared.name << " changes nothing on the host executor";
  }
  EXPECT_EQ(there, 3);
}

/// Settings of a field that change the calls of a step on the processor change them on a GPU, too.
TEST(SettingsMatrix, SettingsThatChangeCallsDoSoOnAllBackends) {
  for (const std::string field : {"hash", "voxels"})
    for (const SettingOfField& s : all_settings()) {
      if (s.field != field) continue;
      const auto calls = [&](const json& recipe, bool gpu) {
        FieldSettings settings = settings_from(field, recipe);
        settings.on_a_gpu = gpu;
        std::string text;
        for (const PlannedCall& call : run_calls(settings, 1, gpu ? "cuda" : "cpu"))
          text += fmt::format("{} {}\n", call.op, fmt::join(call.shape, ","));
        return text;
      };
      json before = small_recipe(field);
      before.update(needed_for(s.declared));
      for (const json& value : s.declared.others) {
        json after = before;
        after[s.declared.name] = value;
        try {
          if (calls(before, false) == calls(after, false)) continue;
        } catch (const std::runtime_error&) {
          continue;  // no value that goes with the others
        }
        EXPECT_NE(calls(before, true), calls(after, true)) << field << "." << s.declared.name;
        break;
      }
    }
}

TEST(SettingsMatrix, ASettingOfAnotherFieldIsRefusedByName) {
  const std::vector<SettingOfField> all = all_settings();
  std::map<std::string, std::set<std::string>> own;
  for (const SettingOfField& s : all) own[s.field].insert(s.declared.name);
  int refused = 0;
  for (const SettingOfField& s : all)
    for (const std::string& field : field_names()) {
      if (own[field].contains(s.declared.name)) continue;
      try {
        settings_from(field, json::object({{s.declared.name, s.declared.default_value}}));
        ADD_FAILURE() << field << " ignores " << s.declared.name;
      } catch (const std::runtime_error& e) {
        const std::string message = e.what();
        EXPECT_NE(message.find('"' + s.declared.name + '"'), std::string::npos) << message;
        EXPECT_NE(message.find("--field "), std::string::npos) << message;
        ++refused;
      }
    }
  EXPECT_GT(refused, 150);
}

TEST(SettingsMatrix, BackendsOfAFieldAreThoseThatAreNotRefused) {
  FieldSettings s;
  for (const std::string& field : field_names()) {
    s.field = field;
    EXPECT_EQ(backends_of(s), (std::vector<std::string>{"cpu", "simt", "cuda"})) << field;
  }
  for (const SettingOfField& each : all_settings())
    EXPECT_TRUE(each.refused_on.empty()) << each.declared.name;
}

TEST(SettingsMatrix, NumbersHaveTheirDeclaredUnits) {
  const std::vector<SettingOfField> all = all_settings();
  const auto unit_of = [&](const std::string& field, const std::string& name) {
    const auto at =
        std::ranges::find_if(all, [&](const auto& s) { return s.field == field && s.declared.name == name; });
    return at == all.end() ? "is not declared" : at->declared.unit;
  };
  EXPECT_EQ(unit_of("hash", "batch_samples"), "samples");
  EXPECT_EQ(unit_of("voxels", "near"), "cube sides");
  EXPECT_EQ(unit_of("frequency", "chunk"), "samples");
  EXPECT_EQ(unit_of("gaussians", "most"), "Gaussians");
  EXPECT_NE(
      settings_page().find("| `near` | distance from the camera up to which nothing is sampled, in sides of "
                           "the unit cube; 0: as the scene says | cube sides | from 0 to 8 |"),
      std::string::npos);
}

TEST(SettingsMatrix, OptionsAreDeclaredOnceWithRangeAndHelp) {
  std::set<std::string> seen;
  const std::string page = settings_page();
  for (const DeclaredOption& option : declared_options()) {
    EXPECT_TRUE(seen.insert(std::string(option.command) + option.name).second) << option.name;
    EXPECT_TRUE(option.range.has_value() != !option.values.empty()) << option.name;
    EXPECT_NE(page.find(std::string("| `") + option.name + "` | " + option.meaning), std::string::npos);
    EXPECT_EQ(option.fields.empty(), std::string(option.why).empty() || option.fields.size() == 4)
        << option.name;
  }
  EXPECT_EQ(declared_option("train", "--scale-after").help(),
            "steps: finite steps after which it doubles; it halves where one is not (default 2000)");
  EXPECT_THROW(declared_option("train", "--steps"), std::logic_error);
}

TEST(SettingsMatrix, OptionsAreRefusedByNameForOtherFields) {
  require_option_of_field("--recompute", "hash");
  for (const char* option : {"--recompute", "--precision f16", "--resident", "--workers", "--prefetch"})
    for (const char* field : {"frequency", "voxels", "gaussians"}) try {
        require_option_of_field(option, field);
        ADD_FAILURE() << option << " is ignored by " << field;
      } catch (const std::runtime_error& e) {
        EXPECT_NE(std::string(e.what()).find(field), std::string::npos) << e.what();
      }
  for (const std::string& field : field_names()) {
    FieldSettings s;
    s.field = field;
    bool refused = false;
    try {
      require_option_of_field("--parts", field);
    } catch (const std::runtime_error&) {
      refused = true;
    }
    EXPECT_EQ(refused, !no_parts_because(s).empty()) << field;
  }
}

TEST(SettingsMatrix, ValuesAreSetByName) {
  const auto config = [](const std::string& text, const std::vector<std::string>& values) {
    return config_from_json(with_values(text, "my.json", values), "my.json");
  };
  const Config c = config(R"({"levels": 5, "width": 16})", {"levels=8", "loss=mse", "learning_rate=1e-3"});
  EXPECT_EQ(c.levels, 8);
  EXPECT_EQ(c.width, 16);
  EXPECT_EQ(c.loss, "mse");
  EXPECT_EQ(c.learning_rate, 1e-3);
  EXPECT_THROW(config("", {"levels"}), std::invalid_argument);
  EXPECT_THROW(config("", {"=8"}), std::invalid_argument);
  EXPECT_THROW(config("", {"levels=100"}), std::runtime_error);
  EXPECT_THROW(config("", {"level=8"}), std::runtime_error);
}

}  // namespace
}  // namespace klab
