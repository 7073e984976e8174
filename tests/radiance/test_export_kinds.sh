#!/usr/bin/env bash
# Pages of hash fields of every layout and interpolation, of voxels, of Gaussians, of a scene in several cascades, and small pages, in
# headless Chromium.
# ctest: long
set -euo pipefail
. "$(dirname "$0")/../common.sh"
command -v chromium >/dev/null || { echo "SKIPPED: no chromium here"; exit 77; }
command -v python3 >/dev/null || { echo "SKIPPED: no python3 here"; exit 77; }
in_own_folder
kinds=0
# The rays of the middle column and row of 81 lie in planes of the grid.
page() { # name, scene, config, arguments of render and export
  local name=$1 scene=$2; shift 3
  "$klab" train "$scene" --downscale "${reduce:-10}" --field "${field:-hash}" --config config.json --threads 2 --plan last --steps "${steps:-60}" \
    --out "$name" >train.txt 2>&1 || { cat train.txt; fail "cannot train $name"; }
  "$klab" export "$name" --plan "${plan:-$name/plan.json}" --threads 2 --html "$name.html" "$@" >/dev/null || fail "no page of $name"
  "$klab" render "$name" --plan "${plan:-$name/plan.json}" --threads 2 --size 81 --out "picture_$name" "$@" >/dev/null || fail "no picture of $name"
  echo "$name"
  python3 "$here/page_in_browser.py" "$name.html" "picture_$name/frame_0000.png" --picture-only
  kinds=$((kinds + 1))
}
table() { # name, scene, settings, arguments
  echo "{\"log2_table\": 11, \"finest_resolution\": 64, \"batch_samples\": 2048, \"first_rays\": 64, \"steps_per_diagonal\": 96, $3}" >config.json
  page "$@"
}
voxels() {
  echo "{\"first_grid\": 16, \"batch_samples\": 4096, \"first_rays\": 64, $3}" >config.json
  field=voxels steps=100 page "$@"
}
gaussians() {
  echo "{\"initial\": 500, \"most\": 4000, $3}" >config.json
  field=gaussians steps=300 plan=last page "$@"
}
table morton built-in '"levels": 5, "grid": 16, "width": 16, "hash": "morton", "interpolation": "smoothstep", "sh_degree": 3'
table pcg built-in '"levels": 3, "features": 4, "grid": 32, "width": 16, "hash": "pcg", "geometry_features": 7' --distance 0.6 --height -0.3 --fov 70
table tiled built-in '"levels": 4, "features": 1, "grid": 8, "width": 24, "hash": "tiled", "interpolation": "nearest", "sh_degree": 1'
table adaptive built-in '"levels": 2, "features": 8, "grid": 64, "width": 16, "table": "adaptive", "color_hidden": 1, "sh_degree": 2' --height 0.9
table wide built-in '"levels": 3, "grid": 16, "width": 160, "density_hidden": 2, "color_hidden": 1'  # layers too large for a uniform block

# Pictures of no real scene in a box of side 4: three cascades, steps that grow.
mkdir large
python3 - "$tmp/large" <<'P'
import json, math, sys, zlib, struct
folder, side, frames = sys.argv[1], 80, []
def png(path, of):
    raw = b"".join(b"\0" + bytes(c for x in range(side) for c in of(x, y)) for y in range(side))
    part = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    open(path, "wb").write(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) +
                           part(b"IDAT", zlib.compress(raw)) + part(b"IEND", b""))
for k in range(10):
    a = 2 * math.pi * k / 10
    c, s = math.cos(a), math.sin(a)
    png(f"{folder}/{k}.png", lambda x, y: (40 + 2 * x, 200 - 2 * y, (x * y + 9 * k) % 256))
    frames.append({"file_path": f"{k}.png", "transform_matrix": [[-s, 0, c, 1.5 * c], [c, 0, s, 1.5 * s], [0, 1, 0, 0.3], [0, 0, 0, 1]]})
json.dump({"fl_x": 70, "fl_y": 70, "cx": 40, "cy": 40, "w": side, "h": side, "aabb_scale": 4, "frames": frames}, open(f"{folder}/transforms.json", "w"))
P
reduce=1 table cascades large '"levels": 5, "grid": 32, "width": 16, "background": "black"' --distance 1.1
voxels voxels built-in '"grid": 32, "sh_degree": 2'
voxels gray built-in '"grid": 16, "sh_degree": 0' --distance 0.7
reduce=1 voxels graded large '"grid": 32, "sh_degree": 1' --distance 1.1
gaussians colorful built-in '"sh_degree": 3' --distance 0.3 --fov 100 --height 0.2  # Gaussians behind the camera, and far to the side
reduce=1 gaussians plain large '"sh_degree": 0' --distance 1.1

# A small page of a frequency field, which has no page of its own, shows its voxels.
echo '{"width": 16, "depth": 2, "skip": 1, "octaves": 4, "rays": 64, "coarse": 16, "fine": 16, "chunk": 4096}' >config.json
"$klab" train built-in --downscale 20 --field frequency --config config.json --threads 2 --plan last --steps 300 --no-eval --out frequency >train.txt 2>&1 ||
  { cat train.txt; fail "cannot train frequency"; }
"$klab" export frequency --plan frequency/plan.json --threads 2 --html frequency.html --small --cells 32 >said.txt || fail "no small page of frequency"
grep -q 'dB between its first view' said.txt || { cat said.txt; fail "does not say how far the voxels are from the field"; }
[[ $kinds == 11 ]] || fail "only $kinds kinds were compared"
echo "ok"
