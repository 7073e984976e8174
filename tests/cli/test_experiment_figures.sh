#!/usr/bin/env bash
# klab experiment --figures: a file for each experiment, with a note of its run, or a refusal before anything runs.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
command -v gnuplot >/dev/null || { echo "skipped: gnuplot is not installed"; exit 77; }
in_own_folder
export NO_COLOR=1
count_failures
"$klab" experiment dropout loads --seed 3 --figures made/here >said.txt 2>&1 || { tail -n 3 said.txt; fail "no figures"; }
for name in dropout loads; do
  file=made/here/$name.svg
  grep -q "<!-- klab experiment $name, seed 3, edition " $file || fail "$file has no note"
  grep -q 'width="520" height="' $file || fail "$file has no size"
  grep -q "written   $file" said.txt || fail "$file is not named"
  python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' $file || fail "$file is no XML"
done
[[ $(ls made/here | wc -l) -eq 2 ]] || fail "more than two files: $(ls made/here)"
"$klab" experiment loads --json --figures again >said.json 2>&1 && python3 -c 'import json; json.load(open("said.json"))' || fail "--json with --figures"
: >file
code=0; "$klab" experiment loads --figures file >said.txt 2>&1 || code=$?
[[ $code -eq 2 && $(wc -l <said.txt) -eq 1 ]] && grep -q "file" said.txt || { cat said.txt; fail "a file in place of a folder: $code"; }
mkdir -p taken/loads.svg
code=0; "$klab" experiment loads --figures taken >said.txt 2>&1 || code=$?
[[ $code -eq 2 && $(wc -l <said.txt) -eq 1 ]] && grep -q "taken/loads.svg" said.txt || { cat said.txt; fail "a folder in place of the file: $code"; }

# An empty text is not an option left out.
refused_in_a_line 'the expression is empty' "$klab" autodiff ""
refused_in_a_line '.-network is empty' "$klab" classify glyphs --network ""
refused_in_a_line '.-network is empty' "$klab" experiment optimizers --network " "

# Ctrl-C between two files: the first stays, there is nothing of the second, and the message has the command for it.
"$klab" experiment loads minibatches --seed 2 --figures cut >said.txt 2>&1 & process=$!
for _ in {1..600}; do [[ ! -e cut/loads.svg ]] || break; sleep 0.1; done
sleep 0.5
kill -INT "$process"
code=0; wait "$process" || code=$?
[[ $code -eq 130 && $(ls -A cut) == loads.svg ]] || fail "interrupted: exit code $code, and there are $(ls -A cut | tr '\n' ' ')"
grep -q 'klab: interrupted in minibatches, .*what is left: klab experiment minibatches --figures cut --seed 2$' said.txt || { tail -n 2 said.txt; fail "the rest is not named"; }

# The graph in lesson 04 is what the lesson's command writes.
"$klab" autodiff "ln(exp x1 + exp x2 + exp x3) - x1" --at 1,2,0.5 --svg trace.svg >said.txt 2>&1
cmp -s trace.svg "$root/docs/figures/softmax_trace.svg" || fail "docs/figures/softmax_trace.svg is not what klab autodiff --svg writes"
grep -q -- 'klab autodiff "ln(exp x1 + exp x2 + exp x3) - x1" --at 1,2,0.5' "$root/labs/04_softmax/README.md" || fail "the lesson has another command"
[[ $failures -eq 0 ]] && echo ok
exit $((failures > 0))
