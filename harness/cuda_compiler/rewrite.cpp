#include "harness/cuda_compiler/rewrite.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "harness/cuda_compiler/libraries.h"
#include "harness/cuda_compiler/rewriter.h"

namespace klab::cuda_compiler {
namespace {

enum class Kind : unsigned char { file, type, function, other };

struct Scope {
  Kind kind = Kind::file;
  bool device = false;  // code for a device, perhaps also for the host
};

constexpr const char* kShared = "static thread_local __constinit __attribute__((aligned(1024)))";
#if defined(__x86_64__) || defined(__i386__)
#define KLAB_COMMENT "#"
#else
#define KLAB_COMMENT "//"
#endif
constexpr const char* kDevice = "__attribute__((section(\"klab_device\")))";
// Zeros take no space in the file. The comment character hides the compiler's own section flags, which
// follow.
constexpr const char* kDeviceZero =
    "__attribute__((section(\"klab_device_zero,\\\"aw\\\",@nobits" KLAB_COMMENT "\")))";
constexpr int kGuardBytes = 512;

class Rewriter {
 public:
  Rewriter(Source& s, const Rewriting& how) : s_(s), unset_(how.unset), relocatable_(how.relocatable) {
    scopes_.push_back({});
    find_external();
  }

  Rewritten run() {
    for (size_t i = 0; i < s_.size(); ++i) {
      const Token& t = s_[i];
      if (t.kind == TokenKind::mark) {
        mark(i);
      } else if (t.kind == TokenKind::word && t.ours) {
        if (const size_t next = word(i); next != Source::kNone) i = next - 1;
      }
    }
    return {s_.edited(), kernels_, launches_, warnings(), aligned_types_};
  }

 private:
  void mark(size_t i) {
    const Token& t = s_[i];
    if (t.text.size() > 1 && t.text[0] == '#') s_.remove(i);  // a macro's pragma
    if (t.is("{")) {
      scopes_.push_back(scope_of(i));
      head_ = i + 1;
    } else if (t.is("}")) {
      if (scopes_.size() > 1) scopes_.pop_back();
      while (!never_set_.empty() && never_set_.back().scopes > scopes_.size()) never_set_.pop_back();
      head_ = i + 1;
    } else if (t.is(";")) {
      if (unset_ && t.ours && head_ < i && scopes_.back().device && scopes_.back().kind != Kind::type &&
          !is_device_library(*t.file))
        declaration(i);
      head_ = i + 1;
    } else if (t.is(":") && i > 0 &&
               (s_.is(i - 1, "public") || s_.is(i - 1, "private") || s_.is(i - 1, "protected"))) {
      head_ = i + 1;
    } else if (t.is("<") && t.ours && s_.is(i + 1, "<") && s_.is(i + 2, "<") && s_[i + 1].at == t.at + 1) {
      rewrite_launch(s_, i);
      ++launches_;
    } else if (t.ours && scopes_.back().device && !is_device_library(*t.file)) {
      rewrite_shift(s_, i, head_);
      rewrite_assignment(s_, i);
    }
  }

  /// Handles what may declare local variables without a value, up to the ; at i.
  void declaration(size_t i) {
    for (const size_t name : rewrite_declaration(s_, head_, i))
      if (is_never_set(s_, name, i)) never_set_.push_back({s_[name].text, scopes_.size()});
  }

  /// Returns the scope that the { at i opens, from the declaration before it.
  Scope scope_of(size_t i) const {
    const Scope& around = scopes_.back();
    size_t from = head_;
    if (s_.is(from, "template") && s_.is(from + 1, "<")) {
      size_t k = from + 1;
      int depth = 0;
      for (; k < i; ++k) {
        if (s_.is(k, "<")) ++depth;
        if (s_.is(k, ">") && --depth == 0) break;
      }
      from = k + 1;
    }
    const bool closed = i > 0 && s_.is(i - 1, ")");
    bool call = false;
    for (size_t k = from; k < i; ++k) {
      if (s_.is(k, "(")) call = true;
      if (s_.is(k, "namespace") || (s_.is(k, "extern") && k + 2 == i)) return {Kind::file, false};
      if ((s_.is(k, "struct") || s_.is(k, "class") || s_.is(k, "union")) && !closed && !call &&
          !s_.has(k, i, "="))
        return {Kind::type, false};
      if (s_.is(k, "enum") && !call) return {Kind::other, around.device};
    }
    if (around.kind == Kind::function || around.kind == Kind::other)
      return {Kind::other, around.device || s_.has(head_, i, "__device__")};  // the latter: a lambda
    if (!call) return {Kind::other, false};
    return {Kind::function, s_.has(head_, i, "__device__") || s_.has(head_, i, "__global__")};
  }

  /// Rewrites a keyword. Returns the next token to process; kNone: the following one.
  size_t word(size_t i) {
    const std::string_view w = s_[i].text;
    if (w.starts_with("cuda") && !scopes_.back().device && scopes_.back().kind != Kind::file &&
        scopes_.back().kind != Kind::type)
      rewrite_unasked(s_, i);
    if (w == "memcpy" || w == "memmove" || w == "memset") watched_copy(i);
    if (std::ranges::find(never_set_, w, &NeverSet::name) != never_set_.end()) rewrite_computation(s_, i);
    if (w == "alignas" || w == "__align__" || w == "__attribute__") alignment(i);
    if (w[0] != '_' && w != "asm") return Source::kNone;
    if (w == "__global__") return kernel(i);
    if (w == "__shared__") {
      shared(i);
    } else if (w == "__constant__") {
      constant(i);
    } else if (w == "__device__") {
      device(i);
    } else if (w == "__host__" || w == "__managed__" || w == "__grid_constant__") {
      s_.remove(i);
    } else if (w == "__forceinline__") {
      const bool has = s_.has(head_, i, "inline") || s_.has(i, std::min(i + 6, s_.size()), "inline") ||
                       s_.has(head_, i, "__inline__");
      s_.replace(i, i + 1, has ? kAlwaysInline : std::string("inline ") + kAlwaysInline);
    } else if (w == "__noinline__") {
      if (!s_.is(i - 1, "(")) s_.replace(i, i + 1, "__attribute__((noinline))");
    } else if (w == "__launch_bounds__" || w == "__maxnreg__" || w == "__cluster_dims__") {
      s_.replace(i, s_.close_of(i + 1) + 1, "");
    } else if (w == "__align__") {
      s_.replace(i, i + 1, "__attribute__((aligned");
      s_.insert_behind(s_.close_of(i + 1), "))");
    } else if ((w == "asm" || w == "__asm__" || w == "__asm") && scopes_.back().device) {
      rewrite_ptx(s_, i);
    }
    return Source::kNone;
  }

  /// Gives a call of the C library another name in device code: the compiler replaces copies and fills of a few bytes by moves
  /// that are not watched.
  void watched_copy(size_t i) {
    if (!scopes_.back().device || !s_.is(i + 1, "(") || i == 0) return;
    size_t from = i;
    if (s_.is(i - 1, "::")) {
      if (i > 1 && s_[i - 2].word() && !s_.is(i - 2, "std")) return;
      if (s_.is(i - 2, "std")) from = i > 4 && s_.is(i - 3, "::") && s_.is(i - 4, "cuda") ? i - 4 : i - 2;
    } else if (s_.is(i - 1, ".") || s_.is(i - 1, "->")) {
      return;  // a member
    }
    s_.replace(from, i + 1, "klab_watched_" + std::string(s_[i].text));
  }

  /// Notes a type with an alignment of its own.
  void alignment(size_t i) {
    const bool of_type = i > 0 && (s_.is(i - 1, "struct") || s_.is(i - 1, "class") || s_.is(i - 1, "union") ||
                                   s_.is(i - 1, "}"));
    if (!of_type || !s_.is(i + 1, "(") || is_device_library(*s_[i].file)) return;
    const size_t close = s_.close_of(i + 1);
    aligned_types_ = aligned_types_ || !s_.is(i, "__attribute__") || s_.has(i, close, "aligned") ||
                     s_.has(i, close, "__aligned__");
  }

  size_t kernel(size_t i) {
    const size_t open = rewrite_kernel(s_, head_, i, kernels_ + 1);
    if (open != Source::kNone) {
      ++kernels_;
      return open;
    }
    size_t end = i;
    while (end < s_.size() && !s_.is(end, ";")) ++end;
    return end;
  }

  size_t statement_end(size_t i) const {
    for (size_t k = i; k < s_.size(); ++k) {
      if (s_.is(k, "(") || s_.is(k, "[") || s_.is(k, "{"))
        k = s_.close_of(k);
      else if (s_.is(k, ";"))
        return k;
    }
    s_.fail(i, "nothing ends this declaration");
  }

  /// Moves alignas before all other words of its declaration, as C++ requires.
  void alignment_first(size_t end) {
    for (size_t k = head_ + 1; k < end && !s_.is(k, "[") && !s_.is(k, "{") && !s_.is(k, "="); ++k) {
      if (!s_.is(k, "alignas") || s_.is(k - 1, "struct") || s_.is(k - 1, "union") || s_.is(k - 1, "class"))
        continue;
      const size_t behind = s_.close_of(k + 1) + 1;
      s_.insert_before(head_, s_.plain(k, behind) + " ");
      s_.replace(k, behind, "");
      k = behind - 1;
    }
  }

  void shared(size_t i) {
    const size_t end = statement_end(i);
    if (!s_.has(head_, end, "extern") || scopes_.back().kind == Kind::file) alignment_first(end);
    if (!s_.has(head_, end, "extern")) {
      const bool is_static = s_.has(head_, i, "static") || s_.has(i, std::min(end, i + 4), "static");
      s_.replace(i, i + 1, is_static ? std::string(kShared).substr(7) : kShared);
      return;
    }
    if (scopes_.back().kind == Kind::function || scopes_.back().kind == Kind::other)
      return dynamic_here(i, end);
    for (size_t k = head_; k < end; ++k)
      if (s_.is(k, "extern")) s_.replace(k, k + 1, "extern __constinit thread_local");
    s_.remove(i);
    s_.insert_before(end, " __asm__(\"klab_dynamic_shared\")");
  }

  /// Declares dynamic shared memory within a function: a reference to an array of unknown length.
  void dynamic_here(size_t i, size_t end) {
    std::string type;
    size_t name = Source::kNone, k = head_;
    for (; k < end; ++k) {
      if (s_.is(k, "extern") || s_.is(k, "__shared__") || s_.is(k, "static")) continue;
      if (s_.is(k, "__align__") || s_.is(k, "alignas") || s_.is(k, "__attribute__")) {
        k = s_.close_of(k + 1);
        continue;
      }
      if (s_.is(k, "<")) {
        const size_t behind = s_.behind_angles(k);
        type += s_.plain(k, behind);
        k = behind - 1;
        continue;
      }
      if (s_[k].word() && (s_.is(k + 1, "[") || k + 1 == end)) {
        name = k;
        break;
      }
      type += s_.plain(k, k + 1) + " ";
    }
    if (name == Source::kNone)
      s_.fail(i, "this extern __shared__ declaration is not understood: write extern __shared__ T name[];");
    const std::string array = s_.plain(name + 1, end);
    if (s_.has(name + 1, end, ",")) s_.fail(i, "one extern __shared__ array a declaration, please");
    s_.replace(head_, end,
               type + "(&" + std::string(s_[name].text) + ")" + array + " = *static_cast<" + type + "(*)" +
                   array + ">(::klab::simt::dynamic_shared())");
  }

  void constant(size_t i) {
    const size_t end = statement_end(i);
    const bool kept =
        s_.has(head_, i, "extern") || s_.has(head_, i, "static") || s_.has(i, std::min(end, i + 3), "static");
    if (!s_.has(head_, i, "extern")) defines(i);
    std::string with = kept || is_external(i) ? "" : "static ";
    if (!s_.has(head_, std::min(end, i + 4), "const") && !s_.has(head_, std::min(end, i + 4), "constexpr"))
      with += "__attribute__((section(\"klab_constant\")))";
    s_.replace(i, i + 1, with);
  }

  void device(size_t i) {
    if (!is_variable(i)) return s_.remove(i);
    defines(i);
    const bool is_static =
        s_.has(head_, i, "static") || s_.has(i, std::min(statement_end(i), i + 3), "static");
    const bool own = scopes_.back().kind == Kind::file && !is_static && !is_external(i);
    if (scopes_.back().kind == Kind::file) guard(i, own || is_static);
    s_.replace(i, i + 1, own ? std::string("static ") + section_of(i) : section_of(i));
  }

  /// Declares memory that no kernel may access between the variables of the device around i, and next to them. The compiler emits
  /// the variables of a section in the order of the file or in the reverse one, so the first has such memory on both sides.
  /// `between`: of one declaration too.
  void guard(size_t i, bool between) {
    const char* const section = section_of(i);
    const auto name = [&](int count) {
      const std::string one = "klab_guard" + std::to_string(++guards_);
      return one + "[" + std::to_string(count) + "] __asm__(\"" + one + "\") __attribute__((used))";
    };
    const auto declared = [&] {
      return std::string("static ") + section + " char " + name(kGuardBytes) + ";";
    };
    if (bool& first = guarded_[section == kDevice]; !std::exchange(first, true))
      s_.insert_before(head_, declared() + " ");
    const size_t end = statement_end(i);
    for (size_t k = i + 1; k < end && between && !s_.has(i, end, "auto"); ++k) {
      if (s_.is(k, "<"))
        k = s_.behind_angles(k) - 1;
      else if (s_.is(k, "(") || s_.is(k, "[") || s_.is(k, "{"))
        k = s_.close_of(k);
      else if (s_.is(k, ","))
        s_.insert_before(k, ", " + name(kGuardBytes / 8));  // elements of the variables' type
    }
    s_.insert_behind(end, " " + declared());
  }

  /// Returns the names of the variables that the declaration around i declares.
  std::vector<std::string> names_at(size_t i) const {
    std::vector<std::string> names;
    size_t name = Source::kNone;
    const auto ends = [&] {
      if (name != Source::kNone) names.emplace_back(s_[name].text);
      name = Source::kNone;
    };
    for (size_t k = i + 1; k < s_.size() && !s_.is(k, ";"); ++k) {
      if (s_.is(k, "(") && s_.is(k + 1, "*")) name = k + 2;
      if (s_.is(k, "<")) {
        k = s_.behind_angles(k) - 1;
      } else if (s_.is(k, "(") || s_.is(k, "[") || s_.is(k, "{")) {
        k = s_.close_of(k);
      } else if (s_.is(k, ",")) {
        ends();
      } else if (s_.is(k, "=")) {
        while (!s_.is(k + 1, ",") && !s_.is(k + 1, ";") && k + 1 < s_.size()) {
          ++k;
          if (s_.is(k, "(") || s_.is(k, "[") || s_.is(k, "{")) k = s_.close_of(k);
        }
      } else if (s_[k].word() && !s_.is(k, "__align__") && !s_.is(k, "alignas") &&
                 !s_.is(k, "__attribute__")) {
        name = k;
      }
    }
    ends();
    return names;
  }

  /// Returns whether other files may use variables of the declaration around i.
  bool is_external(size_t i) const {
    return relocatable_ ||
           std::ranges::any_of(names_at(i), [&](const auto& n) { return external_.contains(n); });
  }

  void defines(size_t i) {
    for (std::string& name : names_at(i)) defined_.insert(std::move(name));
  }

  /// Finds variables of the device that are declared extern.
  void find_external() {
    for (size_t i = 0; i + 2 < s_.size(); ++i) {
      if (!s_[i].ours || !s_.is(i, "extern") || s_[i + 1].kind == TokenKind::text) continue;
      bool of_device = false, shared = false;
      size_t end = i + 1;
      for (; end < s_.size() && !s_.is(end, ";") && !s_.is(end, "(") && !s_.is(end, "{") && !s_.is(end, "=");
           ++end) {
        of_device = of_device || s_.is(end, "__device__") || s_.is(end, "__constant__");
        shared = shared || s_.is(end, "__shared__") || s_.is(end, "__managed__");
      }
      if (!of_device || shared || !s_.is(end, ";")) continue;
      for (std::string& name : names_at(i)) external_.emplace(std::move(name), i);
    }
  }

  std::vector<std::string> warnings() const {
    std::vector<std::string> all;
    for (const auto& [name, at] : external_)
      if (!relocatable_ && !defined_.contains(name))
        all.push_back(s_.place_of(at) + ": warning: extern " + name +
                      " needs -rdc=true (or -dc); without it nvcc gives this file a variable of its own, "
                      "here the files share one");
    return all;
  }

  /// Returns whether __device__ at i declares a variable that lives as long as the program.
  bool is_variable(size_t i) const {
    if (scopes_.back().kind != Kind::file &&
        !(scopes_.back().kind == Kind::type && s_.has(head_, i, "static")))
      return false;
    if (s_.is(head_, "template") || s_.has(head_, i, "extern") || s_.has(head_, i, "using") ||
        s_.has(head_, i, "typedef"))
      return false;
    for (size_t k = i + 1; k < s_.size(); ++k) {
      if (s_.is(k, "__constant__") || s_.is(k, "__shared__") || s_.is(k, "__managed__") ||
          s_.is(k, "operator") || s_.is(k, "const") || s_.is(k, "constexpr") || s_.is(k, "extern") ||
          s_.is(k, "inline") || s_.is(k, "__forceinline__") || s_.is(k, "friend"))
        return false;
      if (s_.is(k, "__align__") || s_.is(k, "alignas") || s_.is(k, "__attribute__") || s_.is(k, "decltype"))
        k = s_.close_of(k + 1);
      else if (s_.is(k, "<"))
        k = s_.behind_angles(k) - 1;
      else if (s_.is(k, "("))
        return s_.is(k + 1, "*");  // float (*f)(float)
      else if (s_.is(k, "=") || s_.is(k, ";") || s_.is(k, "[") || s_.is(k, "{"))
        return !(s_.has(head_, i, "__constant__") || s_.has(head_, i, "__managed__") ||
                 s_.has(head_, i, "const") || s_.has(head_, i, "constexpr") || s_.has(head_, i, "inline"));
    }
    return false;
  }

  const char* section_of(size_t i) const {
    const size_t end = statement_end(i);
    return s_.has(i, end, "=") || s_.has(i, end, "{") ? kDevice : kDeviceZero;
  }

  /// A variable that nothing sets, and the number of scopes around it.
  struct NeverSet {
    std::string_view name;
    size_t scopes;
  };

  Source& s_;
  bool unset_, relocatable_;
  std::vector<Scope> scopes_;
  std::vector<NeverSet> never_set_;
  size_t head_ = 0;                         // first token of the declaration or statement
  std::map<std::string, size_t> external_;  // variables of the device that are declared extern, and where
  std::set<std::string> defined_;
  int kernels_ = 0, launches_ = 0, guards_ = 0;
  bool aligned_types_ = false;
  bool guarded_[2] = {};  // by section of variables of the device: it has a guard
};

}  // namespace

Rewritten rewrite(std::string_view preprocessed, bool (*is_foreign)(const std::string& file),
                  const Rewriting& how) {
  Source source(preprocessed, tokenize(preprocessed, is_foreign));
  return Rewriter(source, how).run();
}

}  // namespace klab::cuda_compiler
