#!/usr/bin/env bash
# What README.md and the pages of recorded machines show is what their records and the registry give: they are made again and
# compared. README is short and begins with a picture, links resolve, words that the glossary replaced do not come back.
set -euo pipefail
klab=$1 root=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "$*" >&2; exit 1; }
cp "$root/README.md" "$tmp/README.md"
mkdir "$tmp/pages"
KLAB=$klab KLAB_ROOT=$root README=$tmp/README.md PAGES=$tmp/pages bash "$root/reports/readme.sh" --pages
diff -u "$root/README.md" "$tmp/README.md" || fail "README.md differs from what reports/readme.sh --pages makes"
for page in "$tmp"/pages/*/README.md; do
  recorded=$root/reports/recorded/${page#"$tmp/pages/"}
  diff -u "$recorded" "$page" || fail "$recorded differs from what reports/readme.sh --pages makes"
done

[[ $(wc -l <"$root/README.md") -le 200 ]] || fail "README.md has more than 200 lines"
grep -q '!\[' <(head -n 25 "$root/README.md") || fail "README.md has no picture in its first 25 lines"

cd "$root"
pages=(README.md CONTRIBUTING.md docs/*.md labs/README.md labs/*/README.md reports/recorded/*/README.md examples/*/README.md)
# broken FILE...: links to files that are not there.
broken() {
  local file link
  for file in "$@"; do
    grep -o '](\([^)]*\))' "$file" | sed 's/^](//; s/)$//; s/#.*//; s/ .*//' | while read -r link; do
      case $link in '' | http://* | https://* | mailto:*) continue ;; esac
      [[ -e ${file%/*}/$link || ($file != */* && -e $link) ]] || echo "$file: $link"
    done
  done
}
found=$(broken "${pages[@]}")
[[ -z $found ]] || fail "links to nothing:"$'\n'"$found"
printf '[x](nowhere.md)\n' >"$tmp/link.md"
[[ -n $(broken "$tmp/link.md") ]] || fail "a broken link is not seen"

# words FILE...: former words. Former names of rungs stand in `.was`, which is no text.
words() {
  grep -nHiE 'FLOPs? (a|per) byte|(sectors|conflicts) (each|a request|per request)|\bunder way\b|ask_points|look_ahead|as_they_come|few_rows|stagger|line[ _]trip|\btemperature\b|\bunsteady\b|\braced\b|\brace against\b|neighbour|colour|behaviour|\bseal(s|ed)?\b' "$@" |
    grep -vE '\.was = |"seal"|`seal`' || true
}
mapfile -t sources < <(find harness labs kernels \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.md' \))
found=$(words "${pages[@]}" "${sources[@]}")
[[ -z $found ]] || fail "words that docs/glossary.md replaced:"$'\n'"$found"
printf 'sectors each\n' >"$tmp/word.md"
[[ -n $(words "$tmp/word.md") ]] || fail "a former word is not seen"

# The reports of the recorded tours have their plots.
if gnuplot --version >/dev/null 2>&1; then
  for rows in "$root"/reports/recorded/*/run.csv; do
    "$klab" report "$rows" -o "$tmp/report.html" >/dev/null
    if grep -o 'There are no plots[^<]*' "$tmp/report.html"; then exit 1; fi
    [[ $(grep -o '<svg' "$tmp/report.html" | wc -l) -gt 10 ]] || fail "$rows: hardly a plot in its report"
  done
fi
