#!/usr/bin/env bash
# Meshes, points, Gaussians, videos and camera paths of klab export and klab render, read by a program of their own; and a page of Gaussians.
# ctest: slow
set -euo pipefail
. "$(dirname "$0")/../common.sh"
export LC_ALL=C
in_own_folder
export OMP_NUM_THREADS=2
command -v python3 >/dev/null || { echo "SKIPPED: no python3 here"; exit 77; }
read_files() { python3 "$here/exported_files.py" "$@" || fail "exported_files.py $*"; }
cat >small.json <<'J'
{"levels": 5, "log2_table": 12, "finest_resolution": 96, "batch_samples": 4096, "first_rays": 64, "grid": 32,
 "steps_per_diagonal": 96, "width": 16}
J
"$klab" train built-in --downscale 10 --config small.json --threads 2 --plan last --steps 200 --out hash --no-eval >train.txt 2>&1 ||
  { cat train.txt; fail "cannot train"; }
echo '{"initial": 800, "most": 6000, "sh_degree": 2}' >gaussians.json
"$klab" train built-in --downscale 8 --field gaussians --config gaussians.json --threads 2 --plan last --steps 600 --out gaussians >train.txt 2>&1 ||
  { cat train.txt; fail "cannot train Gaussians"; }
export_quietly() { "$klab" export "$@" >said.txt || { cat said.txt; fail "export $*"; }; }

refused() { # words, then arguments
  local words=$1 code=0; shift
  "$klab" "$@" >out.txt 2>said.txt || code=$?
  [[ $code == 2 ]] || { cat out.txt said.txt; fail "$*: exit code $code"; }
  grep -qe "$words" said.txt && [[ $(wc -l <said.txt) == 1 ]] || { cat out.txt said.txt; fail "$*: does not say '$words' in one line"; }
}

# One surface, as three files; its box cuts it.
export_quietly hash --mesh mesh.ply --points points.ply --number 700 --resolution 40 --level 10 --box 0 0 0 0.5 1 1
grep -q '^mesh.ply  [0-9]* triangles, [0-9]* vertices, in the scene' said.txt || { cat said.txt; fail "does not say what was written"; }
export_quietly hash --mesh mesh.glb --resolution 40 --level 10 --box 0 0 0 0.5 1 1
read_files glb mesh.glb mesh.ply
read_files points points.ply 700
export_quietly hash --mesh fine.ply --resolution 60 --level 10 --box 0.3 0.3 0.15 0.5 0.5 0.35
(cd hash && read_files density "$root/docs/files.md" ../fine.ply 10)
whole=$("$klab" export hash --mesh whole.ply --resolution 40 --level 10)
[[ ${whole#*  } != "$(sed -n 's/^mesh.ply  //p' said.txt)" ]] || fail "the box changes nothing"

# A snapshot shows the same scene, and gives the same surface.
export_quietly hash --ingp hash.ingp
grep -q '^hash.ingp  [0-9.]* MB, numbers in half precision$' said.txt || { cat said.txt; fail "does not say what was written"; }
export_quietly hash.ingp --mesh snapshot.ply --ingp again.ingp --resolution 40 --level 10 --box 0 0 0 0.5 1 1
read_files mesh snapshot.ply
score() { grep -m1 -o '"psnr": [0-9.]*' "$1" | grep -o '[0-9.]*$'; }
for model in hash hash.ingp again.ingp; do
  "$klab" eval $model built-in --downscale 25 --plan last --json >eval_$model.json || fail "does not score $model"
done
awk -v a="$(score eval_hash.json)" -v b="$(score eval_hash.ingp.json)" -v c="$(score eval_again.ingp.json)" \
  'BEGIN { exit !(a > 10 && (a - b) ^ 2 < 0.0001 && b == c) }' || { head -5 eval_*.json; fail "a snapshot shows another scene"; }
"$klab" quantize hash.ingp --format int8 --out few.safetensors >/dev/null || fail "a snapshot is not quantized"
"$klab" render hash.ingp --precision f16 --size 20 --plan last --out small >said.txt || { cat said.txt; fail "no picture of a snapshot"; }

# Gaussians in all three formats, and back.
for file in a.ply a.splat a.spz; do export_quietly gaussians --gaussians $file; done
read_files gaussians a.ply a.splat a.spz
sed 's/^comment klab place/comment klab antialiased\n&/' a.ply >thin.ply
export_quietly thin.ply --gaussians thin.splat
grep -q '^note      thin.splat: a .splat cannot say that opacities are antialiased' said.txt || { cat said.txt; fail "does not say what a .splat loses"; }
export_quietly gaussians --points middles.ply
"$klab" eval a.spz built-in --downscale 8 --plan last --json >spz.json || fail "does not score an .spz"
"$klab" eval a.ply built-in --downscale 8 --plan last --json >ply.json || fail "does not score a .ply"
awk -v a="$(grep -m1 -o '"psnr": [0-9.]*' ply.json | grep -o '[0-9.]*$')" -v b="$(grep -m1 -o '"psnr": [0-9.]*' spz.json | grep -o '[0-9.]*$')" \
  'BEGIN { exit !(a > 15 && b > a - 1) }' || { head -5 ply.json spz.json; fail "an .spz shows another scene than the .ply"; }

# So is .sog, if klab has libwebp; the archive is read by python's zipfile.
if "$klab" export gaussians --gaussians a.sog >said.txt 2>&1; then
  python3 -c 'import json, zipfile
z = zipfile.ZipFile("a.sog")
assert z.testzip() is None and json.loads(z.read("meta.json"))["version"] == 2 and len(z.namelist()) == 8' || fail "a.sog is no SOG"
  "$klab" eval a.sog built-in --downscale 8 --plan last --json >sog.json || fail "does not score a .sog"
  awk -v a="$(score ply.json)" -v b="$(score sog.json)" 'BEGIN { exit !(b > a - 1) }' || { head -5 ply.json sog.json; fail "a .sog shows another scene than the .ply"; }
  if command -v dwebp >/dev/null; then read_files sog a.ply a.sog; else echo "no dwebp here: the pictures of a.sog were not opened"; fi
  printf 'PK' >broken.sog
  refused 'broken.sog: is no zip, or is cut short' eval broken.sog built-in
else
  grep -q 'libwebp-dev' said.txt && [[ $(wc -l <said.txt) == 1 && ! -e a.sog ]] || { cat said.txt; fail "does not say what .sog files take"; }
fi

# Camera paths are read as they were written, and videos have a frame for each picture.
"$klab" render hash --orbit 3 --size 31 --plan last --save-path path.json --mp4 film.mp4 --out circle >said.txt || { cat said.txt; fail "no pictures"; }
"$klab" render hash --path path.json --size 31 --plan last --save-path again.json --out again >/dev/null || fail "no pictures along the path"
python3 - <<'P' || fail "the path is not read as it was written"
import json
a, b = json.load(open("path.json")), json.load(open("again.json"))
assert len(a["camera_path"]) == 3 and a["render_width"] == 31
for x, y in zip(a["camera_path"], b["camera_path"]):
    assert all(abs(p - q) < 1e-5 for p, q in zip(x["camera_to_world"] + [x["fov"]], y["camera_to_world"] + [y["fov"]]))
P
if command -v ffmpeg >/dev/null; then
  frames=$(ffmpeg -nostdin -i film.mp4 -f null - 2>&1 | grep -o 'frame= *[0-9]*' | tail -1 | grep -o '[0-9]*$')
  [[ $frames == 3 && $(find . -maxdepth 1 -name '*unfinished*') == "" ]] || fail "a video of $frames frames"
fi
mkdir no_programs
PATH=$tmp/no_programs "$klab" render hash --orbit 2 --size 16 --plan last --mp4 none.mp4 --out plain >said.txt || fail "needs ffmpeg"
grep -q '^no video  ffmpeg is not installed: the pictures in plain make none.mp4' said.txt && [[ -s plain/frame_0001.png && ! -e none.mp4 ]] ||
  { cat said.txt; fail "does not say that ffmpeg is missing"; }

# Refused in one line that says what to do, and nothing is written.
refused 'give --html, --mesh, --points, --gaussians or --ingp a file' export hash
refused '--ingp x.msgpack: must end in .ingp' export hash --ingp x.msgpack
refused 'holds a field of gaussians, and a snapshot' export gaussians --ingp x.ingp
refused 'nowhere.ingp: no such file' eval nowhere.ingp built-in
head -c 3000 hash.ingp >cut.ingp
refused 'cut.ingp: is cut short.*copy the file again' eval cut.ingp built-in
refused '--mesh x.obj: must end in .ply or .glb' export hash --mesh x.obj
refused '--gaussians x.obj: must end in' export gaussians --gaussians x.obj
refused 'reaches 1e+08 nowhere in the box' export hash --mesh x.ply --level 1e8 --resolution 16
refused 'holds Gaussians, which have no density' export gaussians --mesh x.ply
refused 'no Gaussians to write' export hash --gaussians x.ply
refused 'low corner must be below the high one' export hash --mesh x.ply --box 0 0 0 1 0 1
refused '--level: is about a surface' export hash --html x.html --level 3
refused 'give the scene that they show' export a.spz --points x.ply
refused '--mp4 x.avi: must end in .mp4' render hash --orbit 2 --mp4 x.avi
refused 'nowhere' render hash --orbit 2 --mp4 nowhere/x.mp4
refused 'nowhere' export hash --mesh nowhere/x.ply
printf 'NGSP' >broken.spz
refused 'is no gzip stream' eval broken.spz built-in
[[ ! -e x.ply && ! -e x.ingp && ! -e x.html && ! -e x.mp4 && ! -e nowhere ]] || fail "something was left behind"

# Small pages: voxels of a hash field, Gaussians without dependence on the view.
export_quietly hash --html small.html --small --cells 64
awk '{ exit !($1 == "small.html" && $4 > 25) }' said.txt || { cat said.txt; fail "voxels show something else than the field"; }
grep -q '<th>Field</th><td>voxels, 64 cells' small.html && grep -q '<th>Small form</th><td>the scores are the model' small.html || fail "the small page's panel"
export_quietly gaussians --html plain.html --small
grep -q '<th>Field</th><td>[0-9]* Gaussians, harmonics of degree 0</td>' plain.html || fail "the small page of Gaussians has all their colors"
code=0
"$klab" export hash --mesh x.ply --small >out.txt 2>said.txt || code=$?
[[ $code == 2 ]] && grep -q 'small requires --html' said.txt || { cat said.txt; fail "--small without a page: exit code $code"; }
refused '--cells 48: must be a power of two' export hash --html x.html --small --cells 48

# A page of Gaussians shows what klab render shows.
export_quietly gaussians --html page.html
grep -q '<th>Field</th><td>[0-9]* Gaussians, harmonics of degree 2</td>' page.html || fail "the panel lacks the Gaussians"
command -v chromium >/dev/null || { echo "SKIPPED: no chromium here: the page was not opened"; exit 77; }
"$klab" render gaussians --plan last --size 200 --out picture >/dev/null || fail "no picture"
python3 "$here/page_in_browser.py" page.html picture/frame_0000.png
python3 "$here/page_in_browser.py" page.html --no-webgl

# The same where opacities are antialiased, from so far that many Gaussians are thinner than a pixel.
export_quietly thin.ply --html thin.html --distance 4
for model in a thin; do "$klab" render $model.ply --plan last --size 48 --distance 4 --out far_$model >/dev/null || fail "no picture of $model.ply"; done
python3 -B - "$here" <<'P' || fail "antialiased opacities change nothing to compare"
import sys
sys.path.insert(0, sys.argv[1])
from page_in_browser import psnr
from png_file import pixels_of
assert psnr(*(pixels_of(f"far_{model}/frame_0000.png")[2] for model in ("a", "thin"))) < 38
P
python3 "$here/page_in_browser.py" thin.html far_thin/frame_0000.png --picture-only

# Voxels, with an odd number of pixels: rays of the middle column lie in a plane of the grid.
echo '{"first_grid": 16, "grid": 32, "batch_samples": 4096, "first_rays": 64, "sh_degree": 1}' >voxels.json
"$klab" train built-in --downscale 10 --field voxels --config voxels.json --threads 2 --plan last --steps 60 --out voxels --no-eval >train.txt 2>&1 ||
  { cat train.txt; fail "cannot train voxels"; }
export_quietly voxels --html voxels.html
"$klab" render voxels --plan last --size 101 --out middle >/dev/null || fail "no picture of voxels"
python3 "$here/page_in_browser.py" voxels.html middle/frame_0000.png --picture-only
echo "ok"
