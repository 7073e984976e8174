#!/usr/bin/env bash
# klab site: the workflow's command writes a site whose links and anchors resolve, that loads nothing from elsewhere, whose words
# and entries link both ways, whose search finds a lesson, and that has a page for each step; and which folders are refused. Where Chromium
# is installed, some pages and the search are opened in it.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
cd "$tmp" || exit 2
export KLAB_ROOT=$root KLAB_WORK=$tmp/work NO_COLOR=1
command -v python3 >/dev/null || { echo "SKIPPED: no python3 here to read the pages"; exit 77; }

mkdir mine && echo precious >mine/thesis.txt
echo text >file
refused_in_a_line 'mine: is no site of klab, it holds thesis.txt' "$klab" site mine
refused_in_a_line 'file: is a file' "$klab" site file
refused_in_a_line 'file/site: .*file is no folder' "$klab" site file/site
refused_in_a_line 'nowhere/site: .*nowhere is no folder' "$klab" site nowhere/site
refused_in_a_line '/proc/site: cannot be written' "$klab" site /proc/site
refused_in_a_line '\.: is the folder you are in' "$klab" site .
code=0
"$klab" site new --trace no_such >out.txt 2>said.txt || code=$?
[[ $code == 2 ]] && grep -q "is called 'no_such'" said.txt || { cat said.txt; fail "an unknown rung is traced"; }
mkdir broken && echo '{"made_by": "somebody"}' >broken/klab-site.json
refused_in_a_line 'broken/klab-site.json: is no list' "$klab" site broken
[[ $(cat mine/thesis.txt) == precious && $(ls | tr '\n' ' ') == 'broken file mine out.txt said.txt ' ]] || { ls; fail "a refusal changed something"; }

# The command of the workflow, which uploads the folder that it wrote.
ln -s "$klab" klab
command=$(sed -n 's/^ *run: \(\.\/klab site .*\)/\1/p' "$root/examples/pages/pages.yml")
folder=$(sed -n 's/^ *path: \(.*\)/\1/p' "$root/examples/pages/pages.yml")
[[ -n $command && -n $folder ]] || fail "the workflow makes and uploads no site"
bash -ec "$command --trace transpose.cuda.02_shared_tile" >out.txt 2>&1 || { cat out.txt; fail "$command"; }
[[ -f $folder/index.html ]] || fail "$command wrote no $folder/index.html"
python3 "$here/site_links.py" "$folder" "$root" "$klab" || fail "the site"
if command -v chromium >/dev/null; then python3 "$here/site_in_browser.py" "$folder" || fail "the site in a browser"; fi
grep -q '<code>out</code> aligned' "$folder/ladders/03_transpose.html" || fail "backquotes in what a rung changes are no code"

# A second call replaces the site and what is in the way of it; a file of somebody else is in the way of the call.
echo mine >"$folder/CNAME"
refused_in_a_line "$folder: holds CNAME, which klab site did not write" "$klab" site "$folder"
[[ -f $folder/index.html && $(cat "$folder/CNAME") == mine ]] || fail "a refused call changed the site"
ls -d "$folder".part-* 2>/dev/null && fail "a refused call left a part behind"
command -v chromium >/dev/null || { echo "SKIPPED: no chromium here: the site was not opened"; exit 77; }
echo "all as it should be"
