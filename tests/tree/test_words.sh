#!/usr/bin/env bash
# Plain words: counts of idioms that a reader has to decode, by folder, in comments, pages and messages. A count may fall, never rise:
# tests/tree/words_budget.txt has the limits. `bash tests/tree/test_words.sh --accept` lowers the limits to the present counts.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
fail() { echo "$*" >&2; exit 1; }

# Prints "FOLDER IDIOM FILE:LINE" for each hit in the files named on standard input. A comment of several lines is one text; so is
# each string in the code, but for tests.
hits() {
  xargs -r -d '\n' awk '
    BEGIN {
      idioms = "so many|so much|such as|whoever|nobody|beside|anew|gone on with|goes on with|go on with|comes to|came to|" \
               "stands for|stand for|begun|by turns|is said|are said|looks at|looked at|that is so"
      for (k = split(idioms, list, "|"); k > 0; --k) {
        length_of[k] = split(list[k], parts, " ")
        for (i = 1; i <= length_of[k]; ++i) word_of[k, i] = parts[i]
        count_of_first[parts[1]]++
        of_first[parts[1], count_of_first[parts[1]]] = k
      }
    }
    function hit(idiom, line) { gsub(" ", "_", idiom); print folder, idiom, file ":" line }
    # Ends the text that was collected: searches it, then forgets it.
    function finish(   i, j, k, m) {
      for (i = 1; i <= n; ++i) {
        if (word[i] == "Of" && (i == 1 || raw[i - 1] ~ /[.:;!?][)"]*$/ || raw[i - 1] ~ /^[-*|]$/)) hit("Of", line_of[i])
        for (m = 1; m <= count_of_first[tolower(word[i])]; ++m) {
          k = of_first[tolower(word[i]), m]
          for (j = 2; j <= length_of[k] && i + j - 1 <= n && tolower(word[i + j - 1]) == word_of[k, j]; ++j) continue
          if (j > length_of[k]) hit(list[k], line_of[i])
        }
      }
      n = 0
    }
    function take(text,   parts, count, i, w) {
      gsub(/`[^`]*`/, " ", text)
      count = split(text, parts, " ")
      for (i = 1; i <= count; ++i) {
        w = parts[i]
        raw[++n] = w
        gsub(/^[^A-Za-z]+|[^A-Za-z]+$/, "", w)
        word[n] = w
        line_of[n] = FNR
      }
    }
    FNR == 1 {
      finish()
      file = FILENAME
      sub(/^\.\//, "", file)
      split(file, parts, "/")
      folder = parts[1]
      if (folder !~ /^(kernels|reference|docs|examples|reports|cmake)$/ && split(file, parts, "/") > 2)
        folder = folder "/" parts[2]
      kind = file ~ /\.md$/ ? "page" : file ~ /\.(h|cpp|cu|cuh)$/ ? "code" : "script"
      fenced = 0
    }
    kind == "page" {
      if ($0 ~ /^ *```/) { fenced = !fenced; finish(); next }
      if (fenced) next
      if ($0 ~ /^ *$/ || $0 ~ /^#/ || $0 ~ /^ *([-*]|[0-9]+\.) / || $0 ~ /^\|/) finish()
      take($0)
      next
    }
    kind == "script" {
      if ($0 !~ /^ *#/) { finish(); next }
      sub(/^ *#+!?/, "")
      take($0)
      next
    }
    {
      text = $0
      while (folder !~ /^tests/ && match(text, /"([^"\\]|\\.)*"/) && index(substr(text, 1, RSTART), "//") == 0) {
        finish()
        take(substr(text, RSTART + 1, RLENGTH - 2))
        finish()
        text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
      }
      gsub(/"([^"\\]|\\.)*"/, "\"\"", text)
      at = index(text, "//")
      if (at == 0) { finish(); next }
      if (substr(text, 1, at - 1) !~ /^ *$/) finish()
      text = substr(text, at)
      sub(/^\/\/[\/!]?<?/, "", text)
      if (text ~ /^ *$/) finish()
      take(text)
    }
    END { finish() }'
}

# counts ROOT: "FOLDER IDIOM COUNT" of a tree, sorted; FOLDER is one or two names deep.
files() {
  local all=() name
  for name in *.md CMakeLists.txt klab cmake docs examples harness kernels labs python reference reports tests; do
    [[ ! -e $name ]] || all+=("$name")
  done
  find "${all[@]}" \
    \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.md' -o -name '*.sh' -o -name '*.cmake' \
    -o -name CMakeLists.txt -o -name klab \) -type f -not -path 'reports/recorded/*' -not -name test_words.sh |
    LC_ALL=C sort
}
found_in() { (cd "$1" && files | hits | LC_ALL=C sort); }
counted() { awk '{ ++count[$1 " " $2] } END { for (k in count) print k, count[k] }' "$@" | LC_ALL=C sort; }

# above BUDGET COUNTS HITS: the places of each count above its limit; a folder or idiom without a line has the limit 0.
above() {
  awk 'FILENAME == ARGV[1] { limit[$1 " " $2] = $3; next }
       FILENAME == ARGV[2] { if ($3 > limit[$1 " " $2] + 0) over[$1 " " $2] = $3; next }
       ($1 " " $2) in over {
         k = $1 " " $2
         if (!told[k]++) printf "%s: %d times, the limit is %d\n", k, over[k], limit[k]
         print "  " $3
       }' "$1" "$2" "$3"
}
# lowered BUDGET COUNTS: the smaller of both for each line of the budget.
lowered() {
  awk 'FILENAME == ARGV[1] { now[$1 " " $2] = $3; next }
       /^#/ { print; next }
       { k = $1 " " $2; if (now[k] + 0 < $3) $3 = now[k] + 0; if ($3 > 0) print }' "$2" "$1"
}

budget=$tree/tests/tree/words_budget.txt
found_in "$tree" >"$tmp/hits"
counted "$tmp/hits" >"$tmp/counts"
if [[ ${1-} == --accept ]]; then
  lowered "$budget" "$tmp/counts" >"$budget.new" && mv "$budget.new" "$budget"
  exit
fi

# The count itself: what is found in a small tree, over lines, in strings and not in code; a rise fails, and is not accepted.
mkdir -p "$tmp/small/harness/core"
cat >"$tmp/small/harness/core/a.cpp" <<'END'
// Of these there are so
// many. A part of Of is none.
const char* s = "// nobody";  // anew
int beside = size("so", "many \" begun");
// "whoever"
END
printf '# Beside\n```\nnobody\n```\nNobody, `whoever`; of it.\n' >"$tmp/small/README.md"
found_in "$tmp/small" >"$tmp/small.hits"
diff - "$tmp/small.hits" <<'END' || fail "idioms are not counted right"
README.md beside README.md:1
README.md nobody README.md:5
harness/core Of harness/core/a.cpp:1
harness/core anew harness/core/a.cpp:3
harness/core begun harness/core/a.cpp:4
harness/core nobody harness/core/a.cpp:3
harness/core so_many harness/core/a.cpp:1
END
counted "$tmp/small.hits" >"$tmp/small.counts"
printf '# limits\nREADME.md beside 3\nREADME.md nobody 1\nharness/core Of 1\nharness/core begun 1\nharness/core nobody 1\nharness/core so_many 1\n' >"$tmp/small.budget"
diff <(above "$tmp/small.budget" "$tmp/small.counts" "$tmp/small.hits") - <<'END' || fail "a rise is not seen"
harness/core anew: 1 times, the limit is 0
  harness/core/a.cpp:3
END
diff <(lowered "$tmp/small.budget" "$tmp/small.counts") - <<'END' || fail "limits are not lowered, or are raised"
# limits
README.md beside 1
README.md nobody 1
harness/core Of 1
harness/core begun 1
harness/core nobody 1
harness/core so_many 1
END

over=$(above "$budget" "$tmp/counts" "$tmp/hits")
[[ -z $over ]] || fail "idioms above the limits of tests/tree/words_budget.txt; say it in plain words:"$'\n'"$over"
