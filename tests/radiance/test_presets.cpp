// Presets: a time and settings for it, which options and files replace.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "labs/radiance/run/fields.h"
#include "labs/radiance/run/presets.h"
#include "labs/radiance/run/settings_matrix.h"

namespace klab {
namespace {

TEST(Presets, AreThreeTimesWithSettingsThatEveryFieldAccepts) {
  std::vector<std::string> names;
  double before = 0;
  for (const Preset& preset : presets()) {
    names.emplace_back(preset.name);
    EXPECT_GT(preset.seconds, before) << preset.name;
    before = preset.seconds;
    for (const std::string& field : field_names())
      for (const std::string backend : {"cpu", "cuda"}) {
        const std::string text = with_preset(preset, field, backend, "", "--set", {});
        EXPECT_NO_THROW(field_settings(field, text, "--set"))
            << preset.name << " " << field << " " << backend;
      }
    for (const PresetSettings& each : preset.settings) {
      const std::vector<std::string> fields = field_names();
      EXPECT_NE(std::ranges::find(fields, each.field), fields.end()) << preset.name << " " << each.field;
      EXPECT_FALSE(each.values.empty()) << preset.name;
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"fast", "standard", "best"}));
}

TEST(Presets, SetValuesForTheirFieldAndBackend) {
  const Preset preset{.name = "some",
                      .seconds = 1,
                      .meaning = "for the test",
                      .settings = {{"hash", "", {"levels=8", "width=32"}},
                                   {"hash", "cuda", {"width=64"}},
                                   {"voxels", "", {"grid=64"}}}};
  using Values = std::vector<std::string>;
  EXPECT_EQ(preset_values(preset, "hash", "cpu"), (Values{"levels=8", "width=32"}));
  EXPECT_EQ(preset_values(preset, "hash", "cuda"), (Values{"levels=8", "width=64"}));
  EXPECT_EQ(preset_values(preset, "frequency", "cpu"), Values());
  EXPECT_EQ(preset_text(preset, "voxels", "cpu"), "preset    some: 1 s, grid=64\n");
  EXPECT_EQ(preset_text(preset, "frequency", "cpu"), "preset    some: 1 s, the field's recipe\n");
}

TEST(Presets, GiveWayToAFileAndToSet) {
  const Preset preset{
      .name = "some", .seconds = 1, .meaning = "", .settings = {{"hash", "", {"levels=8", "width=32"}}}};
  const auto merged = [&](const std::string& config, const std::vector<std::string>& values) {
    return nlohmann::json::parse(with_preset(preset, "hash", "cpu", config, "file.json", values));
  };
  EXPECT_EQ(merged("", {}), nlohmann::json({{"levels", 8}, {"width", 32}}));
  EXPECT_EQ(merged(R"({"levels": 4})", {}), nlohmann::json({{"levels", 4}, {"width", 32}}));
  EXPECT_EQ(merged(R"({"levels": 4})", {"levels=5", "features=4"}),
            nlohmann::json({{"levels", 5}, {"width", 32}, {"features", 4}}));
  EXPECT_THROW(merged("{", {}), std::runtime_error);
  EXPECT_THROW(merged("", {"levels"}), std::invalid_argument);
}

TEST(Presets, UnknownNamesAreRefusedWithTheKnownOnes) {
  EXPECT_EQ(preset_named("best").seconds, 300);
  try {
    preset_named("slow");
    FAIL() << "accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "--preset slow: must be one of: fast, standard, best");
  }
}

TEST(Presets, StandOnThePageAndInTheHelp) {
  const std::string page = settings_page();
  for (const Preset& preset : presets()) {
    EXPECT_NE(page.find(std::string("| `") + preset.name + "` |"), std::string::npos);
    EXPECT_NE(presets_help().find(std::string(preset.name) + ": "), std::string::npos);
    for (const PresetSettings& each : preset.settings)
      for (const std::string& value : each.values) {
        EXPECT_NE(page.find(value), std::string::npos) << value;
        EXPECT_NE(presets_help(each.field).find(value), std::string::npos) << value;
        EXPECT_NE(presets_help().find(value), std::string::npos) << value;
      }
  }
  EXPECT_EQ(presets_help("frequency").find("grid"), std::string::npos) << "names settings of another field";
}

}  // namespace
}  // namespace klab
