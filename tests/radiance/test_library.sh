#!/usr/bin/env bash
# klab::radiance from an installed klab: the example and a program of the test are built outside this tree, without compiling
# anything of klab. One thread gives the bytes of `klab train`, for every kind of field. Errors carry file, field and remedy.
# ctest: slow
set -uo pipefail
. "$(dirname "$0")/../common.sh"
count_failures
has() { grep -q -e "$2" "$1" || { cat "$1"; fail "$3"; }; }
export OMP_WAIT_POLICY=passive XDG_CACHE_HOME=$tmp/cache NO_COLOR=1
unset KLAB_ROOT

must install cmake --install "$build" --prefix "$tmp/installed"
cp -r "$root/examples/train_a_scene" "$tmp/project"
cd "$tmp/project"
cat >>CMakeLists.txt <<C
add_executable(use_library $root/tests/radiance/library/use_library.cpp)
target_link_libraries(use_library PRIVATE klab::radiance)
target_compile_options(use_library PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Werror)
C
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
configure() { cmake -S . -B build -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$tmp/installed"; }
must configure configure
must build ninja -j1 -v -C build
compiled=$(grep -c -e ' -c ' "$tmp/log")
((compiled == 2)) || { cat "$tmp/log"; fail "$compiled files were compiled; the programs have two"; }
# The library's header is all of klab that they include, and they are compiled by their own flags.
ninja -C build -t deps | grep -e "$root" -e "$tmp/installed" | grep -v use_library | sort -u >"$tmp/headers"
[[ $(sed 's/^ *//' "$tmp/headers") == "$tmp/installed/include/klab/radiance.h" ]] || { cat "$tmp/headers"; fail "other headers of klab are included"; }
grep -e ' -c ' "$tmp/log" | grep -e HWY_ -e -Wno-missing -e -ffp-contract && fail "klab's flags reach the project"

# Every kind of field: the model of `klab train` with the same config, seed and thread, byte by byte.
cd "$tmp"
echo '{"levels": 6, "log2_table": 12, "finest_resolution": 128, "batch_samples": 4096, "grid": 32, "steps_per_diagonal": 128, "width": 16}' >hash.json
echo '{"width": 32, "depth": 3, "skip": 2, "octaves": 4, "rays": 64, "coarse": 16, "fine": 16, "chunk": 2048}' >frequency.json
echo '{"first_grid": 16, "grid": 32, "batch_samples": 4096}' >voxels.json
echo '{"initial": 500, "most": 800}' >gaussians.json
for field in hash frequency voxels gaussians; do
  steps=12
  [[ $field != hash ]] || steps=40  # beyond the first updates of the occupancy grid
  must "klab train --field $field" "$klab" train built-in --downscale 12 --holdout 4 --seed 3 --threads 1 --plan last --no-eval \
    --field $field --config $field.json --steps $steps --out $field
  must "the library with $field" project/build/use_library train built-in $field.json $field $steps $field.safetensors
  grep -Eq '^[^ ]+ [1-9][0-9]* [0-9.]+ -?[0-9.]+$' "$tmp/log" || { cat "$tmp/log"; fail "$field: no score"; }
  cp "$tmp/log" $field.score
  cmp $field/model.safetensors $field.safetensors || fail "$field: the library's model is not that of klab train"
done
# And its score is the one of `klab eval`.
must "klab eval" "$klab" eval hash.safetensors built-in --downscale 12 --holdout 4 --seed 3 --threads 1 --plan last --json
python3 - "$tmp/log" hash.score <<'P' || fail "the library's score is not that of klab eval"
import json, sys
score, line = json.load(open(sys.argv[1])), open(sys.argv[2]).read().split()
assert len(score["views"]) == int(line[1]) and score["views"][0]["name"] == line[0], (score, line)
assert abs(score["psnr"] - float(line[2])) < 1e-4 and abs(score["ssim"] - float(line[3])) < 1e-4, (score, line)
P

# Errors: the message, the file, the field, the remedy.
mkdir scene files
must "write a scene" project/build/use_library scene scene
project/build/use_library errors files scene hash.safetensors >errors.txt 2>&1 || { cat errors.txt; fail "use_library errors"; }
while IFS=';' read -r name file field remedy; do
  grep "^$name | " errors.txt >line.txt || { cat errors.txt; fail "no line of '$name'"; continue; }
  awk -F ' [|] ' -v file="$file" -v field="$field" -v remedy="$remedy" \
    'NF == 5 && (file == "" ? $3 == "" : index($3, file)) && $4 == field && $5 ~ remedy && index($2, $5) && (file == "" || index($2, file)) { good = 1 }
     END { exit !good }' line.txt || { cat line.txt; fail "$name: not file '$file', field '$field', remedy '$remedy'"; }
done <<'END_OF_LIST'
no scene;files/nowhere;scene;name a folder .*built-in
empty scene;files;transforms_train.json;name the folder
downscale;built-in;downscale;from 1 to 64
unknown setting;files/config.json;leraning_rate;did you mean "learning_rate"
other field's setting;files/config.json;log2_table;setting of --field hash
range;files/config.json;levels;leave it out
word;files/config.json;loss;mse huber smooth_l1
rule;files/config.json;width;leave it out
no JSON;files/config.json;JSON;write an object
no config;files/nowhere;config;JSON
settings;settings;levles;did you mean "levels"
depth not read;scene;depth_l1;SceneOptions::depth
no depth;scene;depth_l1;leave the setting out
no such field;;field;hash, frequency, voxels, gaussians
rungs;files/nowhere;rungs;take best, last, naive
no model;files/nowhere;model;name a model.safetensors
no test views;scene;holdout;SceneOptions::holdout
camera;;width;from 1 to
picture;files/none.png;rgb;Renderer::render
precision;;precision;take f32, bf16, f16 or int8
floats only;;precision;take f32
no density;;field;take a field of hash
density of bits;;precision;precision f32
point;;points;finite
directions;;directions;one for each point
direction;;directions;in which a ray passes
no budget;;steps;Budget::steps
where to save;files/nowhere/model.safetensors;model;folder that exists
END_OF_LIST
[[ $(wc -l <errors.txt) -eq 28 ]] || { cat errors.txt; fail "not 28 errors"; }

# A config with a weight for depth: depth maps are read, and the model is that of klab train.
cp -r scene measured
python3 - measured <<'P' || fail "no depth maps"
import json, struct, sys, zlib
def png(width, height, value):
    def part(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + struct.pack(">H", value) * width) * height
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 0, 0, 0, 0)) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")
file = sys.argv[1] + "/transforms.json"
scene = json.load(open(file))
for i, frame in enumerate(scene["frames"]):
    frame["depth_file_path"] = f"depth_{i}.png"
    open(f"{sys.argv[1]}/depth_{i}.png", "wb").write(png(24, 18, 4000))  # 4 of the file's units: the middle
json.dump(scene, open(file, "w"))
P
sed 's/{/{"depth_l1": 0.1, /' hash.json >depth.json
for config in hash depth; do
  must "klab train with $config.json" "$klab" train measured --holdout 4 --seed 3 --threads 1 --plan last --no-eval --config $config.json \
    --steps 12 --out run_$config
done
cmp -s run_hash/model.safetensors run_depth/model.safetensors && fail "the weight of depth changes nothing"
must "the library with depth" project/build/use_library measured measured depth.json 12 depth.safetensors
cmp run_depth/model.safetensors depth.safetensors || fail "the library's model is not that of klab train with depth"

# The example, and what it says of a scene that is not there and of a wrong config.
must "the example" project/build/train_a_scene scene 0.3 hash.json
has "$tmp/log" "5 views to learn from" "the example does not say what it learns from"
has "$tmp/log" "^PSNR [0-9.]* dB" "the example has no score"
for file in model.safetensors picture.png; do [[ -s $file ]] || fail "the example wrote no $file"; done
refused() {  # words, arguments of the example...
  local words=$1 code=0; shift
  project/build/train_a_scene "$@" >refused.txt 2>&1 || code=$?
  [[ $code -eq 2 ]] || fail "exit code $code for: $*"
  has refused.txt "$words" "no '$words' for: $*"
}
refused '^nowhere: no such folder or file for a scene: name a folder' nowhere
echo '{"leraning_rate": 1}' >typo.json
refused '^typo.json: unknown key "leraning_rate": did you mean "learning_rate"' scene 1 typo.json

# An installation without the library is refused where it is looked for.
cd "$tmp/project"
rm "$tmp"/installed/lib*/klab/libklab_radiance.a "$tmp"/installed/lib/*/klab/libklab_radiance.a 2>/dev/null
configure >"$tmp/log" 2>&1 && fail "an installation without the library is accepted"
has "$tmp/log" "libklab_radiance.a is missing" "the message does not name the missing file"

((failures == 0)) && echo "all as it should be"
exit $((failures > 0))
