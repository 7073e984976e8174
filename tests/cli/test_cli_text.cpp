// Names, tables and pages of the command line, in process.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/cli/markdown.h"
#include "harness/cli/markdown_events.h"
#include "harness/cli/site/page_markdown.h"
#include "harness/cli/step_text.h"
#include "harness/core/select.h"
#include "harness/core/source.h"
#include "harness/report/table.h"

namespace klab {
namespace {

const Paper pipe_paper{.terminal = false, .color = false, .width = 80};
const Paper plain_terminal{.terminal = true, .color = false, .width = 80};
const Paper color_terminal{.terminal = true, .color = true, .width = 80};

std::vector<std::string> ids(const std::vector<Selected>& selection) {
  std::vector<std::string> list;
  for (const Selected& s : selection)
    for (const Variant* v : s.variants) list.push_back(v->id);
  return list;
}

std::vector<std::string> ids(const std::string& what, const std::string& backend = "") {
  return ids(select(std::vector<std::string>{what}, backend));
}

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("matmul", "matmlu"), 1);
  EXPECT_EQ(edit_distance("check", "chek"), 1);
}

TEST(StepText, SaysWhetherRacesWereLookedFor) {
  const Step& step = find_step("vector_add.cpu.03_threads");
  Answer a;
  a.outcome = Outcome::untimed;
  a.compiled.good = true;
  a.cases = 10;
  ASSERT_TRUE(a.safe());
  EXPECT_EQ(answer_text(step, a).find("race"), std::string::npos);
  a.note = "threads watched, no race";
  EXPECT_NE(answer_text(step, a).find("threads watched, no race"), std::string::npos);
  a.note = "";
  a.compiled.unwatched = "klab was built by Clang";
  const std::string said = answer_text(step, a);
  EXPECT_NE(said.find("races between its threads were not looked for"), std::string::npos) << said;
  EXPECT_NE(said.find("Clang"), std::string::npos) << said;
}

TEST(Nearest, PrefersPartsThenFewEdits) {
  const std::vector<std::string> names = {"01_vector_add", "05_matmul", "matmul", "matmul_bwd", "transpose"};
  EXPECT_EQ(nearest("matmlu", names).front(), "05_matmul");
  EXPECT_EQ(nearest("transpos", names), std::vector<std::string>{"transpose"});
  EXPECT_TRUE(nearest("qqqqqqqqqqqqqqq", names).empty());
  EXPECT_LE(nearest("mat", names, 2).size(), 2U);
}

TEST(Select, NothingMeansEverything) {
  EXPECT_EQ(ids(select({})).size(), variants().size());
  EXPECT_EQ(ids("*").size(), variants().size());
}

TEST(Select, FindsByLabOpIdPrefixAndGlob) {
  for (const Lab& lab : labs()) {
    if (lab.ops.empty()) continue;
    std::vector<std::string> all;
    for (const LabOp& op : lab.ops)
      for (const Variant* v : variants_of(op.op.name)) all.push_back(v->id);
    const std::string rest = lab.id.substr(lab.id.find('_') + 1);
    const std::string number = lab.id.substr(0, lab.id.find('_'));
    EXPECT_EQ(ids(lab.id), all);
    EXPECT_EQ(ids(number), all);
    EXPECT_EQ(ids(std::to_string(std::stoi(number))), all);
    EXPECT_EQ(ids(rest), all);
  }
  const Variant& v = variants().front();
  EXPECT_EQ(ids(v.id), std::vector<std::string>{v.id});
  const auto ladder = ids(v.op + "." + v.backend);
  EXPECT_EQ(ladder.size(), variants_of(v.op, v.backend).size());
  EXPECT_EQ(ids(v.op + "." + v.backend + ".*"), ladder);
  for (const std::string& id : ids("*.cpu.01_*")) EXPECT_NE(id.find(".cpu.01_"), std::string::npos);
  EXPECT_EQ(ids(v.id, v.backend), std::vector<std::string>{v.id});
}

TEST(Select, AnIdIsNotAPrefixOfLongerNames) {
  const Variant& v = variants().front();
  EXPECT_THROW(ids(v.id.substr(0, v.id.size() - 1)), NotFound);
}

TEST(Select, NamesTogetherAndEachOnce) {
  const Variant& v = variants().front();
  EXPECT_EQ(ids(select(std::vector<std::string>{v.id, v.id, v.id})).size(), 1U);
}

TEST(Select, UnmatchedNamesAreAnErrorWithNearNames) {
  const Variant& v = variants().front();
  std::string wrong = v.id;
  std::swap(wrong[wrong.size() - 1], wrong[wrong.size() - 2]);
  try {
    ids(wrong);
    FAIL() << wrong;
  } catch (const NotFound& e) {
    EXPECT_NE(std::string(e.what()).find(v.id), std::string::npos) << e.what();
  }
  EXPECT_THROW(ids("nothing.*"), NotFound);
  EXPECT_THROW(ids(v.id, "gpu"), NotFound);
  EXPECT_THROW(select_lab("99"), NotFound);
}

TEST(Table, AlignsAndLeavesNoBlanksAtTheEnd) {
  Table t({{"name"}, {"time", Column::Kind::right}});
  t.add({"a", "1.5"});
  t.add({"longer", "12.25"});
  EXPECT_EQ(t.text(pipe_paper), "name     time\na         1.5\nlonger  12.25\n");
  EXPECT_THROW(t.add({"a"}), std::invalid_argument);
}

TEST(Table, BarsAndInksOnlyOnATerminal) {
  Table t({{"name"}, {"speed", Column::Kind::bar, 4}});
  t.add({Cell("a", Ink::red), Cell::bar(1)});
  t.add({"b", Cell::bar(2)});
  EXPECT_EQ(t.text(pipe_paper), "name\na\nb\n");
  EXPECT_EQ(t.text(plain_terminal), "name  speed\na     ██\nb     ████\n");
  EXPECT_NE(t.text(color_terminal).find("\033[31ma\033[0m"), std::string::npos);
  EXPECT_EQ(inked("x", Ink::bold, pipe_paper), "x");
}

TEST(Table, BarsOfNonFiniteNumbers) {
  EXPECT_EQ(bar(std::nan(""), 4), "");
  EXPECT_EQ(bar(-1, 4), "");
  EXPECT_EQ(bar(7, 2), "██");
  Table t({{"x", Column::Kind::bar, 4}});
  t.add({Cell::bar(std::numeric_limits<double>::infinity())});
  t.add({Cell::bar(std::nan(""))});
  EXPECT_EQ(columns_of(t.text(plain_terminal)) >= 0, true);
}

TEST(Table, SecondsHaveAUnitAndThreeDigits) {
  EXPECT_EQ(seconds_text(1.5), "1.50 s");
  EXPECT_EQ(seconds_text(0.0123), "12.3 ms");
  EXPECT_EQ(seconds_text(0.99996), "1.00 s");
  EXPECT_EQ(seconds_text(450e-6), "450 us");
  EXPECT_EQ(seconds_text(3e-9), "3.00 ns");
  EXPECT_EQ(seconds_text(std::nan("")), "-");
}

TEST(Header, JoinsContinuationLines) {
  const auto h = header_of(
      "// op.cpu.01_x: title\n//\n// CHANGE    one\n//           two.\n// NUMERICS  x = y\n// NEEDS\n// "
      "TRIED     see NOTES.md\n"
      "#include <x>\n// EXPECT   too late\n");
  EXPECT_EQ(h.at("CHANGE"), "one two.");
  EXPECT_EQ(h.at("NUMERICS"), "x = y");
  EXPECT_EQ(h.at("TRIED"), "see NOTES.md");
  EXPECT_EQ(h.count("NEEDS"), 0U);
  EXPECT_EQ(h.count("EXPECT"), 0U);
}

const char* const page =
    "# Lab\n\nA **bold** word, `a*b*c`, and [a link](https://example.org/x).\n\n```cpp\nint  x;  // kept\n## "
    "no heading\n```\n\n"
    "## 01_naive: the start\n\nfirst\n\n## `02_fast`: then\n\nsecond\n\n| a | b |\n|---|--:|\n| x | 10 |\n\n"
    "## Tasks\n\n1. Do.\n   <details><summary>Hint 1</summary>secret one</details>\n   <details>\n"
    "   <summary>Hint 2</summary>\n\n   secret two\n   </details>\n";

TEST(Markdown, SetsHeadingsCodeTablesAndLinks) {
  const std::string text = typeset(page, {.hints = false, .width = 80}, pipe_paper);
  EXPECT_NE(text.find("Lab\n===\n"), std::string::npos) << text;
  EXPECT_NE(text.find("A bold word, a*b*c, and a link <https://example.org/x>."), std::string::npos) << text;
  EXPECT_NE(text.find("    int  x;  // kept\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  a   b\n  x  10\n"), std::string::npos) << text;
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_NE(typeset(page, {.hints = false, .width = 80}, color_terminal).find("\033[1mbold\033[0m"),
            std::string::npos);
}

TEST(Markdown, HintsAreFoldedUntilAskedFor) {
  const std::string folded = typeset(page, {.hints = false, .width = 80}, pipe_paper);
  EXPECT_EQ(folded.find("secret"), std::string::npos) << folded;
  EXPECT_NE(folded.find("Hint 1"), std::string::npos);
  EXPECT_NE(folded.find("Hint 2"), std::string::npos);
  const std::string open = typeset(page, {.hints = true, .width = 80}, pipe_paper);
  EXPECT_NE(open.find("secret one"), std::string::npos) << open;
  EXPECT_NE(open.find("secret two"), std::string::npos) << open;
  EXPECT_EQ(open.find("</"), std::string::npos) << open;
}

TEST(Markdown, LinesStayWithinTheWidth) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "word" + std::to_string(i) + " `code`, ";
  for (const int width : {40, 60, 200}) {
    const std::string set = typeset(text, {.hints = false, .width = width}, pipe_paper);
    size_t begin = 0;
    for (size_t end = set.find('\n'); end != std::string::npos; begin = end + 1, end = set.find('\n', begin))
      EXPECT_LE(int(end - begin), std::min(width, 88));
  }
}

TEST(Markdown, FindsSections) {
  EXPECT_EQ(section_names(page), (std::vector<std::string>{"01_naive", "02_fast", "Tasks"}));
  EXPECT_NE(section_of(page, "02").find("second"), std::string::npos);
  EXPECT_EQ(section_of(page, "02").find("first"), std::string::npos);
  EXPECT_EQ(section_of(page, "2"), section_of(page, "02_fast"));
  EXPECT_EQ(section_of(page, "03"), "");
  EXPECT_EQ(section_of(page, "02_fas"), "");
}

TEST(Markdown, CommentsJoinNoTable) {
  const std::string generated =
      "Text\n<!-- table -->\n| a | b |\n|---|---|\n| c | d |\n<!-- end\nof it -->\nmore\n";
  EXPECT_EQ(without_comments(generated), "Text\n\n| a | b |\n|---|---|\n| c | d |\n\n\nmore\n");
  const std::string code =
      "```\n<!-- shown -->\n~~~\n<!-- shown -->\n```\n\n    <!-- shown -->\n<!-- a --> words\n";
  EXPECT_EQ(without_comments(code), code);
  const std::string html = rendered(generated, {}).html;
  EXPECT_EQ(html.find('|'), std::string::npos) << html;
  EXPECT_NE(html.find("</table></div>\n<p>more"), std::string::npos) << html;
  const std::string text = typeset(generated, {.hints = false, .width = 80}, pipe_paper);
  EXPECT_EQ(text.find('|'), std::string::npos) << text;
}

TEST(Markdown, AcceptsBrokenPages) {
  for (const char* broken : {"", "```\nnever closed", "<details>", "<details>\n<summary>x", "<!-- open",
                             "| a |\n|--|", "|\n|--", "**", "`", "[x](", "#", "> ", "1. ", "\\"})
    EXPECT_NO_THROW(typeset(broken, {.hints = true, .width = 80}, pipe_paper)) << broken;
}

}  // namespace
}  // namespace klab
