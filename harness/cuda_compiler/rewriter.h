// State shared by the parts of the rewriter: tokens, edits, and the scope of a token.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/cuda_compiler/rewrite.h"
#include "harness/cuda_compiler/tokens.h"

namespace klab::cuda_compiler {

struct Edit {
  size_t at, length;
  std::string text;
};

/// A source text. Positions are indexes of tokens; kNone: there is none.
class Source {
 public:
  static constexpr size_t kNone = ~size_t(0);
  Source(std::string_view text, TokenList list) : text_(text), list_(std::move(list)) {}

  const std::vector<Token>& tokens() const { return list_.tokens; }
  const Token& operator[](size_t i) const { return list_.tokens[i]; }
  size_t size() const { return list_.tokens.size(); }
  bool is(size_t i, std::string_view t) const { return i < size() && list_.tokens[i].text == t; }

  /// Returns the bracket that closes the ( [ or { at i. Throws Unsupported if there is none.
  size_t close_of(size_t i) const;
  size_t open_of(size_t i) const;  // the reverse
  /// Returns the token after the template arguments that begin with the < at i.
  size_t behind_angles(size_t i) const;
  /// Returns the < that a > closes.
  size_t angle_open_of(size_t i) const;
  /// Returns whether a token in [from, to) equals t.
  bool has(size_t from, size_t to, std::string_view t) const;
  /// Returns the text of tokens on one line, without CUDA's keywords.
  std::string plain(size_t from, size_t to) const;
  [[noreturn]] void fail(size_t i, const std::string& what) const;
  std::string place_of(size_t i) const;  // "file:line"
  /// Returns whether the token comes from a file that the program includes.
  bool is_included(size_t i) const { return *list_.tokens[i].file != list_.main_file(); }

  void replace(size_t from, size_t to, const std::string& with);  // tokens [from, to); line breaks are kept
  void remove(size_t i) { replace(i, i + 1, ""); }
  void insert_before(size_t i, const std::string& what) { edits_.push_back({list_.tokens[i].at, 0, what}); }
  void insert_behind(size_t i, const std::string& what) {
    edits_.push_back({list_.tokens[i].end(), 0, what});
  }
  std::string edited() const;

 private:
  std::string_view text_;
  TokenList list_;
  std::vector<Edit> edits_;
};

/// Rewrites a kernel's definition from `head`, its first token, on; `word` is its __global__. Returns the (
/// of the parameters, or kNone for a declaration, which only loses its keywords.
size_t rewrite_kernel(Source& s, size_t head, size_t word, int number);

/// Rewrites the launch whose <<< begins at i.
void rewrite_launch(Source& s, size_t i);

/// Rewrites the shift whose < or > stands at i, if it is one, so that counts of the type's width and more give what
/// a GPU gives. `head` is the first token of the statement.
void rewrite_shift(Source& s, size_t i, size_t head);

/// Rewrites an assignment at the = at i whose value a function returns, so that the store is watched: what a
/// function returns in memory or in several registers is stored by the call itself.
void rewrite_assignment(Source& s, size_t i);

/// Behind the local variables of a kernel that tokens [head, end) declare without a value, inserts calls that mark them as
/// not set. `end` is the ;. Returns their names' tokens.
std::vector<size_t> rewrite_declaration(Source& s, size_t head, size_t end);

/// Returns whether nothing in its block sets the variable that is declared without a value at `name`, though something computes
/// with it. `end` is the ; of the declaration.
bool is_never_set(const Source& s, size_t name, size_t end);

/// Rewrites the use of such a variable at i, if it is part of a computation, so that it is reported when it is reached.
void rewrite_computation(Source& s, size_t i);

/// Marks a call of CUDA's runtime in host code whose error is dropped.
void rewrite_unasked(Source& s, size_t i);

/// Rewrites asm(...) in device code, from the keyword at i to its ).
void rewrite_ptx(Source& s, size_t i);

}  // namespace klab::cuda_compiler
