// Faulty listings: what a learner sees of them, answers that are right and wrong, files that are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "harness/core/select.h"
#include "harness/step/listing.h"

namespace klab {
namespace {

const char* const kSource =
    "// TITLE     a sum\n"
    "// CLAIM     one line\n"
    "//           and a second\n"
    "// REPAIRS   reduce.cuda.01_one_block\n"
    "// KIND      race\n"
    "// WHY       because\n"
    "int first;\n"
    "  int second;  // FAULT\n"
    "  //+ int other;\n"
    "int third;\n";

std::string line_of(const std::string& text, int number) {
  std::istringstream in(text);
  std::string line;
  for (int i = 0; i < number; ++i) std::getline(in, line);
  return line;
}

TEST(Listings, HideFaultAndRepair) {
  const Listing l = listing_from(kSource, "20_scan_sort", "20.fault.07", "a file");
  EXPECT_EQ(l.claim, "one line and a second");
  EXPECT_EQ(l.work, "20_scan_sort/fault_07.cu");
  ASSERT_EQ(l.lines.size(), 1U);
  EXPECT_EQ(line_of(l.text, *l.lines.begin()), "  int second;");
  EXPECT_EQ(l.text.find("FAULT\n"), std::string::npos);
  EXPECT_EQ(l.text.find("//+"), std::string::npos);
  EXPECT_EQ(l.text.find("because"), std::string::npos) << "tells why";
  EXPECT_NE(l.text.find("int first;\n  int second;\nint third;\n"), std::string::npos);
  EXPECT_NE(l.repaired.find("int first;\n  int other;\nint third;\n"), std::string::npos);
}

TEST(Listings, TakeAnAnswerOfLineAndKind) {
  const Listing l = listing_from(kSource, "20_scan_sort", "20.fault.07", "a file");
  const std::string line = std::to_string(*l.lines.begin()), other = std::to_string(*l.lines.begin() + 1);
  EXPECT_TRUE(named(l, line + ":race").good());
  EXPECT_FALSE(named(l, other + ":race").line);
  EXPECT_TRUE(named(l, other + ":race").kind);
  EXPECT_FALSE(named(l, line + ":bounds").good());
  for (const char* bad :
       {"", "race", "7", "0:race", "-1:race", "7:", "7:nothing", "7x:race", "100000:race", ":race"})
    EXPECT_THROW(named(l, bad), std::invalid_argument) << bad;
}

TEST(Listings, RefuseFilesWithoutAPart) {
  const auto without = [](const std::string& part) {
    std::string source = kSource;
    source.erase(source.find(part), source.find('\n', source.find(part)) + 1 - source.find(part));
    try {
      listing_from(source, "20_scan_sort", "20.fault.07", "the file");
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("read");
  };
  EXPECT_EQ(without("// KIND"), "the file: its header has no KIND");
  EXPECT_EQ(without("// REPAIRS"), "the file: its header has no REPAIRS");
  EXPECT_NE(without("  //+").find("none that begins with //+"), std::string::npos);
  EXPECT_NE(without("  int second").find("no line that ends with // FAULT"), std::string::npos);
  std::string source = kSource;
  source.replace(source.find("race"), 4, "luck");
  EXPECT_THROW(listing_from(source, "20_scan_sort", "20.fault.07", "f"), std::runtime_error);
}

TEST(Listings, LabsHaveWholeListings) {
  std::set<std::string> names, kinds;
  for (const Listing& l : listings()) {
    SCOPED_TRACE(l.name);
    EXPECT_TRUE(names.insert(l.name).second);
    kinds.insert(l.kind);
    EXPECT_EQ(l.rung->backend, "cuda");
    EXPECT_NE(l.text, l.repaired);
    for (const int line : l.lines) EXPECT_FALSE(line_of(l.text, line).empty());
    EXPECT_TRUE(is_listing(l.name));
    EXPECT_EQ(find_listing(l.name).title, l.title);
  }
  EXPECT_GE(names.size(), 11U);
  EXPECT_EQ(kinds.size(), listing_kinds().size()) << "a kind without an exercise";
  EXPECT_THROW(find_listing("14.fault.99"), NotFound);
  EXPECT_FALSE(is_listing("14.cuda.03"));
}

}  // namespace
}  // namespace klab
