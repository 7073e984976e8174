#!/usr/bin/env bash
# Makes the pages that show measurements: nothing in them is typed by hand.
#
#   reports/readme.sh              runs the tour on this machine, records it, and makes all pages
#   reports/readme.sh --pages      makes all pages from the records
#   reports/readme.sh --realtime CSV      prints such rows of klab realtime as the table that the pages show
#   reports/readme.sh --picture MACHINE   reports/pictures/klab.png, of that machine's rows; needs gnuplot
#
# A run is recorded as reports/recorded/<fingerprint>/run.txt, what was printed, with its rows, run.csv, next to machine.json,
# the record of the machine. From these come
#   README.md                      its blocks: kernel (of a rung's file), ladder (of one machine), labs (one line each), machines
#   labs/README.md                 its block: labs, with all operations and their rungs
#   docs/settings.md               all of it, by klab train --matrix
#   labs/16_hash_nerf/README.md    its block: terms, of the loss, from the same
#   labs/21_realtime/README.md     its block: realtime, of each machine that has a realtime.csv (reports/realtime.sh)
#   reports/recorded/*/README.md   that machine: speeds, training, ladders
# KLAB names the program (default: ./klab), TO the tree whose pages are filled (default: this one).
set -euo pipefail
export LC_ALL=C  # awk and printf read and write numbers with a point
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
klab=$(readlink -f -- "${KLAB:-$root/klab}")
to=$(readlink -f -- "${TO:-$root}")
readme=$to/README.md
pages=$to/reports/recorded
[[ ${1:-} != --realtime ]] || set -- "$1" "$(readlink -f -- "${2:?name the rows, a realtime.csv}")"
cd "$root"
gpu_op=matmul        # the ladder of the first page that ran on a GPU; some of its rungs
op=softmax_xent_fwd  # the ladder of the first page and of its picture
rung=kernels/softmax_xent_fwd/cpu/03_simd.cpp  # its kernel: the lines from `rung_from` to the end of the first loop
rung_from='float sum_of('

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# fill NAME FILE [PAGE]: puts FILE between "<!-- generated: NAME" and "<!-- end: NAME -->" of a page (default: the first page).
fill() {
  local name=$1 file=$2 page=${3:-$readme}
  grep -q "^<!-- generated: $name" "$page" && grep -q "^<!-- end: $name -->" "$page" ||
    { echo "$page has no block called '$name'" >&2; exit 2; }
  awk -v name="$name" -v file="$file" '
    index($0, "<!-- end: " name " -->") == 1 { inside = 0 }
    !inside { print }
    index($0, "<!-- generated: " name) == 1 {
      inside = 1
      while ((getline line < file) > 0) print line
    }' "$page" >"$tmp/filled"
  cat "$tmp/filled" >"$page"
}

# of_machine FOLDER FIELD: a field of its machine.json, without quotes.
long_of_machine() { sed -n "s/.*\"$2\": \"\([^\"]*\)\".*/\1/p" "$1/machine.json" | head -n 1; }  # commas and all
of_machine() { sed -n "s/.*\"$2\": \"\{0,1\}\([^\",]*\).*/\1/p" "$1/machine.json" | head -n 1; }

name_of() {
  local gpu
  gpu=$(of_machine "$1" gpu)
  [[ $gpu == none ]] || printf '%s; ' "$gpu"
  printf '%s, %s, %s threads' "$(of_machine "$1" processor)" "$(of_machine "$1" instruction_set)" "$(of_machine "$1" threads)"
}

# Prints the commit and compiler of a machine's records, and whether it had a GPU.
circumstances() {
  local gpu
  gpu=$(of_machine "$1" gpu)
  printf '%s; %s GiB of memory; %s; klab %s%s.\n' "$(of_machine "$1" os)" \
    "$(awk -v b="$(of_machine "$1" memory_bytes)" 'BEGIN { printf "%.0f", b / 2^30 }')" "$(of_machine "$1" compiler)" \
    "$(of_machine "$1" commit)" "$([[ $(of_machine "$1" dirty) != true ]] || echo ' with changes that were committed later')"
  if [[ $gpu == none ]]; then
    echo "The machine has no GPU: CUDA rungs were compiled for the host, run by klab's executor, checked and counted. None of the"
    echo "times here is a GPU's."
  else
    printf 'GPU: %s; driver %s; clocks %s.\n' "$gpu" "$(long_of_machine "$1" gpu_driver)" "$(long_of_machine "$1" gpu_clocks)"
  fi
}

# realtime_table CSV: rows of klab realtime as a table of Markdown, and their circumstances. Cells in quotes may have commas.
realtime_table() {
  awk '
    function cells(line, into,   n, i, c, quoted) {
      n = 1; into[1] = ""; quoted = 0
      for (i = 1; i <= length(line); ++i) {
        c = substr(line, i, 1)
        if (c == "\"" && quoted && substr(line, i + 1, 1) == "\"") { into[n] = into[n] c; ++i }
        else if (c == "\"") quoted = !quoted
        else if (c == "," && !quoted) into[++n] = ""
        else into[n] = into[n] c
      }
      return n
    }
    NR == 1 { n = cells($0, heads)
              for (i = 1; i <= n; ++i) at[heads[i]] = i
              print "| plan | frames/s | over the first | PSNR, dB | from first, dB | computed | what is skipped or given up |"
              print "|---|--:|--:|--:|--:|--:|---|"; next }
    { cells($0, row)
      over = row[at["over_first"]] == "" ? "" : sprintf("%.2f [%.2f, %.2f]", row[at["over_first"]], row[at["over_first_low"]], row[at["over_first_high"]])
      from = row[at["from_first"]] == "inf" ? "equal" : row[at["from_first"]]
      printf "| %s | %.2f [%.2f, %.2f] | %s | %s | %s | %.0f %% | %s |\n", row[1], row[at["frames_per_second"]], row[at["low"]], row[at["high"]], over,
        row[at["psnr"]], from, 100 * row[at["computed"]], row[at["change"]]
      said = row[at["width"]] "x" row[at["height"]] " pixels, " row[at["threads"]] " threads; " row[at["paths"]] (row[at["paths"]] == 1 ? " path of " : " paths of ") row[at["frames"]] \
        " cameras, " row[at["rounds"]] " rounds"
      if ("scene" in at) said = "Scene " row[at["scene"]] "; " said "; klab " row[at["commit"]] }
    END { print ""; print said "." }' "$1"
}

# page FOLDER: the page of one machine.
page() {
  local folder=$1 out
  out=$pages/${folder#reports/recorded/}/README.md
  mkdir -p "${out%/*}"
  {
    printf '# %s\n\nMade by `reports/readme.sh` from the files in this folder; the words are explained in the\n' "$(name_of "$folder")"
    printf '[glossary](../../../docs/glossary.md), the columns in [measuring](../../../docs/measuring.md).\n\n'
    circumstances "$folder"
    if [[ -f $folder/run.txt ]]; then printf '\nWhat `klab run` printed: [run.txt](run.txt).'; fi
    if [[ -f $folder/run.csv ]]; then printf ' Its rows: [run.csv](run.csv).'; fi
    if [[ -f $folder/run.txt ]]; then echo; fi
    if [[ -f $folder/run.csv ]]; then
      printf '\n## Speed, one line per operation\n\n'
      "$klab" report "$folder/run.csv" --summary
    fi
    if [[ -d $folder/train ]]; then
      printf '\n## Training\n\n'
      local trained
      mapfile -t trained < <(printf '%s\n' "$folder"/train/*.json | sort -V)
      "$klab" results "${trained[@]}"
    fi
    if [[ -f $folder/gpu_rows.csv ]]; then
      printf '\n## CUDA ladders on the GPU, one line per operation\n\nTimes by the events of the GPU, of each ladder at its largest size; ceilings are those of the data\n'
      printf 'sheet. What `klab bench --backend cuda` printed: [gpu_rows.txt](gpu_rows.txt). Its rows: [gpu_rows.csv](gpu_rows.csv).\n\n'
      "$klab" report "$folder/gpu_rows.csv" --summary
    fi
    if [[ -f $folder/gpu_check.json ]]; then
      printf '\nBefore, every rung was checked there against the reference ([gpu_check.json](gpu_check.json)): %s right, %s wrong, %s not run\n(for want of a library or by their size).\n' \
        "$(sed -n 's/^  "ok": \([0-9]*\).*/\1/p' "$folder/gpu_check.json")" "$(sed -n 's/^  "failed": \([0-9]*\).*/\1/p' "$folder/gpu_check.json")" \
        "$(sed -n 's/^  "skipped": \([0-9]*\).*/\1/p' "$folder/gpu_check.json")"
    fi
    if [[ -f $folder/gpu_agreement.csv ]]; then
      printf '\n## What the GPU counted, and what the host counts\n\nNsight Compute on one call of each CUDA rung ([gpu_counters.csv](gpu_counters.csv)) beside the counts of the host\n'
      printf 'executor, which takes the source as it is written ([gpu_agreement.csv](gpu_agreement.csv)). Why counts differ:\n[CUDA on the host](../../../docs/cuda-on-the-host.md).\n\n'
      "$klab" counts --gpu "$folder/gpu_counters.csv" --markdown
    fi
    if [[ -f $folder/realtime.csv ]]; then
      printf '\n## Pictures in real time\n\nBy `klab realtime` (lab 21); rows: [realtime.csv](realtime.csv).\n\n'
      realtime_table "$folder/realtime.csv"
    fi
    if [[ -f $folder/precisions.csv ]]; then
      printf '\n## Training in fewer bits\n\nBy `reports/precisions.sh`, precisions by turns within each seed; rows: [precisions.csv](precisions.csv).\n\n'
      "$root/reports/precisions.sh" --markdown "$folder/precisions.csv"
    fi
    if [[ -f $folder/gpu_rows.csv ]]; then
      printf '\n## The ladders on the GPU\n\n'
      "$klab" report "$folder/gpu_rows.csv" --markdown | sed '1,/^## /{/^## /!d}' | sed 's/^## /### /'
    fi
    if [[ -f $folder/run.csv ]]; then
      printf '\n## The ladders\n\nRungs of the processor; CUDA rungs, which are counted, are in [run.txt](run.txt).\n\n'
      "$klab" report "$folder/run.csv" --markdown | sed '1,/^## /{/^## /!d}' | sed 's/^## /### /'
    fi
  } >"$tmp/page"
  cat "$tmp/page" >"$out"
}

# shown: the machine that README.md shows, as its block says.
shown() { sed -n 's/^<!-- generated: ladder of \([0-9a-f]*\) .*/\1/p' "$readme"; }

# gpu_shown: the machine whose GPU README.md shows.
gpu_shown() { sed -n 's/^<!-- generated: gpu ladder of \([0-9a-f]*\) .*/\1/p' "$readme"; }

make_pages() {
  local folder recorded
  "$klab" list --markdown >"$tmp/labs"
  sed 's/](labs\//](/' "$tmp/labs" >"$tmp/all_labs"
  fill labs "$tmp/all_labs" "$to/labs/README.md"
  "$klab" train --matrix >"$tmp/settings"
  cat "$tmp/settings" >"$to/docs/settings.md"
  awk '/^## Terms of the loss/ { inside = 1 } inside && /^[|]/' "$tmp/settings" >"$tmp/terms"
  [[ $(wc -l <"$tmp/terms") -gt 2 ]] || { echo "klab train --matrix prints no terms of the loss" >&2; exit 2; }
  fill terms "$tmp/terms" "$to/labs/16_hash_nerf/README.md"
  awk -F ' [|] ' '/^[|]---/ { print "|---|---|"; next } { print $1 " | " $2 " |" }' "$tmp/labs" >"$tmp/short_labs"
  fill labs "$tmp/short_labs"
  { echo '```cpp'; awk -v from="$rung_from" 'index($0, from) == 1 {inside = 1} inside; inside && /^  }/ {exit}' "$rung"; echo '```'; } >"$tmp/kernel"
  [[ $(wc -l <"$tmp/kernel") -gt 5 ]] || { echo "$rung has no line that begins with '$rung_from'" >&2; exit 2; }
  fill kernel "$tmp/kernel"
  recorded=reports/recorded/$(shown)
  [[ -s $recorded/run.txt ]] || { echo "README.md shows $recorded, which has no run.txt" >&2; exit 2; }
  { echo '```'; awk -v op="$op" 'index($0, op ", ") == 1 {inside = 1} index($0, op " on ") == 1 {inside = 0} inside' "$recorded/run.txt"
    echo '```'; } >"$tmp/ladder"
  [[ $(wc -l <"$tmp/ladder") -gt 5 ]] || { echo "$recorded/run.txt has no ladder of $op" >&2; exit 2; }
  fill ladder "$tmp/ladder"
  recorded=reports/recorded/$(gpu_shown)
  { echo '```'; awk -v op="$gpu_op" 'index($0, op ", ") == 1 {inside = 1} inside && /^$/ {exit} inside && !/^  predicted|0[2-57-9]_|1[01]_/' "$recorded/gpu_rows.txt"
    echo '```'; } >"$tmp/gpu_ladder"
  [[ $(wc -l <"$tmp/gpu_ladder") -gt 5 ]] || { echo "$recorded/gpu_rows.txt has no ladder of $gpu_op" >&2; exit 2; }
  fill 'gpu ladder' "$tmp/gpu_ladder"
  for folder in reports/recorded/*/; do
    folder=${folder%/}
    [[ -f $folder/machine.json ]] || continue
    page "$folder"
    printf -- '- [%s](%s/README.md)' "$(name_of "$folder")" "$folder"
    local what=
    [[ ! -f $folder/run.csv ]] || what+=', the tour'
    [[ ! -f $folder/gpu_rows.csv ]] || what+=', CUDA ladders on the GPU'
    [[ ! -f $folder/gpu_agreement.csv ]] || what+=", the GPU's own counters"
    [[ ! -d $folder/train ]] || what+=', training'
    [[ ! -f $folder/realtime.csv ]] || what+=', pictures in real time'
    [[ -z $what ]] || printf ':%s' "${what#,}"
    [[ $(of_machine "$folder" gpu) != none ]] || printf '; no GPU'
    echo
  done >"$tmp/machines"
  fill machines "$tmp/machines"
  for folder in reports/recorded/*/; do
    folder=${folder%/}
    [[ -f $folder/realtime.csv ]] || continue
    printf '%s:\n\n' "$(name_of "$folder")"
    realtime_table "$folder/realtime.csv"
    echo
  done >"$tmp/realtime"
  [[ -s $tmp/realtime ]] || echo "No machine has recorded this ladder yet." >"$tmp/realtime"
  fill realtime "$tmp/realtime" "$to/labs/21_realtime/README.md"
}

# reports/pictures/klab.png: the built-in scene next to the ladder of $op, by gnuplot.
picture() {  # MACHINE
  local folder=reports/recorded/$1 size
  gnuplot --version >/dev/null 2>&1 || { echo "no gnuplot: reports/pictures/klab.png stays as it is" >&2; return 0; }
  "$klab" report "$folder/run.csv" --csv | grep ",$op,$op\\.cpu\\." >"$tmp/rows.csv"
  size=$(head -n 1 "$tmp/rows.csv" | cut -d, -f4)
  gnuplot -e "rows='$tmp/rows.csv'; heads='$op, $size; × times the first rung'; \
scene='reports/pictures/scene.png'; scene_title='klab train: the built-in scene'; out='$tmp/klab.png'" reports/picture.gp
  mv "$tmp/klab.png" reports/pictures/klab.png
}

case ${1:-} in
  --pages) make_pages; exit 0 ;;
  --realtime) realtime_table "$2"; exit 0 ;;
  --picture) picture "${2:?name the machine, a folder of reports/recorded}"; exit 0 ;;
  "") ;;
  *) echo "usage: reports/readme.sh [--pages | --realtime CSV | --picture MACHINE]" >&2; exit 2 ;;
esac

"$klab" doctor --json >"$tmp/machine.json"
machine=$(sed -n 's/.*"fingerprint": "\([0-9a-f]*\)".*/\1/p' "$tmp/machine.json" | head -n 1)
recorded=reports/recorded/$machine
mkdir -p "$recorded"
# A tour with a wrong rung, or with an impossible time, is no record; the error names it, and the output is kept.
(cd "$tmp" && "$klab" run --out "$tmp/run.csv" >"$tmp/run.txt") || {
  cp "$tmp/run.txt" build/run-refused.txt
  grep -E 'FAILED|REFUSED|measurement error' "$tmp/run.txt" >&2 || true
  echo "klab run failed: nothing is recorded; what it printed is in build/run-refused.txt" >&2
  exit 1
}
sed "s|$tmp/||" "$tmp/run.txt" >"$recorded/run.txt.new"
mv "$recorded/run.txt.new" "$recorded/run.txt"
mv "$tmp/run.csv" "$recorded/run.csv"
mv "$tmp/machine.json" "$recorded/machine.json"
sed "s/^<!-- generated: ladder of [0-9a-f]* /<!-- generated: ladder of $machine /" "$readme" >"$tmp/filled"
cat "$tmp/filled" >"$readme"
make_pages
picture "$machine"
echo "README.md shows $recorded"
