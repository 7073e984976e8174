// The tree is consistent: files and registry agree, every variant has its header, every rung its section in a
// lesson, and includes go one way.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "harness/cli/markdown.h"
#include "harness/core/lab.h"
#include "harness/core/registry.h"
#include "harness/core/source.h"
#include "harness/step/bodies.h"
#include "tests/tree/files.h"

namespace klab {
namespace {
namespace fs = std::filesystem;
using tree::code_files;
using tree::files_under;
using tree::root;

/// Files of variants: kernels/<op>/<backend>/<file>; kernels/common holds code that several share.
std::vector<std::string> variant_files() {
  std::vector<std::string> found;
  for (const std::string& file : files_under({"kernels"}, {".cpp", ".cu"}))
    if (!file.starts_with("kernels/common/")) found.push_back(file);
  return found;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

/// "kernels/matmul/cpu/04_cache_tile.cpp" -> "matmul.cpu.04_cache_tile"; "" for a path of another form.
std::string id_of_path(const std::string& file) {
  const auto parts = split(file, '/');
  if (parts.size() != 4) return "";
  return parts[1] + "." + parts[2] + "." + fs::path(parts[3]).stem().string();
}

/// Comments and the contents of strings blanked, so that only code is left. Raw strings are rare enough to be
/// left.
std::string code_only(const std::string& text) {
  static const std::regex skip(R"re(//[^\n]*|/\*[^]*?\*/)re");
  return std::regex_replace(text, skip, "");
}

TEST(Structure, TestsWriteIntoFoldersOfTheirOwn) {
  static const std::regex place(R"re(\b(temp_directory_path|TempDir|mkdtemp)\()re");
  int folders = 0;
  for (const std::string& file : files_under({"tests"}, {".cpp", ".h"})) {
    const std::string text = code_only(read_text(root / file));
    folders += text.find("TempFolder ") != std::string::npos;
    for (std::sregex_iterator at(text.begin(), text.end(), place), end; at != end; ++at)
      if (file != "tests/core/temp_folder.h" && file != "tests/tree/test_structure.cpp")
        ADD_FAILURE() << file << ": " << at->str(1)
                      << " makes a folder that stays, or that other tests write to: take TempFolder";
  }
  EXPECT_GT(folders, 30);
}

TEST(Structure, EveryVariantFileIsRegistered) {
  for (const std::string& file : variant_files()) {
    const std::string id = id_of_path(file);
    ASSERT_NE(id, "") << file << " is not kernels/<op>/<backend>/<rung>.<ext>";
    EXPECT_NE(find_variant(id), nullptr)
        << file << " registers no variant " << id
        << ": it must end with KLAB_VARIANT(...), and be built (run cmake again)";
  }
}

TEST(Structure, PartsOfRungsAreSharedByTwoAndMore) {
  std::map<std::string, std::set<std::string>> users;
  for (const std::string& file : files_under({"kernels"}, {".h"}))
    if (std::isdigit(fs::path(file).filename().string().front()) != 0) users[file];
  for (const std::string& file : variant_files())
    for (const std::string& part : bodies_of(read_text(root / file))) {
      EXPECT_TRUE(fs::exists(root / part)) << file << " includes " << part;
      users[part].insert(file);
    }
  for (const auto& [part, files] : users) {
    EXPECT_GE(files.size(), 2U) << part << " has one user: its text belongs into that rung";
    const std::string first = fs::path(part).filename().string();
    EXPECT_TRUE(!files.empty() && first.starts_with(fs::path(*files.begin()).stem().string()))
        << part << " is not named after the first rung that has it";
  }
}

TEST(Structure, EveryVariantHasItsFile) {
  ASSERT_FALSE(variants().empty());
  for (const Variant& v : variants()) {
    const std::string file = source_path(v);
    EXPECT_TRUE(fs::exists(root / file)) << v.id << " says that it comes from " << v.file;
    const auto parts = split(id_of_path(file), '.');
    ASSERT_EQ(parts.size(), 3U) << file;
    EXPECT_EQ(parts[0], v.op);
    EXPECT_EQ(parts[2], v.rung);
    EXPECT_EQ(parts[1], v.backend) << v.id << " in " << file;
    EXPECT_EQ(v.id, v.op + "." + v.backend + "." + v.rung);
  }
}

TEST(Structure, RungsAreNumberedAndNamed) {
  static const std::regex form("[0-9][0-9]_[a-z0-9]+(_[a-z0-9]+)*");
  std::map<std::string, std::string> taken;
  for (const Variant& v : variants()) {
    EXPECT_TRUE(std::regex_match(v.rung, form)) << source_path(v) << ": call it NN_snake_case";
    const std::string place = v.op + "." + v.backend + "." + v.rung.substr(0, 2);
    const auto [other, fresh] = taken.emplace(place, v.id);
    EXPECT_TRUE(fresh) << v.id << " has the number of " << other->second;
  }
}

TEST(Structure, VariantFilesOpenWithTheirHeader) {
  static const std::regex nothing(R"(-|(nothing|none|as (in )?the contract)\.?)");
  for (const std::string& file : variant_files()) {
    const std::string text = read_text(root / file);
    const std::string id = id_of_path(file);
    EXPECT_TRUE(text.starts_with("// " + id)) << file << " must open with \"// " << id << ": what it is\"";
    const auto header = header_of(text);
    for (const char* key : {"CHANGE", "EXPECT"})
      EXPECT_TRUE(header.contains(key)) << file << " lacks the header line " << key;
    for (const auto& [key, value] : header)
      EXPECT_FALSE(std::regex_match(value, nothing))
          << file << ": " << key << " says nothing: leave the line out";
  }
}

TEST(Structure, RungsWithVectorsTakeTheSharedFrame) {
  int framed = 0;
  for (const std::string& file : variant_files()) {
    const std::string text = read_text(root / file);
    EXPECT_EQ(text.find("HWY_TARGET_INCLUDE"), std::string::npos)
        << file << ": the frame is in kernels/common/simd.h";
    framed += text.find("KLAB_SIMD_BEGIN();") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(framed, 100);
}

TEST(Structure, ParentsComeEarlierInTheSameLadder) {
  for (const Variant& v : variants()) {
    const auto ladder = variants_of(v.op, v.backend);
    if (v.parent.empty()) {
      EXPECT_TRUE(v.peer || ladder.front() == &v)
          << v.id << " has no parent but is not the first of its ladder";
      continue;
    }
    EXPECT_NE(ladder.front(), &v) << v.id << " is the first of its ladder and cannot have a parent";
    const Variant* parent = find_variant(v.parent);
    ASSERT_NE(parent, nullptr) << v.id << ": no variant is called " << v.parent;
    EXPECT_LT(parent->rung, v.rung) << v.id << " comes before its parent " << parent->id;
    EXPECT_FALSE(parent->peer) << v.id << " was made from a peer";
  }
}

TEST(Structure, NoTwoRungsDifferOnlyInName) {
  for (const Variant& v : variants()) {
    if (v.parent.empty() || find_variant(v.parent) == nullptr) continue;
    const auto body = [](const Variant& x) { return code_only(source_text(x)); };
    EXPECT_NE(body(v), body(*find_variant(v.parent))) << v.id << " is its parent " << v.parent;
  }
}

TEST(Structure, ForwardRungsExist) {
  for (const Variant& v : variants()) {
    const LabOp* op = find_op(v.op);
    if (op == nullptr) continue;
    if (!v.forward.empty())
      EXPECT_NE(find_variant(v.forward), nullptr) << v.id << ": no forward " << v.forward;
    if (op->op.forward.empty()) continue;
    EXPECT_FALSE(variants_of(op->op.forward, v.backend).empty())
        << v.id << " is a backward but " << op->op.forward << " has no variant on " << v.backend;
  }
}

TEST(Structure, EveryOpBelongsToOneLab) {
  std::map<std::string, int> owners;
  for (const Lab& lab : labs())
    for (const LabOp& op : lab.ops) {
      ++owners[op.op.name];
      EXPECT_FALSE(variants_of(op.op.name).empty())
          << lab.id << " teaches " << op.op.name << ", which has no variant";
      EXPECT_TRUE(fs::exists(root / "reference" / op.op.name))
          << op.op.name << " has no reference/" << op.op.name;
      if (!op.op.forward.empty())
        EXPECT_NE(find_op(op.op.forward), nullptr) << op.op.name << ": no op " << op.op.forward;
    }
  for (const auto& [op, count] : owners) EXPECT_EQ(count, 1) << op;
  for (const Variant& v : variants())
    EXPECT_EQ(owners.count(v.op), 1U) << v.id << ": no lab teaches " << v.op;
  for (const auto& entry : fs::directory_iterator(root / "reference"))
    if (entry.is_directory())
      EXPECT_EQ(owners.count(entry.path().filename().string()), 1U) << "no lab teaches " << entry.path();
}

TEST(Structure, LabsAreFoldersThatRegisterThemselves) {
  static const std::regex form("[0-9][0-9]_[a-z0-9_]+");
  std::set<std::string> known;
  for (const Lab& lab : labs()) {
    known.insert(lab.id);
    EXPECT_FALSE(lab.title.empty()) << lab.id;
    EXPECT_FALSE(lab.question.empty()) << lab.id;
  }
  for (const auto& entry : fs::directory_iterator(root / "labs")) {
    if (!entry.is_directory()) continue;
    const std::string name = entry.path().filename().string();
    if (fs::exists(entry.path() / "CMakeLists.txt")) continue;  // rooms that several labs share
    EXPECT_TRUE(std::regex_match(name, form)) << "labs/" << name << ": call it NN_name";
    EXPECT_EQ(known.count(name), 1U) << "labs/" << name
                                     << " registers no lab (its lab.cpp must end with KLAB_LAB)";
  }
}

TEST(Structure, EveryLessonHasASectionForEveryRung) {
  for (const Lab& lab : labs()) {
    const fs::path page = root / lesson_path(lab.id);
    EXPECT_TRUE(fs::exists(page)) << "missing " << lesson_path(lab.id);
    if (!fs::exists(page)) continue;
    const std::string text = read_text(page);
    EXPECT_NE(text.find("## Tasks"), std::string::npos) << lesson_path(lab.id) << " sets no tasks";
    for (const LabOp& op : lab.ops)
      for (const Variant* v : variants_of(op.op.name)) {
        if (v->peer) continue;
        const std::string section = section_name(*v);
        const bool told = !section_of(text, section).empty() || !section_of(text, v->id).empty();
        EXPECT_TRUE(told) << lesson_path(lab.id) << " has no section \"## " << section << ": ...\" for "
                          << v->id;
      }
  }
}

TEST(Structure, LessonPicturesExist) {
  static const std::regex picture(R"(!\[[^\]]*\]\(([^)\s]+)[^)]*\))");
  for (const std::string& file : files_under({"labs"}, {".md"})) {
    const std::string text = read_text(root / file);
    for (std::sregex_iterator m(text.begin(), text.end(), picture), end; m != end; ++m) {
      const std::string target = (*m)[1];
      EXPECT_FALSE(target.starts_with("http")) << file << " loads a picture from elsewhere: " << target;
      EXPECT_TRUE(fs::exists((root / file).parent_path() / target)) << file << " shows " << target;
    }
  }
}

/// Rules that the include folders of the CMake targets do not enforce by themselves (cmake/KlabRooms.cmake):
/// by first folder, the folders that it may include. Standard and library headers are not checked, except
/// that a reference includes nothing else.
TEST(Structure, IncludesGoOneWay) {
  static const std::regex line("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"]");
  const std::set<std::string> rooms = {"reference", "kernels", "harness", "labs", "tests", "reports"};
  for (const std::string& file : code_files()) {
    const auto here = split(file, '/');
    std::istringstream in(read_text(root / file));
    for (std::string text; std::getline(in, text);) {
      std::smatch m;
      if (!std::regex_search(text, m, line)) continue;
      const std::string what = m[2];
      const auto there = split(what, '/');
      const std::string room = there.front();
      const std::string where = file + " includes " + what;
      if (rooms.count(room) == 0) {
        // Programs stand alone, as other people's do.
        EXPECT_FALSE(m[1] == "\"" && !file.starts_with("tests/programs/") &&
                     fs::exists((root / file).parent_path() / what))
            << where << ": write the path from the root";
        EXPECT_FALSE(here[0] == "reference" && what.find_first_of("/.") != std::string::npos)
            << where << ": a reference takes the standard library only";
        continue;
      }
      if (here[0] != room || room == "tests" || room == "reports") {
        EXPECT_TRUE(room != "labs" || here[0] == "tests") << where << ": nothing includes labs";
        EXPECT_TRUE(room != "tests" || here[0] == "tests") << where << ": nothing includes tests";
        EXPECT_TRUE(room != "reports" || here[0] == "reports") << where << ": nothing includes reports";
      }
      if (here[0] == "reference") EXPECT_EQ(room, "reference") << where;
      if (here[0] == "harness" && room == "kernels")
        ADD_FAILURE() << where << ": the harness knows no kernel";
      if (here[0] == "harness" && room == "reference")
        EXPECT_TRUE(what == "reference/contract.h" || what == "reference/generator.h" ||
                    what == "reference/float16.h" || what == "reference/formats.h" ||
                    what == "reference/relations.h" || what == "reference/boundaries.h" ||
                    what == "reference/far_shapes.h")
            << where << ": the harness is generic over contracts";
      if (here[0] == "labs" && room == "kernels")
        ADD_FAILURE() << where << ": labs reach kernels through the registry";
      if (here[0] == "labs" && room == "labs" && there.size() > 1)
        EXPECT_TRUE(there[1] == here[1] || there[1] == "radiance" || there[1] == "learning")
            << where << ": nothing includes another lab";
      if (here[0] != "tests" && what.starts_with("harness/cli/"))
        EXPECT_TRUE(file.starts_with("harness/cli/") || file.find("/commands/") != std::string::npos)
            << where << ": the command line is on top; only commands take it";
      if (here[0] != "kernels") continue;
      const bool common = here[1] == "common";
      // A part that a rung and a later one share is a header named after the first that has it.
      static const std::regex part("kernels/[a-z0-9_]+/(cpu|cuda)/[0-9][0-9]_[a-z0-9_]+-inl\\.h");
      if (room == "kernels" && !(there[1] == here[1] && std::regex_match(what, part)))
        EXPECT_EQ(there[1], "common") << where << ": variants do not include each other";
      if (room == "harness") {
        // The processor's tiles are asked for once a process, and the check sees whether they are released.
        const bool tiles = file == "kernels/common/tiles.h" && what == "harness/core/tile_unit.h";
        EXPECT_TRUE(!common || tiles || what.starts_with("harness/simt/"))
            << where << ": kernels/common is below the harness";
        EXPECT_TRUE(what == "harness/core/registrar.h" || tiles || what.starts_with("harness/simt/"))
            << where << ": a kernel takes the registrar and nothing else of the harness";
      }
      if (room == "reference" && !common)
        EXPECT_TRUE(there[1] == "contract.h" || there[1] == "float16.h" || there[1] == "formats.h" ||
                    there[1] == here[1] || here[1].starts_with(there[1] + "_") ||
                    there[1].starts_with(here[1].substr(0, here[1].rfind('_'))))
            << where << ": a kernel takes its own op's contract";
    }
  }
}

TEST(StructureDeathTest, ASecondVariantOfOneIdEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // vendor libraries start threads early
  ASSERT_FALSE(variants().empty());
  const Variant& first = variants().front();
  Variant again = first;
  again.file = "elsewhere/" + first.op + "/" + first.backend + "/" + first.rung + ".cpp";
  const auto quoted = [](const std::string& text) {
    return std::regex_replace(text, std::regex(R"([.+*?^$()\[\]{}|\\])"), R"(\$&)");
  };
  EXPECT_EXIT(register_variant(again), testing::ExitedWithCode(2), quoted(first.file));
  EXPECT_EXIT(register_variant(again), testing::ExitedWithCode(2), quoted(again.file));
  EXPECT_EXIT(register_variant(again), testing::ExitedWithCode(2), quoted(first.id));
}

TEST(StructureDeathTest, AVariantInTheFolderOfAnotherContractEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Registration astray = {
      .file = "kernels/transpose/cpu/98_astray.cpp", .form = Form::cpu, .contract = "matmul"};
  EXPECT_EXIT(register_variant(astray), testing::ExitedWithCode(2),
              "kernels/transpose/cpu/98_astray.cpp.*kernels/matmul/cpu");
}

TEST(StructureDeathTest, ASecondLabForOneOpEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ASSERT_FALSE(labs().empty());
  const auto with_ops = std::ranges::find_if(labs(), [](const Lab& l) { return !l.ops.empty(); });
  Lab again = *with_ops;
  EXPECT_EXIT(LabRegistrar("labs/99_again/lab.cpp", again), testing::ExitedWithCode(2), "teach");
  EXPECT_EXIT(LabRegistrar(with_ops->file.c_str(), again), testing::ExitedWithCode(2), "called");
}

TEST(Structure, AVariantPathNamesItsPlace) {
  Variant v;
  name_from_path(v, "/x/y/kernels/matmul/cpu/04_cache_tile.cpp");
  EXPECT_EQ(v.id, "matmul.cpu.04_cache_tile");
  EXPECT_EQ(v.op, "matmul");
  EXPECT_EQ(v.backend, "cpu");
  EXPECT_EQ(v.rung, "04_cache_tile");
  EXPECT_THROW(name_from_path(v, "04_cache_tile.cpp"), std::invalid_argument);
}

}  // namespace
}  // namespace klab
