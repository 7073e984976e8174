#!/usr/bin/env bash
# klab report with several runs side by side, figures as files, LaTeX, a title; and what narrow screens show. From recorded rows.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
klab=$1 home=$2
cd "$tmp"
has() { grep -qF -- "$2" "$1" || { head -c 2000 "$1"; fail "$3: '$2' is not in $1"; }; }

# Three runs of the same rows: the second of another commit, the third without the first row that was timed.
recorded=$home/reports/recorded/98840b1f00d07642/run.csv
python3 - "$recorded" <<'PY'
import csv, sys
with open(sys.argv[1], newline='') as file:
    rows = list(csv.DictReader(file))
op = rows[0]['op']
rows = [r for r in rows if r['op'] == op]
for run, (commit, factor) in enumerate([('aaaaaaaaaaaa1', 1), ('bbbbbbbbbbbb2', 0.5), ('cccccccccccc3', 0.25)]):
    kept = rows[1:] if run == 2 else rows
    with open(f'run{run}.csv', 'w', newline='') as file:
        out = csv.DictWriter(file, rows[0].keys(), lineterminator='\n')
        out.writeheader()
        for i, row in enumerate(kept):
            row = dict(row, commit=commit, row=str(i + 1), rows=str(len(kept)))
            for column in ('seconds', 'seconds_median', 'seconds_low', 'seconds_high'):
                if row[column]:
                    row[column] = ';'.join(repr(factor * float(x)) for x in row[column].split(';'))
            out.writerow(row)
open('op', 'w').write(op)
open('first', 'w').write(rows[0]['variant'])
PY
op=$(cat op) first=$(cat first)

"$klab" report run0.csv run1.csv run2.csv --side-by-side --csv >runs.csv || fail "no CSV of three runs"
[[ $(head -1 runs.csv) == 'variant,size,seconds aaaaaaaaaa,seconds bbbbbbbbbb,seconds cccccccccc,factor' ]] || fail "columns: $(head -1 runs.csv)"
grep -q "^$first,.*,,\$" runs.csv || { head -3 runs.csv; fail "a row that a run lacks has no empty cells"; }
awk -F'",|,' 'NR > 1 && $NF != "" { if ($NF < 3.99 || $NF > 4.01) exit 1; ++n } END { exit n == 0 }' runs.csv || fail "the factor is not 4"
"$klab" report run0.csv run1.csv run2.csv --side-by-side --markdown --title 'Half and half' >runs.md || fail "no Markdown"
has runs.md '# Half and half' "title"
has runs.md '| aaaaaaaaaa over cccccccccc |' "heads"
"$klab" report run0.csv run1.csv run2.csv --side-by-side --title 'A <title>' -o runs.html --figures figures >said.txt || { cat said.txt; fail "no page"; }
has runs.html '<title>A &lt;title&gt;</title>' "title"
has runs.html '3 runs side by side' "runs"
has runs.html 'klab report run0.csv run1.csv run2.csv --side-by-side, 20' "how it was made"
has runs.html 'class="n more"' "columns that narrow screens leave out"
has runs.html '.more { display: none; }' "their style"
has said.txt '1 figures, each as .svg and .csv' "what was written"
[[ $(head -c 5 figures/runs.svg) == '<?xml' ]] || fail "the SVG cannot stand alone"
has figures/runs.svg 'xmlns=' "SVG"
[[ $(head -1 figures/runs.csv) == 'curve,run,times the first run' ]] || fail "figure's numbers: $(head -1 figures/runs.csv)"
grep -q ',3,0.25$' figures/runs.csv || { head -5 figures/runs.csv; fail "the third run takes a quarter"; }

# One run: a figure of each ladder, and tables.
"$klab" report run0.csv -o one.html --figures all >said.txt || fail "no page of one run"
has one.html 'id="claimsrecord"' "claims on record"
has one.html '#claims">claims</a>' "their place in the page"
ls all/"$op"_*.svg >/dev/null || { ls all; fail "no figure of a ladder"; }
for svg in all/*.svg; do [[ -s ${svg%.svg}.csv ]] || fail "$svg has no numbers"; done
[[ $(find all -name '*.svg' | wc -l) == "$(grep -o '[0-9]* figures' said.txt | cut -d' ' -f1)" ]] || fail "counts figures wrong"
"$klab" report run0.csv --latex --title 'Of 100 %' >table.tex || fail "no LaTeX"
has table.tex '\begin{tabular}{lrrrr}' "LaTeX"
has table.tex 'Of 100 \%' "title in LaTeX"
grep -qE '[^\\]_' table.tex && fail "LaTeX with a bare underscore"

refused '--side-by-side' "$klab" report run0.csv run0.csv
refused 'two runs at least' "$klab" report run0.csv --side-by-side --csv
refused 'choose one' "$klab" report run0.csv --csv --latex
refused '--figures' "$klab" report run0.csv --csv --figures f
refused 'without --baseline' "$klab" report run0.csv run1.csv --side-by-side --baseline run0.csv
echo passed
