// Files that are not what their name says, and JSON as people write it by hand: the message names what it is, where the
// fault is, and what to do.
// ctest: sanitized
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/records/foreign_file.h"
#include "harness/records/input.h"

namespace klab {
namespace {

using namespace std::string_literals;

TEST(ForeignFile, NamesKindAndRemedy) {
  const auto what = [](const std::string& bytes) {
    const auto foreign = foreign_file(bytes);
    return foreign ? foreign->what + ": " + foreign->remedy : "";
  };
  EXPECT_NE(what("version https://git-lfs.github.com/spec/v1\noid sha256:0\n").find("git lfs pull"),
            std::string::npos);
  EXPECT_NE(what("\n<!DOCTYPE HTML PUBLIC").find("page of HTML"), std::string::npos);
  EXPECT_NE(what("<html lang=\"en\">").find("download"), std::string::npos);
  EXPECT_NE(what("\x1F\x8B\x08"s).find("gunzip"), std::string::npos);
  EXPECT_NE(what("PK\3\4"s).find("ZIP"), std::string::npos);
  EXPECT_NE(what("\xFF\xFE{\0"s).find("save it as UTF-8"), std::string::npos);
  EXPECT_NE(what("RIFF\x20\0\0\0WEBPVP8 "s).find("WebP"), std::string::npos);
  EXPECT_NE(what("\0\0\0\x18"
                 "ftypheic\0\0"s)
                .find("HEIC"),
            std::string::npos);
  EXPECT_NE(what("\0\0\0\x18"
                 "ftypavif\0\0"s)
                .find("AVIF"),
            std::string::npos);
  EXPECT_NE(what("\0\0\0\x18"
                 "ftypisom\0\0"s)
                .find("video"),
            std::string::npos);
  EXPECT_NE(what("MM\0*"s).find("TIFF"), std::string::npos);
  EXPECT_NE(what("GIF89a").find("GIF"), std::string::npos);
  for (const std::string& own :
       {"\x89PNG\r\n\x1a\n"s, "\xFF\xD8\xFF\xE0"s, "ply\n"s, "{\"a\": 1}"s, "<"s, ""s})
    EXPECT_EQ(what(own), "") << own;
}

std::string json_error(const std::string& text) {
  try {
    parse_json(text, "x.json");
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "was read";
}

TEST(ParseJson, NamesLineColumnAndFault) {
  const auto expect = [](const std::string& text, const std::string& place, const std::string& fault) {
    const std::string said = json_error(text);
    EXPECT_NE(said.find("x.json: is not valid JSON at " + place + ": "), std::string::npos) << said;
    EXPECT_NE(said.find(fault), std::string::npos) << said;
  };
  expect("{\n  \"a\": 1,\n}", "line 3, column 1", "take out the comma before the closing bracket");
  expect("{\"a\": [1, 2, ]}", "line 1, column 14", "take out the comma");
  expect("{\n  \"a\": 1,  // two\n  \"b\": 2}", "line 2, column 12", "JSON has no comments");
  expect("# settings\n{}", "line 1, column 1", "JSON has no comments");
  expect("{'a': 1}", "line 1, column 2", "write texts in double quotes");
  expect("{\"a\": True}", "line 1, column 7", "'True' is no value of JSON");
  expect("{\n\"a\": best}", "line 2, column 6", "'best' is no value of JSON");
  expect("{\"a\": 1", "line 1, column 8", "cut short");
  expect("", "line 1, column 1", "cut short");
  expect("{\"a\" 1}", "line 1, column 6", "found '1}' there");
  EXPECT_NE(
      json_error("version https://git-lfs.github.com/spec/v1\n").find("x.json: is a pointer of Git LFS"),
      std::string::npos);
  EXPECT_EQ(json_error("\xEF\xBB\xBF{\"a\": [1, null, true]}"), "was read");
}

}  // namespace
}  // namespace klab
