#!/usr/bin/env bash
# Pictures and scores of Gaussians in klab's own .ply; paths of cameras; a model that is scored on another scene says so.
# ctest: slow
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
export OMP_NUM_THREADS=2
has() { grep -qF -- "$2" "$1" || { cat "$1"; fail "does not say '$2'"; }; }

# Two scenes of five cameras on a quarter of a circle, 4 away from what they look at, in a national grid.
scene() {  # folder, east
  mkdir -p "$1/sparse" "$1/images"
  echo '1 PINHOLE 64 32 60 60 32 16' >"$1/sparse/cameras.txt"
  for k in 0 1 2 3 4; do
    cp picture.png "$1/images/$k.png"
    awk -v k="$k" -v east="$2" 'BEGIN{a = 0.2 * k; c = cos(2 * a); s = sin(2 * a)
      # World to camera is a turn by 2a about y; t = -R * center + (0, 0, 4)
      printf "%d %.15f 0 %.15f 0 %.9f %.9f %.9f 1 %d.png\n\n", k + 1, cos(a), sin(a), -c * east, 0, s * east + 4, k}'
  done >"$1/sparse/images.txt"
}
python3 - <<'PY'
import struct, zlib
rows = b''.join(b'\0' + bytes((x * 3 + y * 5) % 256 for x in range(64) for _ in range(3)) for y in range(32))
def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
open('picture.png', 'wb').write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 64, 32, 8, 2, 0, 0, 0)) +
                                chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
PY
scene a 453200
scene b 7000
"$klab" splat a --steps 20 --plan naive --initial 300 --degree 0 --out a.ply >splat.txt || { cat splat.txt; fail "no Gaussians"; }
has splat.txt 'in coordinates around the offset (45320'
grep -a -q '^comment klab place {' a.ply || fail "the file does not say where it lies"

"$klab" eval a.ply a --plan naive >eval.txt || { cat eval.txt; fail "does not score a .ply"; }
psnr=$(sed -n 's/^PSNR *\([0-9.]*\) dB.*/\1/p' splat.txt)
grep -qE "^mean +$psnr dB" eval.txt || { cat splat.txt eval.txt; fail "the file's score is not that of the training"; }
grep -q '^note.*another' eval.txt && { cat eval.txt; fail "takes its own scene for another one"; }
"$klab" eval a.ply b --plan naive >other.txt || fail "does not score on another scene"
grep -qE '^note.*another (box|scene)' other.txt || { cat other.txt; fail "scores on another scene without a word"; }

"$klab" render a.ply --orbit 2 --size 16 --plan naive --out circle >render.txt || { cat render.txt; fail "no pictures of a .ply"; }
[[ -s circle/frame_0001.png ]] || fail "no second picture"
"$klab" render a.ply --scene a --orbit 3 --size 32 --plan naive --out along >along.txt || { cat along.txt; fail "no pictures along cameras"; }
has along.txt 'do not stand around it'
"$klab" render a.ply --path cameras --scene a --orbit 2 --size 32 --plan naive --out asked >/dev/null || fail "--path cameras"
cmp -s along/frame_0000.png asked/frame_0000.png || fail "a path that was chosen is not the one that is asked for"
"$klab" render a.ply --path circle --scene a --orbit 2 --size 16 --plan naive --out round >/dev/null || fail "--path circle"
cmp -s circle/frame_0001.png round/frame_0001.png || fail "a circle is another one with --scene"
cat >path.json <<'JSON'
{"camera_type": "perspective", "render_width": 24, "render_height": 16, "fps": 10, "camera_path": [
  {"camera_to_world": [1,0,0,453200, 0,-1,0,0, 0,0,-1,-4, 0,0,0,1], "fov": 50, "aspect": 1.5},
  {"camera_to_world": [1,0,0,453200.5, 0,-1,0,0, 0,0,-1,-4, 0,0,0,1], "fov": 50, "aspect": 1.5}]}
JSON
"$klab" render a.ply --path path.json --plan naive --out path >path.txt || { cat path.txt; fail "no pictures along a file"; }
[[ -s path/frame_0001.png && ! -e path/frame_0002.png ]] || fail "not as many pictures as cameras"
cmp -s path/frame_0000.png path/frame_0001.png && fail "both cameras see the same"

# A training's folder knows its scene.
"$klab" train a --field voxels --steps 3 --plan naive --out run --no-eval >train.txt 2>&1 || { cat train.txt; fail "no training"; }
"$klab" render run --orbit 2 --size 16 --plan naive --out film >film.txt || { cat film.txt; fail "no film of a run"; }
has film.txt 'do not stand around it'
"$klab" eval run b --plan naive --json >score.json || fail "no score on another scene"
has score.json 'was trained on'

# Time for a run whose time is over.
"$klab" train a --field voxels --seconds 0.2 --plan naive --out timed --no-eval >/dev/null 2>&1 || fail "no timed run"
"$klab" train --resume timed --no-eval >over.txt 2>&1 || { cat over.txt; fail "does not resume"; }
has over.txt 'nothing is left to train; --more 20'
"$klab" train --resume timed --seconds 0.1 --no-eval >less.txt 2>&1 || { cat less.txt; fail "does not resume with a shorter time"; }
has less.txt 'this run was given 0 s and has trained for 0 s: nothing is left to train; --more 20'
steps() { sed -n 's/^trained *\([0-9]*\) steps.*/\1/p' "$1"; }
"$klab" train --resume timed --more 0.5 --no-eval >more.txt 2>&1 || { cat more.txt; fail "--more"; }
(($(steps more.txt) > $(steps over.txt))) || { cat over.txt more.txt; fail "--more trains nothing"; }

sed '/^comment klab place/d' a.ply >foreign.ply
refused 'give the scene that they show' "$klab" render foreign.ply --orbit 2
refused "has no comment 'klab place'" "$klab" render foreign.ply --path cameras
sed -i 's/perspective/equirectangular/' path.json
refused '"camera_type"' "$klab" render a.ply --path path.json --plan naive
refused '--more adds time to a' "$klab" train a --more 3
refused 'leave out --seconds' "$klab" train --resume timed --more 3 --seconds 4
refused 'nowhere.json' "$klab" render a.ply --path nowhere.json --plan naive
echo passed
