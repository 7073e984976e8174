#!/usr/bin/env bash
# Pages show what their records, the registry, the settings and the kernels give: they are made again and compared. README is short; its
# first screen has a kernel, its ladder, a picture and the two commands. Links and named files exist, all commands are listed, words that
# the glossary replaced do not come back.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
fail() { echo "$*" >&2; exit 1; }
cd "$root"
made=(README.md labs/README.md docs/settings.md labs/16_hash_nerf/README.md labs/21_realtime/README.md reports/recorded/*/README.md)
cp --parents "${made[@]}" "$tmp"
KLAB=$klab KLAB_ROOT=$root TO=$tmp bash reports/readme.sh --pages
for page in "${made[@]}"; do
  diff -u "$page" "$tmp/$page" || fail "$page differs from what reports/readme.sh --pages makes"
done

[[ $(wc -l <"$root/README.md") -le 200 ]] || fail "README.md has more than 200 lines"
for part in '```cpp' './klab run ' './klab test ' '  cpu.01_naive ' '!['; do
  grep -qF -- "$part" <(head -n 40 "$root/README.md") || fail "README.md has no '$part' in its first 40 lines"
done

pages=(README.md CONTRIBUTING.md docs/*.md labs/README.md labs/*/README.md reports/recorded/*/README.md examples/*/README.md python/README.md)
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

# unknown FILE...: files that a page names and the tree does not have. A name may leave out the folders that the page is about;
# names with NN_ are forms.
find harness labs kernels reference tests cmake reports -type f -printf '/%p\n' >"$tmp/tree"
unknown() {
  grep -noE '[A-Za-z0-9_/]+\.(h|cpp|cu|cmake|sh)\b' "$@" /dev/null | grep -v 'NN_' | sort -u -t: -k1,1 -k3,3 |
    awk -F: 'NR == FNR { n = split($0, part, "/"); name = ""
                         for (i = n; i > 1; --i) { name = "/" part[i] name; known[name] = 1 }
                         next }
             !(("/" $3) in known) { print $1 ":" $2 ": " $3 }' "$tmp/tree" -
}
found=$(unknown docs/architecture.md docs/radiance.md docs/simt.md)
[[ -z $found ]] || fail "files that are named and not there:"$'\n'"$found"
printf 'see simt/nowhere.h\n' >"$tmp/named.md"
[[ -n $(unknown "$tmp/named.md") ]] || fail "the name of a file that is not there is not seen"

# Every command has its line.
for source in harness/cli/commands/cmd_*.cpp labs/*/commands/cmd_*.cpp; do
  name=${source##*/cmd_} name=${name%.cpp} name=${name//_/-}
  grep -qE "klab $name[ \`]" docs/commands.md || fail "docs/commands.md does not list klab $name"
done

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
