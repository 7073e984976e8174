"""Runs commands that write JSON, each in a cheap form, and validates every object by its schema. `klab schema` is the one list: a form
of it that no case here writes is a failure, and so is a command that offers --json and is not on the list."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib

from json_schema import broken_copies, errors, faults_of_schema

klab, root, part = sys.argv[1:4]
faults = []
written = set()  # names of schemas that a case has written
schemas = {}


def fail(text):
    faults.append(text)
    print("FAILED:", text)


def run(*arguments, stdin="", preload=""):
    env = dict(os.environ, LD_PRELOAD=preload) if preload else None
    return subprocess.run([klab, *map(str, arguments)], capture_output=True, text=True, input=stdin, env=env)


def schema_called(name):
    if name not in schemas:
        asked = run("schema", name)
        schemas[name] = json.loads(asked.stdout) if asked.returncode == 0 else {}
    return schemas[name]


def validate(text, name, what):
    """Validates an object, and that the schema refuses it with any key gone or added."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return fail(f"{what}: is no JSON: {error}: {text[:200]!r}")
    if not isinstance(value, dict) or value.get("schema") != name:
        return fail(f"{what}: is no object of the schema {name}: {text[:80]!r}")
    schema = schema_called(name)
    found = errors(value, schema)
    for error in found[:8]:
        fail(f"{what}: {error}")
    if not found:
        for how, copy in broken_copies(value, schema):
            if not errors(copy, schema):
                fail(f"{what}: the schema {name} takes it {how}")
    written.add(name)
    return value


def case(schema, codes, *arguments, stdin="", lines=False, preload=""):
    """Runs a command, tests its exit code and validates what it prints."""
    ended = run(*arguments, stdin=stdin, preload=preload)
    what = "klab " + " ".join(map(str, arguments))
    if ended.returncode not in codes:
        return fail(f"{what}: exit code {ended.returncode}: {ended.stdout[-300:]}{ended.stderr[-600:]}")
    parts = ended.stdout.splitlines() if lines else [ended.stdout]
    if not parts:
        fail(f"{what}: prints nothing")
    return [validate(text, schema, what) for text in parts][0]


def file_case(schema, name):
    with open(name, encoding="utf-8") as file:
        return validate(file.read(), schema, name)


def with_more_loads(source, target):
    """Copies recorded rows; the first that counts loads of sectors has twice as many."""
    with open(source, encoding="utf-8") as file:
        text = file.read()
    more = re.sub(r"global_load_sectors=(\d+)", lambda m: f"global_load_sectors={2 * int(m[1])}", text, count=1)
    if more == text:
        fail(f"{source} counts no loads")
    with open(target, "w", encoding="utf-8") as file:
        file.write(more)


def picture(name, size):
    rows = b"".join(b"\0" + bytes((x * 7 + y * 13) % 256 for x in range(size)) for y in range(size))
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    with open(name, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def kernel(rung, name, *replacements):
    """Writes a work file: the rung with some text replaced."""
    with open(os.path.join(root, "kernels", rung), encoding="utf-8") as file:
        text = file.read()
    for old, new in replacements:
        assert old in text, (rung, old)
        text = text.replace(old, new, 1)
    with open(os.path.join(os.environ["KLAB_WORK"], name), "w", encoding="utf-8") as file:
        file.write(text)


def counters(sectors):
    """Nsight Compute's counters of transpose.cuda.02 at 64 x 64, as tests/simt/test_trace.sh has them."""
    metrics = run("trace", "transpose.cuda.02", "--shape", "64,64", "--metrics").stdout.strip().split(",")
    lines = ['"ID","Kernel Name","Block Size","Metric Name","Metric Unit","Metric Value"']
    for m in metrics:
        value = "128"
        for pattern, other in (("sectors.*_ld", "512"), ("sectors.*_st", str(sectors)), ("wavefronts.*_ld", "4,096"),
                               ("conflicts.*_ld", "3,968"), ("conflicts.*_st|ldsm", "0"), ("time", "9,999")):
            if re.search(pattern, m) and "requests" not in m:
                value = other
        lines.append(f'"0","transpose(const float *, float *)","(32, 32, 1)","{m}","","{value}"')
    with open(f"counters_{sectors}.csv", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return f"counters_{sectors}.csv"


def quick():
    case("list", [0], "list", "vector_add", "00", "--all", "--json")
    case("check", [0], "check", "vector_add.cpu.01_scalar", "--quick", "--json")
    if shutil.which("cc") and run("list", "matmul.cpu.90_openblas").returncode == 0:
        with open("nothing.c", "w", encoding="utf-8") as file:  # a baseline whose library call does nothing fails its check
            file.write("void cblas_sgemm(void) {}\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", "nothing.so", "nothing.c"], check=True)
        failed = case("check", [0, 1], "check", "matmul.cpu.90_openblas", "--quick", "--shape", "3,4,5", "--json",
                      preload=os.path.abspath("nothing.so"))
        if failed and failed["failed"] != 1 and failed["skipped"] != 1:
            fail("klab check: a product that writes nothing passes")
    case("changes", [0], "regress", "vector_add.cuda.01_one_each", "--backend", "cuda", "--base", klab, "--out", "rows.csv", "--json")
    with_more_loads("rows.csv", "more.csv")
    slower = case("changes", [1], "compare", "rows.csv", "more.csv", "--json")
    if slower and slower["summary"]["slower"] != 1:
        fail("klab compare: another sector is not slower")
    case("trace", [0], "trace", "transpose.cuda.02", "--shape", "64,64", "--no-compiled", "--on", "h100", "--json")
    case("trace_counters", [0], "trace", "transpose.cuda.02", "--shape", "64,64", "--counters", counters(512), "--json")
    case("trace_counters", [1], "trace", "transpose.cuda.02", "--shape", "64,64", "--counters", counters(1024), "--json")


def harness():
    case("check", [0], "check", "vector_add.cpu.01_scalar", "--quick", "--remember", "--json")
    case("mutants", [0], "check", "--mutants", "vector_add.cpu.01_scalar", "--most", 1, "--json")
    case("bench", [0, 1], "bench", "vector_add.cpu.01_scalar", "--size", "L1", "--quick", "--rounds", 3, "--out", "rows.json",
         "--json")
    file_case("bench", "rows.json")
    run("bench", "vector_add", "--size", "L1", "--quick", "--rounds", 8, "--out", "rows.csv")
    case("changes", [0, 2], "compare", "rows.csv", "rows.csv", "--json")
    case("step", [0], "step", "--check", "01.02", "--with", "own", "--no-time", "--json")
    run("step", "01.02")
    kernel("vector_add/cpu/02_simd.cpp", "01_vector_add/02.cpp", ("hn::Add(", "hn::Sub("))
    answer = case("step", [1], "step", "--check", "01.02", "--no-time", "--json")
    if answer and "failure" not in answer:
        fail("klab step: a wrong file has no failure")
    kernel("vector_add/cpu/02_simd.cpp", "01_vector_add/02.cpp", ("hn::Add(", "hn::Nothing("))
    case("step", [1], "step", "--check", "01.02", "--no-time", "--json")
    case("trace", [0], "trace", "transpose.cuda.02", "--shape", "64,64", "--json")
    run("step", "03.cuda.03")
    kernel("transpose/cuda/03_padded.cu", "03_transpose/03.cu", ("__syncthreads();", ""))
    traced = case("trace", [1], "trace", "03.cuda.03", "--shape", "64,64", "--no-compiled", "--json")
    if traced and not traced["findings"]:
        fail("klab trace: a missing barrier has no finding")
    programs = os.path.join(root, "tests", "programs")
    case("trace_program", [0], "trace", os.path.join(programs, "vector_add.cu"), "--json")
    case("trace_program", [1], "trace", os.path.join(programs, "idioms", "product_beyond_a_matrix.cu"), "--no-compiled", "--json")
    case("doctor", [0], "doctor", "--json")


def trials():
    run("regress", "--trials", 1, "--loads", 0, "--planted", 35, "--sessions", 4, "--rounds", 12, "--size", "L1", "--out", "gate.json",
        "vector_add")
    file_case("gate_trials", "gate.json")
    with open("coarse.json", "w", encoding="utf-8") as file:
        json.dump({"first_grid": 8, "grid": 16, "batch_samples": 1024}, file)
    case("quality_verdict", [0], "regress", "--quality", "built-in", "--field", "voxels", "--config", "coarse.json", "--downscale", 25,
         "--steps", 8, "--seeds", 4, "--threads", 1, "--base", klab, "--out", "pool.json", "--json")
    file_case("quality", "pool.json")


def labs():
    small = {
        "hash": {"levels": 4, "log2_table": 10, "finest_resolution": 64, "batch_samples": 1024, "first_rays": 32, "grid": 16,
                 "steps_per_diagonal": 32, "width": 16},
        "frequency": {"width": 32, "depth": 3, "skip": 2, "octaves": 4, "rays": 64, "coarse": 16, "fine": 16, "chunk": 2048},
        "voxels": {"first_grid": 16, "grid": 32, "batch_samples": 4096},
        "gaussians": {"initial": 300, "most": 500},
    }
    case("scene", [0], "scene", "built-in", "--downscale", 25, "--json")
    for field, config in small.items():
        with open(f"{field}.json", "w", encoding="utf-8") as file:
            json.dump(config, file)
        case("training", [0], "train", "built-in", "--field", field, "--downscale", 25, "--config", f"{field}.json", "--plan", "naive",
             "--threads", 2, "--steps", 12, "--out", field, "--json", *(["--eval-every", 0.1, "--patience", 9] if field == "voxels" else []))
        file_case("training", f"{field}/result.json")
    case("training", [0], "train", "built-in", "--downscale", 25, "--config", "hash.json", "--plan", "naive", "--precision", "f16",
         "--threads", 2, "--steps", 12, "--out", "half", "--json")
    case("evaluation", [0], "eval", "hash", "built-in", "--downscale", 25, "--plan", "naive", "--json")
    case("realtime", [0], "realtime", "hash", "--plan", "naive", "--views", 1, "--frames", 2, "--rounds", 1, "--cells", 16, "--json")
    case("splat", [0], "splat", "built-in", "--downscale", 25, "--initial", 200, "--steps", 4, "--plan", "naive", "--json")
    case("compression", [0], "compress", "hash", "built-in", "--downscale", 25, "--prune", 0.5, "--retrain", 2, "--views", 1, "--plan", "naive",
         "--out", "fewer.safetensors", "--json")
    picture("photo.png", 32)
    case("image", [0], "fit-image", "photo.png", "--steps", 4, "--plan", "naive", "--json")
    case("experiments", [0], "experiment", "quadratic", "--json")
    case("claims", [0], "claims", "derivatives", "--json")
    case("claims", [0], "claims", "--run", "--seed", 4, "derivatives", "--json")
    run("claims", "--all", "derivatives", "--out", "claims.json")
    file_case("claims", "claims.json")
    train = ["classify", "glyphs", "--train", 60, "--test", 20, "--batch", 20, "--epochs", 1, "--plan", "naive", "--threads", 2, "--json"]
    case("classifier", [0], *train, "--model", "softmax", "--out", "network")
    file_case("classifier", "network/result.json")
    case("classifier", [0], *train, "--model", "mlp", "--precision", "f16", "--out", "half_network")
    picture("digit.png", 28)
    case("predictions", [0], "classify", "--predict", "network", "digit.png", "--json")
    case("prediction", [2], "classify", "--predict", "network", "-", "--json", stdin="digit.png\nnone.png\n", lines=True)
    case("compression", [0], "compress", "network", "--prune", 0.5, "--keep", "auto", "--train", 60, "--test", 20, "--out",
         "fewer_of_network.safetensors", "--json")
    case("classifier_evaluation", [0], "classify", "--predict", "network", "--evaluate", "glyphs", "--test", 20, "--json")


PARTS = {"quick": quick, "harness": harness, "trials": trials, "labs": labs}
WRITERS = {  # the part whose cases write a schema
    "list": "quick", "check": "quick", "changes": "quick", "trace": "quick", "trace_counters": "quick", "mutants": "harness",
    "bench": "harness", "step": "harness", "trace_program": "harness", "doctor": "harness", "gate_trials": "trials", "quality": "trials", "quality_verdict": "trials",
    "scene": "labs",
    "training": "labs", "evaluation": "labs", "realtime": "labs", "splat": "labs", "compression": "labs", "image": "labs", "experiments": "labs", "claims": "labs",
    "classifier": "labs", "predictions": "labs", "prediction": "labs", "classifier_evaluation": "labs",
}


def the_list():
    """Tests the list of schemas: well formed, complete, one file each."""
    listed = {}
    for line in run("schema").stdout.splitlines()[1:]:
        name, version, writer = line.split(maxsplit=2)
        listed.setdefault(name, []).append((int(version), writer))
    files = {f.removesuffix(".json") for f in os.listdir(os.path.join(root, "docs", "schemas"))}
    if not listed or files != set(listed):
        fail(f"schemas and klab schema differ: {sorted(files ^ set(listed))}")
    for name in sorted(files):
        schema = schema_called(name)
        for fault in faults_of_schema(schema):
            fail(f"docs/schemas/{name}.json: {fault}")
        parts = schema.get("properties", {})
        if parts.get("schema") != {"const": name} or not isinstance(parts.get("schema_version", {}).get("const"), int):
            fail(f"docs/schemas/{name}.json: does not describe schema and schema_version")
        if any(version != parts["schema_version"]["const"] for version, _ in listed.get(name, [])):
            fail(f"klab schema: another version of {name}")
        if not {"schema", "schema_version"} <= set(schema.get("required", [])):
            fail(f"docs/schemas/{name}.json: does not require schema and schema_version")
        if name not in WRITERS:
            fail(f"docs/schemas/{name}.json: no case of this test writes it")
    commands = re.findall(r"^  ([a-z][a-z-]*) ", run("--help").stdout.split("The launcher")[0], re.M)
    if len(commands) < 10:
        fail(f"klab --help lists {commands}")
    for command in commands:
        offers = re.search(r"^ +--json\b", run(command, "--help").stdout, re.M) is not None
        told = any(writer.startswith(command + " ") and writer.endswith("--json") for list_ in listed.values() for _, writer in list_)
        if offers != told:
            fail(f"klab {command}: {'offers --json, and no schema is listed for it' if offers else 'is listed, and has no --json'}")
    unknown = run("schema", "no_such")
    if unknown.returncode != 2 or "no_such" not in unknown.stderr:
        fail("klab schema no_such is not refused")


PARTS["list"] = the_list
for name in part.split(","):
    PARTS[name]()
expected = {schema for schema, writer in WRITERS.items() if writer in part.split(",")}
if expected - written:
    fail(f"not written: {sorted(expected - written)}")
sys.exit(len(faults) > 0)
