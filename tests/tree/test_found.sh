#!/usr/bin/env bash
# docs/found.md: every row has all its fields, kinds are those of the executor's findings, no place is listed twice, and the
# first page says the number of rows.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
fail() { echo "FAILED: $*" >&2; exit 1; }

sed -n '/^const char\* name_of(Kind kind)/,/^}/s/.*return "\(.*\)";/\1/p' "$root/harness/simt/session.cpp" | grep -v '?' >"$tmp/kinds"
[[ $(wc -l <"$tmp/kinds") -gt 10 ]] || fail "no names of kinds in harness/simt/session.cpp"

# rows PAGE: the rows of its table of bugs.
rows() { sed -n '/^| # |/,/^$/p' "$1" | sed '1,2d; /^$/d'; }

# check PAGE README: prints what is wrong with them.
check() {
  # The commits stand in a table of their own: "| owner/name | 40 hex digits |".
  sed -nE 's,^\| ([A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+) \| `([0-9a-f]{40})` \|.*,\1,p' "$1" >"$tmp/repositories"
  rows "$1" | awk -F'|' -v kinds="$tmp/kinds" -v repositories="$tmp/repositories" '
    function trim(s) { gsub(/^ +| +$/, "", s); return s }
    BEGIN { while ((getline line < kinds) > 0) kind[line] = 1
            while ((getline line < repositories) > 0) { repository[line] = 1; unused[line] = 1 } }
    NF != 10 { print "row " NR ": " NF - 2 " fields instead of 8"; next }
    { for (i = 2; i <= 9; ++i) { field[i] = trim($i); if (field[i] == "") print "row " NR ": field " i - 1 " is empty" }
      if (field[2] != NR) print "row " NR ": numbered " field[2]
      if (!(field[3] in repository)) print "row " NR ": no commit of " field[3]
      delete unused[field[3]]
      if (field[4] !~ /^`[^`]+\.(cu|cuh|h|hpp|cpp)`$/) print "row " NR ": " field[4] " is no file"
      if (field[5] !~ /^[1-9][0-9]*$/) print "row " NR ": " field[5] " is no line"
      if (!(field[6] in kind)) print "row " NR ": klab has no kind of finding \"" field[6] "\""
      if (field[8] !~ /^(wrong|may differ|same)$/) print "row " NR ": results are \"" field[8] "\", not wrong, may differ or same"
      if (field[9] !~ /^`klab trace [^`]*\.cu/) print "row " NR ": " field[9] " is no command"
      place = field[3] field[4] field[5] field[6]
      if (place in seen) print "row " NR ": the place of row " seen[place]
      seen[place] = NR }
    END { for (name in unused) print "no row of " name }'
  local number
  number=$(sed -nE 's,.*\[([0-9]+) true bugs in public CUDA programs\]\(docs/found\.md\).*,\1,p' "$2")
  [[ $number == "$(rows "$1" | wc -l)" ]] || echo "README.md says '$number' bugs, docs/found.md has $(rows "$1" | wc -l)"
}

page=$root/docs/found.md
[[ $(rows "$page" | wc -l) -ge 10 ]] || fail "no table in docs/found.md"
wrong=$(check "$page" "$root/README.md")
[[ -z $wrong ]] || fail "$wrong"

# Pages with an error are refused.
refused() {  # SED WORDS: what the check prints for a page changed so
  sed -E "$1" "$page" >"$tmp/page.md"
  cmp -s "$page" "$tmp/page.md" && fail "'$1' changes nothing"
  local said
  said=$(check "$tmp/page.md" "$root/README.md")
  [[ $said == *"$2"* ]] || fail "a page changed by '$1' is not refused with '$2'"
}
refused '/^\| 3 \|/d' "numbered 4"
refused '/^\| [0-9]+ \|/s/uninitialized memory/bad memory/' "no kind of finding"
refused '/^\| 2 \|/s/\| (wrong|may differ|same) \|/| |/' "is empty"
refused '/^\| 2 \|/s/` \| [0-9]+ \|/` | here |/' "is no line"
refused '/^\| 1 \|/p' "the place of row 1"
refused '/^\| [A-Za-z0-9_.-]+\/.*[0-9a-f]{40}/d' "no commit of"
refused '/^\| 2 \|/d' "README.md says"
echo "$(rows "$page" | wc -l) bugs listed"
