#!/usr/bin/env bash
# Fills the generated blocks of README.md: the table of labs from the registry, what `klab run` prints and the table of
# speeds from a recorded run.
#
#   reports/readme.sh            runs the tour on this machine, records it, fills both blocks
#   reports/readme.sh FILE       takes the recorded output in FILE instead of running
#   reports/readme.sh --labs     the table of labs only
#   reports/readme.sh --speed    the table of speeds only, from the recorded rows
#   reports/readme.sh --train    the table of training only, from what reports/train.sh recorded
#   reports/readme.sh --picture ROWS  the picture of a report only, of recorded rows; needs Chromium
#
# A run is recorded as reports/recorded/<fingerprint>/run.txt with its rows, run.csv, beside machine.json, the record of the
# machine. KLAB names the program (default: ./klab), README the file to fill.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
klab=$(readlink -f -- "${KLAB:-$root/klab}")
readme=$(readlink -f -- "${README:-$root/README.md}")
cd "$root"

# fill NAME FILE: puts FILE between "<!-- generated: NAME" and "<!-- end: NAME -->".
fill() {
  local name=$1 file=$2
  grep -q "^<!-- generated: $name" "$readme" && grep -q "^<!-- end: $name -->" "$readme" ||
    { echo "$readme has no block called '$name'" >&2; exit 2; }
  awk -v name="$name" -v file="$file" '
    index($0, "<!-- end: " name " -->") == 1 { inside = 0 }
    !inside { print }
    index($0, "<!-- generated: " name) == 1 {
      inside = 1
      while ((getline line < file) > 0) print line
    }' "$readme" >"$readme.new"
  mv "$readme.new" "$readme"
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# The table of speeds, one line per operation, of every machine whose rows are recorded.
speed() {
  local rows
  : >"$tmp/speed"
  for rows in reports/recorded/*/run.csv; do
    [[ -f $rows ]] || continue
    [[ ! -s $tmp/speed ]] || echo >>"$tmp/speed"
    of_machine() { sed -n "s/.*\"$1\": \"\\{0,1\\}\\([^\",]*\\).*/\\1/p" "${rows%/*}/machine.json" | head -n 1; }
    printf '%s, %s, %s threads:\n\n' "$(of_machine processor)" "$(of_machine instruction_set)" "$(of_machine threads)" >>"$tmp/speed"
    "$klab" report "$rows" --summary >>"$tmp/speed"
  done
  [[ -s $tmp/speed ]] || echo "No rows are recorded yet; \`reports/readme.sh\` records them." >"$tmp/speed"
  fill speed "$tmp/speed"
}

# The table of training, of every machine that has recorded some.
train() {
  local folder
  : >"$tmp/train"
  for folder in reports/recorded/*/train; do
    [[ -d $folder ]] || continue
    [[ ! -s $tmp/train ]] || echo >>"$tmp/train"
    of_machine() { sed -n "s/.*\"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" "${folder%/*}/machine.json" | head -n 1; }
    printf '%s, %s threads:\n\n' "$(of_machine processor)" "$(of_machine threads)" >>"$tmp/train"
    "$klab" results "$folder"/*.json >>"$tmp/train"
  done
  [[ -s $tmp/train ]] || echo "Nothing is recorded yet; \`reports/train.sh\` records it." >"$tmp/train"
  fill train "$tmp/train"
}

# reports/pictures/report.png: the ladder of the matrix product in the report of recorded rows.
picture() {  # ROWS
  local browser
  browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "no Chromium: reports/pictures/report.png stays as it is" >&2; return 0; }
  "$klab" report "$1" --out "$tmp/report.html" >/dev/null
  # A browser makes pictures of a page from its top on, so all else is hidden.
  sed "s|</head>|<style>nav, h1, h1 + p, section:not([id='05_matmul']) { display: none } h2 { border: 0; margin: 0 }</style></head>|" \
    "$tmp/report.html" >"$tmp/part.html"
  "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1100,520 \
    --screenshot="$tmp/report.png" "file://$tmp/part.html" >/dev/null 2>&1
  mv "$tmp/report.png" reports/pictures/report.png
}
case ${1:-} in
  --speed) speed; exit 0 ;;
  --train) train; exit 0 ;;
  --picture) picture "${2:?name the rows: reports/recorded/MACHINE/run.csv}"; exit 0 ;;
esac

"$klab" list --markdown >"$tmp/labs"
fill labs "$tmp/labs"
[[ ${1:-} == --labs ]] && exit 0

if [[ $# -gt 0 ]]; then
  recorded=$1
else
  "$klab" doctor --json >"$tmp/machine.json"
  machine=$(sed -n 's/.*"fingerprint": "\([0-9a-f]*\)".*/\1/p' "$tmp/machine.json" | head -n 1)
  mkdir -p "reports/recorded/$machine"
  recorded=reports/recorded/$machine/run.txt
  (cd "$tmp" && "$klab" run --out "$tmp/run.csv" >"$tmp/run.txt")
  sed "s|$tmp/||" "$tmp/run.txt" >"$recorded.new"
  mv "$recorded.new" "$recorded"
  mv "$tmp/run.csv" "reports/recorded/$machine/run.csv"
  mv "$tmp/machine.json" "reports/recorded/$machine/machine.json"
fi
[[ -s $recorded ]] || { echo "$recorded is empty or not there" >&2; exit 2; }
{ echo '```'; cat "$recorded"; echo '```'; } >"$tmp/run"
fill run "$tmp/run"
{ echo '```'; awk '/^matmul: /{inside = 1} /^matmul_bwd: /{inside = 0} inside' "$recorded"; echo '```'; } >"$tmp/ladder"
fill ladder "$tmp/ladder"
speed
train
[[ ! -f ${recorded%/*}/run.csv ]] || picture "${recorded%/*}/run.csv"
echo "README.md shows ${recorded#"$root"/}"
