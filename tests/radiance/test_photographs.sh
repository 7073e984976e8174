#!/usr/bin/env bash
# Photographs of 8 megapixels: the memory that was planned is what the process takes, within 10 %, for all pictures in memory and
# for pictures that take turns; and a score costs what it was said to cost.
# ctest: long
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
export OMP_NUM_THREADS=2

# Ten cameras on a quarter of a circle around stripes, each with a picture of 2160 x 3840 pixels.
python3 - <<'PY'
import json, math, os, struct, zlib
width, height, views = 2160, 3840, 10
os.makedirs("scene")
def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
frames = []
for k in range(views):
    stripes = [b'\0' + bytes((x // 90 * 40 + k * 11 + shade) % 256 for x in range(width) for _ in range(3)) for shade in (0, 90)]
    rows = b''.join(stripes[y // 120 % 2] for y in range(height))
    open(f"scene/{k}.png", 'wb').write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)) +
                                       chunk(b'IDAT', zlib.compress(rows, 1)) + chunk(b'IEND', b''))
    c, s = math.cos(0.15 * k), math.sin(0.15 * k)
    frames.append({"file_path": f"{k}.png", "transform_matrix": [[c, 0, s, 4 * s], [0, 1, 0, 0], [-s, 0, c, 4 * c], [0, 0, 0, 1]]})
json.dump({"fl_x": 2700, "fl_y": 2700, "cx": width / 2, "cy": height / 2, "w": width, "h": height, "aabb_scale": 4, "frames": frames},
          open("scene/transforms.json", "w"))
PY

memory() {  # RUN: planned and measured bytes of its result
  python3 - "$1/result.json" <<'PY'
import json, sys
memory = json.load(open(sys.argv[1]))["memory"]
planned, peak = memory["planned"], memory["peak"]
print(f"planned {planned / 1e6:.0f} MB, measured {peak / 1e6:.0f} MB: {planned / peak:.3f}")
sys.exit(not 0.98 <= planned / peak <= 1.10)
PY
}
train=("$klab" train scene --seconds 4 --plan last)
"${train[@]}" --out all >all.txt 2>&1 || { cat all.txt; fail "no training"; }
# The size is what this machine scores in time.
has all.txt '^scoring   all 2 test views at [0-9]+x[0-9]+, about .*, at most 60 s'
size=$(sed -nE 's/^scoring   all 2 test views at ([0-9]+x[0-9]+),.*/\1/p' all.txt)
has all.txt 'score all takes all 2 at 2160x3840'
has all.txt "^protocol  mean over all 2 test views .*, ${size:-no size} \(reduced by [0-9]+ from 2160x3840\)"
memory all || fail "the plan is not what all pictures take"
"${train[@]}" --resident 3 --out turns >turns.txt 2>&1 || { cat turns.txt; fail "no training with pictures that take turns"; }
memory turns || fail "the plan is not what pictures take that take turns"
