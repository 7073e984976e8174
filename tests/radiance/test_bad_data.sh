#!/usr/bin/env bash
# Data and models that do not fit: one line that names the file, exit code 2, and nothing left behind.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
command -v python3 >/dev/null || { echo "python3 is not here"; exit 77; }
in_own_folder

echo '{"levels": 4, "log2_table": 9, "finest_resolution": 32, "batch_samples": 512, "grid": 16, "width": 16, "steps_per_diagonal": 64, "depth": 0.1}' >hash.json
"$klab" scene built-in --downscale 40 --save set >save.txt || { cat save.txt; fail "does not save the built-in scene"; }
# Depth maps of 1.35 units everywhere, but for a pixel that is not known.
cat >depth.py <<'P'
import json, struct, sys, zlib


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def gray(file, width, height, level):
    rows = b"".join(b"\0" + b"".join(struct.pack(">H", 0 if (x, y) == (1, 0) else level) for x in range(width)) for y in range(height))
    with open(file, "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 0, 0, 0, 0)) +
                  chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


if sys.argv[1] == "map":
    gray(sys.argv[2], *map(int, sys.argv[3:6]))
else:
    file = "set/transforms_train.json"
    with open(file) as text:
        document = json.load(text)
    if sys.argv[1] == "all":
        for i, frame in enumerate(document["frames"]):
            frame["depth_file_path"] = "depth_%d.png" % i
            gray("set/depth_%d.png" % i, 8, 8, 1350)
    else:
        document[sys.argv[1]] = float(sys.argv[2])
    with open(file, "w") as out:
        json.dump(document, out)
P
python3 depth.py all
train() { "$klab" train set --config hash.json --plan last --threads 2 --steps 2 --no-eval "$@"; }
train --out good >good.txt 2>&1 || { cat good.txt; fail "depth maps with a hole are not learned from"; }
"$klab" train set --field voxels --set first_grid=8 --set grid=16 --set depth=0.1 --plan last --threads 2 --steps 2 --no-eval --out voxels \
  >voxels.txt 2>&1 || { cat voxels.txt; fail "voxels do not learn from depth maps"; }

python3 depth.py map set/depth_3.png 8 4 1350
refused_in_a_line 'set/depth_3.png: the depth map is 8x4, which has not the shape of its picture, 8x8' train --out none
python3 depth.py map set/depth_3.png 8 8 0
refused_in_a_line 'set/depth_3.png: the depth map holds no distance' train --out none
python3 depth.py map set/depth_3.png 8 8 1350
python3 depth.py integer_depth_scale 1000
refused_in_a_line 'set/depth_.*integer_depth_scale' train --out none
python3 depth.py integer_depth_scale 0
refused_in_a_line 'integer_depth_scale' train --out none
python3 depth.py integer_depth_scale 0.001
cp set/transforms_train.json kept.json
# Numbers that are none: as words of JavaScript, and too large for any.
for number in NaN Infinity 1e999; do
  sed "0,/\"transform_matrix\": \[\[[^,]*/s//\"transform_matrix\": [[$number/" kept.json >set/transforms_train.json
  cmp -s kept.json set/transforms_train.json && fail "no number was replaced"
  refused_in_a_line 'transforms_train.json' train --out none
done
cp kept.json set/transforms_train.json
head -c 60 set/depth_3.png >cut.png && mv cut.png set/depth_3.png
refused_in_a_line 'set/depth_3.png' train --out none
[[ ! -e none ]] || fail "a refused training left something behind"

# A classifier's model is no field, a field's is no classifier, and one network's weights are not another's.
"$klab" classify glyphs --model softmax --train 40 --test 20 --batch 20 --epochs 1 --plan naive --out net >net.txt 2>&1 ||
  { cat net.txt; fail "classify"; }
"$klab" classify glyphs --network "8, 10" --train 40 --test 20 --batch 20 --epochs 1 --plan naive --out other >other.txt 2>&1 ||
  { cat other.txt; fail "classify --network"; }
picture=set/depth_0.png
refused_in_a_line 'good/model.safetensors: says nothing of "model"' "$klab" classify --predict good $picture
for command in "eval net set" "render net --out none" "view net"; do
  # shellcheck disable=SC2086  # words of a command
  refused_in_a_line 'net/model.safetensors' "$klab" $command
done
python3 - <<'P'
import json, struct
# The header of one network with the numbers of another.
def parts(file):
    data = open(file, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + size]), data[8 + size:]
header, numbers = parts("other/model.safetensors")
header["__metadata__"]["model"] = parts("net/model.safetensors")[0]["__metadata__"]["model"]
text = json.dumps(header).encode()
open("mixed.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + numbers)
P
refused_in_a_line 'mixed.safetensors: ' "$klab" classify --predict mixed.safetensors $picture
refused_in_a_line 'give the same --' "$klab" classify glyphs --network "12, 10" --train 40 --test 20 --batch 20 --epochs 2 --plan naive --resume other
[[ ! -e none ]] || fail "a refused command left something behind"
echo "ok"
