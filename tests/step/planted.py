"""Files as a learner may write them, each klab's own rung with one mistake in it, and what the answer must say.

Every entry: the step, the rung's file, the replacements, and two patterns: of what failing cases have in common, and of the first
mistake that is named. An empty pattern fits everything.

  planted.py KLAB ROOT FOLDER [--students | --drawn] [--say] [STEPS...]   --students: those of students.py, --drawn: those of drawn.py; --say:
  prints the first sentences"""
import json
import os
import re
import subprocess
import sys

from drawn import DRAWN
from students import STUDENTS

PLANTED = [
    ("01.cuda.03", "vector_add/cuda/03_sixteen_bytes.cu",
     [("cuda::aligned(x.a) && cuda::aligned(x.b) && cuda::aligned(x.c) ? n / 4 : 0", "cuda::aligned(x.a) && cuda::aligned(x.b) ? n / 4 : 0")],
     r"pointers off alignment", r"misaligned vector access\?"),
    ("02.02", "window_sum/cpu/02_running_sum.cpp", [("past = first + 2 * r + 1", "past = first + 2 * r")],
     r"n > r", r"elements without an owner\?"),
    ("03.compact.02", "compact/cpu/02_hoisted.cpp", [("(i * s.d1 + j) * s.d2", "(i * s.d0 + j) * s.d2")],
     r"", r"written beyond an array\?"),
    ("04.02", "softmax_xent_fwd/cpu/02_accumulators.cpp",
     [("m[4] = {row[0], row[0], row[0], row[0]}", "m[4] = {}")], r"huge or wide inputs", r"an overflow\?.*logarithm"),
    ("04.cuda.02", "softmax_xent_fwd/cuda/02_shared_tree.cu",
     [("  __syncthreads();  // all have read it before it is overwritten\n", "")], r"all \d+ cases fail", r"missing barrier\?"),
    ("05.03", "matmul/cpu/03_register_tile.cpp",
     [("a[i * a_stride + p] * b[p * n + j];", "a[i * a_stride + p] * b[p * columns + j];")], r"n > 8", r""),
    ("05.cuda.03", "matmul/cuda/03_shared_tile.cu", [("p0 < k; p0 += kTile", "p0 + kTile <= k; p0 += kTile")],
     r"k mod 32 > 0", r""),
    ("06.02", "conv2d_fwd/cpu/02_loop_order.cpp",
     [("u * s.dilation_y - s.pad_y", "u - s.pad_y"), ("v * s.dilation_x - s.pad_x", "v - s.pad_x")], r"dilation_", r""),
    ("07.02", "layernorm_fwd/cpu/02_accumulators.cpp",
     [("[row, mean](int64_t j) { return (row[j] - mean) * (row[j] - mean); });",
       "[row](int64_t j) { return row[j] * row[j]; }) - float(c) * mean * mean;")],
     r"", r"not accurate enough\?"),
    ("07.dropout_fwd.02", "dropout_fwd/cpu/01_naive.cpp",
     [("x.x[i] * scale", "x.x[i]"), ("  const float scale = 1 / (1 - *x.p);\n", "")], r"", r"one factor\?"),
    ("08.02", "adam/cpu/02_fused.cpp",
     [("    ++x.steps[j];\n", ""),
      ("+ h[Adam::epsilon]);\n    }\n", "+ h[Adam::epsilon]);\n    }\n    ++x.steps[j];\n")],
     r"", r"an operation without a result\?"),
    ("09.matmul_int8.02", "matmul_int8/cpu/02_loop_order.cpp",
     [("alignas(64) int32_t sums", "alignas(64) int16_t sums"), ("sums[j] += a * b[j]", "sums[j] = int16_t(sums[j] + a * b[j])"),
      ("std::fill(sums, sums + width, 0)", "std::fill(sums, sums + width, int16_t(0))")], r"", r"it depends on the values\?.*outgrows an integer"),
    ("10.02", "hashgrid_fwd/cpu/02_level_major.cpp", [("float sum[8] = {};", "float sum[8];")],
     r"", r"read before set\?.*float sum\[8\];"),
    ("11.02", "sh_fwd/cpu/02_factored.cpp", [("put(-1.0925484305920790F * yz)", "put(1.0925484305920790F * yz)")],
     r"degree > 2", r"a sign\?.*Only the elements of row 5 are wrong"),
    ("12.02", "mlp_fwd/cpu/02_layer_by_layer.cpp", [("size_t(2 * s.width * s.n)", "size_t(s.width * s.n)")],
     r"", r"(written beyond an array|unguarded edge, far out)\?.*an array of its own"),  # what lies behind the array decides
    ("13.sample_pdf.02", "sample_pdf/cpu/02_merge.cpp",
     [("while (b + 1 < bins && below + own <= u)", "while (below + own <= u)")], r"", r"not written, or read outside\?"),
    ("14.cuda.02", "composite_fwd/cuda/02_alpha_first.cu", [("if (i >= end) continue;", "if (i >= end) return;")],
     r"", r"a barrier not all threads reach\?"),
    ("15.radix_sort.02", "radix_sort/cpu/02_lsd.cpp", [("(bits + 7) / 8", "bits / 8")],
     r"bits mod 8 > 0", r"elements without an owner\?"),
    ("16.clip_norm.02", "clip_norm/cpu/02_threads.cpp",
     [("parallel for simd schedule(static) reduction(+ : squares) if", "parallel for schedule(static) if")],
     r"", r"threads in one place\?"),
    ("18.02", "allreduce_gradients/cpu/02_all_reduce.cpp", [("*x.rate / float(s.ranks)", "*x.rate")],
     r"ranks > 1", r"one factor\? What is added to each value is ranks times"),
]


def with_shared_parts(root, file):
    """The text of a rung, with what it shares with others (NN_name-inl.h) in place."""
    with open(os.path.join(root, file), encoding="utf-8") as f:
        return re.sub(r'^#include "(\S+-inl\.h)"$', lambda m: with_shared_parts(root, m.group(1)), f.read(), flags=re.M)


def main():
    klab, root, work = sys.argv[1:4]
    students, drawn, say = "--students" in sys.argv, "--drawn" in sys.argv, "--say" in sys.argv
    only = [word for word in sys.argv[4:] if not word.startswith("--")]
    failed = 0
    for step, rung, replacements, common, mistake in STUDENTS if students else DRAWN if drawn else PLANTED:
        right = common
        if students:
            common = ""
        if only and step not in only:
            continue
        folder = os.path.join(work, step)
        env = dict(os.environ, KLAB_WORK=folder, NO_COLOR="1", COLUMNS="100")
        begun = subprocess.run([klab, "step", step], env=env, capture_output=True, text=True)
        file = re.search(r"Started:\s+(\S+)", begun.stdout)
        if not file:
            sys.exit(f"step {step} does not begin: {begun.stdout}{begun.stderr}")
        text = with_shared_parts(root, os.path.join("kernels", rung))
        for old, new in replacements:
            if text.count(old) != 1:
                sys.exit(f"{rung} has '{old}' {text.count(old)} times; the mistake is to be planted anew")
            text = text.replace(old, new)
        open(file.group(1), "w", encoding="utf-8").write(text)
        said = subprocess.run([klab, "step", "--check", step, "--no-time", "--json"], env=env, capture_output=True, text=True)
        wrong = []
        if said.returncode != 1:
            wrong.append(f"exit code {said.returncode}")
        else:
            answer = json.loads(said.stdout)
            first = f"{answer['mistakes'][0]}? {answer['advice'][0]}" if answer["mistakes"] else ""
            shared = answer.get("common", "")
            note = answer.get("failure", {}).get("note", "")
            if say:
                print(f"{step}: wanted: {right}\n  common: {shared}\n  first:  {first}\n  note:   {note}", flush=True)
            if not re.search(common, shared):
                wrong.append(f"'{shared}' does not say '{common}'")
            if not re.match(mistake, first):
                wrong.append(f"'{first}' does not begin with '{mistake}'")
            if re.search(r"rounding (inside|of )", note):
                wrong.append(f"'{note}': there is no rounding")
        failed += bool(wrong)
        for what in wrong:
            print(f"FAILED: {step}: {what}\n{said.stderr}")
    sys.exit(failed > 0)


main()
