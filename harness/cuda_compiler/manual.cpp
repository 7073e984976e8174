// The one text of klab-nvcc's options: printed by --help, and by --man as a manual page.
#include "harness/cuda_compiler/manual.h"

#include <algorithm>
#include <string_view>

#include "harness/cuda_compiler/options.h"

namespace klab::cuda_compiler {
namespace {

struct Line {
  std::string_view option, meaning;
};
struct Group {
  std::string_view title;
  std::vector<Line> lines;
};

constexpr std::string_view kSummary =
    "Compiles CUDA programs for the host. A program that is run checks every access to memory and prints "
    "what is wrong on "
    "standard error; klab trace shows counts as well. Without -o the program is a.out.";

const std::vector<Group>& groups() {
  static const std::vector<Group> all = {
      {"What is made",
       {{"-o FILE, --output-file", "name of the program, object or library"},
        {"-c, --compile", "an object for each file"},
        {"-dc, --device-c", "the same as -rdc=true -c"},
        {"-dw, --device-w", "the same as -rdc=false -c"},
        {"-rdc=true|false, --relocatable-device-code",
         "true: __device__ and __constant__ variables of one file can be declared extern in others. false, "
         "as for nvcc without "
         "this option: each file has its own"},
        {"-dlink, --device-link",
         "an object for build systems that link device code in a step of their own; the program's own link "
         "does that here"},
        {"-lib, --lib", "a static library"},
        {"-shared, --shared", "a shared library"},
        {"-E, --preprocess", "the text that the host compiler gets"},
        {"-M, -MM, -MD, -MMD, -MP, -MF FILE, -MT NAME, -MQ NAME", "dependencies, as by gcc"},
        {"--klab-compile-commands FILE",
         "writes each file's command to FILE, a compile_commands.json for editors and linters; commands of "
         "other files in it are "
         "kept"}}},
      {"What is compiled",
       {{"-x cu, --x", "takes every file as CUDA"},
        {"-std NAME, --std", "C++17 (default, and for older ones), 20 or 23"},
        {"-arch NAME, --gpu-architecture, -gencode, --generate-code",
         "sets __CUDA_ARCH__; sm_90a, the default, also __CUDA_ARCH_FEAT_SM90_ALL"},
        {"-I, --include-path, -isystem, --system-include", "folders of headers"},
        {"-D, --define-macro, -U, --undefine-macro", "macros"},
        {"-include, --pre-include", "a header before the file"},
        {"-optf FILE, --options-file", "more options from a file"},
        {"-Xcompiler LIST, --compiler-options", "options of the host compiler, with commas between"},
        {"-f*, -m*, -pthread", "passed to the host compiler"},
        {"--klab-plain", "does not watch accesses"}}},
      {"What is linked",
       {{"-L, -l", "libraries; those of CUDA are klab's, or do nothing"},
        {"-Xlinker LIST, --linker-options, -Wl,*", "options of the linker"},
        {"-rdynamic", "as by gcc"}}},
      {"What is shown",
       {{"-v, --verbose", "the commands that are run"},
        {"-dryrun, --dryrun", "the commands, without running them"},
        {"-V, --version", "what nvcc answers, so that build systems understand it"},
        {"-h, --help", "this text"},
        {"--man", "this text as a manual page: klab-nvcc --man | man -l -"}}},
      {"Rejected, since klab makes no code for GPUs",
       {{"-ptx, --ptx, -cubin, --cubin, -fatbin, --fatbin", ""}}}};
  return all;
}

const std::vector<Line>& variables() {
  static const std::vector<Line> all = {
      {"KLAB_COMPILE_COMMANDS",
       "the file of --klab-compile-commands, for builds whose command line you cannot change"},
      {"KLAB_CUDA", "klab's folder cuda/, if it is not near klab-nvcc"},
      {"KLAB_PROGRAM_FINDINGS=ignore", "programs: a finding does not change the exit code"},
      {"KLAB_PROGRAM_SEED", "programs: another order of blocks, warps and lanes (1)"},
      {"KLAB_PROGRAM_THREADS", "programs: cores that run blocks (all)"},
      {"KLAB_PROGRAM_SHARE", "programs: share of each grid's blocks that is watched (1)"},
      {"KLAB_PROGRAM_STEPS",
       "programs: steps of a block after which a kernel is taken for endless (500000000)"},
      {"KLAB_PROGRAM_STOP_AT_FIRST=1", "programs: an access out of bounds ends the launch, as on a GPU"}};
  return all;
}

constexpr std::string_view kIgnoredTitle = "Accepted without an effect";

/// Appends words, broken into lines of at most 100 characters that begin with `indent` spaces after the first.
void fill(std::string& to, std::string_view text, size_t column, size_t indent) {
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    if (column + space > 100 && column > indent) {
      if (to.back() == ' ') to.pop_back();
      to += "\n" + std::string(indent, ' ');
      column = indent;
    }
    to += text.substr(0, space);
    column += space;
    text.remove_prefix(std::min(space + 1, text.size()));
    if (!text.empty() && column < 100) to += ' ', ++column;
  }
  to += "\n";
}

void list(std::string& to, const std::vector<Line>& lines) {
  constexpr size_t kIndent = 30;
  for (const Line& l : lines) {
    to += "  ";
    to += l.option;
    size_t column = 2 + l.option.size();
    if (!l.meaning.empty() && column + 2 > kIndent) to += "\n", column = 0;
    if (!l.meaning.empty()) to += std::string(kIndent - column, ' ');
    fill(to, l.meaning, kIndent, kIndent);
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) text += (text.empty() ? "" : ", ") + w;
  return text;
}

/// Returns the text with the characters that troff reads as commands escaped.
std::string escaped(std::string_view text) {
  std::string to;
  for (const char c : text) {
    if (c == '-' || c == '\\') to += '\\';
    to += c == '\\' ? 'e' : c;
  }
  return to[0] == '.' || to[0] == '\'' ? "\\&" + to : to;
}

void paragraphs(std::string& to, const std::vector<Line>& lines) {
  for (const Line& l : lines) {
    to += ".TP\n.B " + escaped(l.option) + "\n";
    to += l.meaning.empty() ? "\\&\n" : escaped(l.meaning) + "\n";
  }
}

}  // namespace

std::string help_text() {
  std::string to = "klab-nvcc PROGRAM.cu [FILE...] [-o PROGRAM] [options of nvcc]\n\n";
  fill(to, kSummary, 0, 0);
  for (const Group& g : groups()) {
    to += "\n" + std::string(g.title) + ":\n";
    list(to, g.lines);
  }
  to += "\n" + std::string(kIgnoredTitle) + ":\n  ";
  fill(to, joined(ignored_options()), 2, 2);
  to += "\nEnvironment:\n";
  list(to, variables());
  return to + "\ndocs/cuda-programs.md says what is supported.\n";
}

std::string manual_page() {
  std::string to =
      ".TH KLAB\\-NVCC 1 \"\" klab\n.SH NAME\nklab\\-nvcc \\- compile CUDA programs for the host\n";
  to +=
      ".SH SYNOPSIS\n.B klab\\-nvcc\n.I PROGRAM.cu\n[\\fIFILE\\fR...] [\\fB\\-o\\fR \\fIPROGRAM\\fR] "
      "[options of nvcc]\n";
  to += ".SH DESCRIPTION\n" + escaped(kSummary) + "\n.SH OPTIONS\n";
  for (const Group& g : groups()) {
    to += ".SS " + escaped(g.title) + "\n";
    paragraphs(to, g.lines);
  }
  to += ".SS " + std::string(kIgnoredTitle) + "\n" + escaped(joined(ignored_options())) + "\n";
  to += ".SH ENVIRONMENT\n";
  paragraphs(to, variables());
  to += ".SH EXIT STATUS\n0 on success; 2 if something is wrong, explained on standard error.\n";
  return to + ".SH SEE ALSO\ndocs/cuda\\-programs.md says what is supported.\n";
}

}  // namespace klab::cuda_compiler
