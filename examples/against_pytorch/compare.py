"""klab against PyTorch on the processor: values and gradients of operations, and a training step of the same network.

    python3 compare.py KLAB ops                   every CPU and CUDA rung of the operations below, called by `klab call`
    python3 compare.py KLAB step DATA             the cnn of `klab classify` on a folder with MNIST's files: what klab has
                                                  learned classifies the same in PyTorch; then the time of a step of each

KLAB is the program (build/release/klab). Needs Python 3.9, torch and safetensors (pip install torch safetensors).
Exit code 0: all agree; 1: something does not.
"""

import argparse
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

I32, F32 = torch.int32, torch.float32


def gradients(outputs, seeds, inputs):
    """Of sum(seed * output), with respect to each input."""
    return torch.autograd.grad(outputs, inputs, grad_outputs=seeds)


def leaf(*dims):
    return torch.randn(*dims, dtype=torch.float64).float().double().requires_grad_()


def conv_cases():
    for name, s in {
        "": dict(n=2, groups=1, c=3, k=4, h=9, w=8, r=3, s=3, stride_y=1, stride_x=1, pad_y=1, pad_x=1, dilation_y=1, dilation_x=1, nhwc=0),
        "strided, dilated, grouped": dict(n=1, groups=2, c=2, k=3, h=11, w=13, r=3, s=2, stride_y=2, stride_x=1, pad_y=0, pad_x=1, dilation_y=1, dilation_x=2, nhwc=0),
    }.items():
        x, w, b = leaf(s["n"], s["groups"] * s["c"], s["h"], s["w"]), leaf(s["groups"] * s["k"], s["c"], s["r"], s["s"]), leaf(s["groups"] * s["k"])
        y = F.conv2d(x, w, b, (s["stride_y"], s["stride_x"]), (s["pad_y"], s["pad_x"]), (s["dilation_y"], s["dilation_x"]), s["groups"])
        d_y = torch.randn_like(y)
        d_x, d_w, d_b = gradients(y, d_y, (x, w, b))
        yield "conv2d_fwd", name, dict(x=x, w=w, b=b), dict(y=y), s
        yield "conv2d_bwd", name, dict(x=x, w=w, d_y=d_y), dict(d_x=d_x, d_w=d_w, d_b=d_b), s


def pool_cases():
    for kind, name in enumerate(("maximum", "average", "average, padding counted")):
        s = dict(n=2, c=3, h=9, w=8, r=3, s=2, stride_y=2, stride_x=1, pad_y=1, pad_x=1, kind=kind, nhwc=0)
        x = leaf(2, 3, 9, 8)
        window = dict(kernel_size=(3, 2), stride=(2, 1), padding=(1, 1))
        y = F.max_pool2d(x, **window) if kind == 0 else F.avg_pool2d(x, count_include_pad=kind == 2, **window)
        d_y = torch.randn_like(y)
        yield "pool_fwd", name, dict(x=x), dict(y=y), s
        yield "pool_bwd", name, dict(x=x, d_y=d_y), dict(d_x=gradients(y, d_y, (x,))[0]), s


def norm_cases():
    eps = torch.tensor([1e-5])
    x, gamma, beta = leaf(6, 20), leaf(20), leaf(20)
    y = F.layer_norm(x, (20,), gamma, beta, 1e-5)
    mean, rstd = x.mean(1), 1 / (x.var(1, unbiased=False) + 1e-5).sqrt()
    d_y = torch.randn_like(y)
    d = gradients(y, d_y, (x, gamma, beta))
    yield "layernorm_fwd", "", dict(x=x, gamma=gamma, beta=beta, epsilon=eps), dict(y=y, mean=mean, rstd=rstd), {}
    yield "layernorm_bwd", "", dict(x=x, gamma=gamma, mean=mean, rstd=rstd, d_y=d_y), dict(d_x=d[0], d_gamma=d[1], d_beta=d[2]), {}
    y = F.rms_norm(x, (20,), gamma, 1e-5)
    yield "rmsnorm_fwd", "", dict(x=x, gamma=gamma, epsilon=eps), dict(y=y), {}

    x, gamma, beta = leaf(4, 3, 10), leaf(3), leaf(3)
    running = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    begun = [r.clone() for r in running]
    y = F.batch_norm(x, *running, gamma, beta, True, 0.1, 1e-5)
    mean, rstd = x.mean((0, 2)), 1 / (x.var((0, 2), unbiased=False) + 1e-5).sqrt()
    d_y = torch.randn_like(y)
    d = gradients(y, d_y, (x, gamma, beta))
    yield ("batchnorm_fwd", "", dict(x=x, gamma=gamma, beta=beta, epsilon=eps, momentum=torch.tensor([0.1]), running_mean=begun[0], running_var=begun[1]),
           dict(y=y, mean=mean, rstd=rstd, running_mean=running[0], running_var=running[1]), {})
    yield "batchnorm_bwd", "", dict(x=x, gamma=gamma, mean=mean, rstd=rstd, d_y=d_y), dict(d_x=d[0], d_gamma=d[1], d_beta=d[2]), {}
    y = F.batch_norm(x, *running, gamma, beta, False, 0.1, 1e-5)
    yield "batchnorm_inference", "", dict(x=x, gamma=gamma, beta=beta, epsilon=eps, running_mean=running[0], running_var=running[1]), dict(y=y), {}

    x, gamma, beta = leaf(4, 6, 10), leaf(6), leaf(6)
    y = F.group_norm(x, 2, gamma, beta, 1e-5)
    rows = x.reshape(4, 2, 30)
    mean, rstd = rows.mean(2), 1 / (rows.var(2, unbiased=False) + 1e-5).sqrt()
    d_y = torch.randn_like(y)
    d = gradients(y, d_y, (x, gamma, beta))
    apart = lambda t: t.reshape(4, 2, 3, 10)
    pair = lambda t: t.reshape(2, 3)
    yield "groupnorm_fwd", "", dict(x=apart(x), gamma=pair(gamma), beta=pair(beta), epsilon=eps), dict(y=apart(y)), {}
    yield ("groupnorm_bwd", "", dict(x=apart(x), gamma=pair(gamma), mean=mean, rstd=rstd, d_y=apart(d_y)),
           dict(d_x=apart(d[0]), d_gamma=pair(d[1]), d_beta=pair(d[2])), {})


def other_cases():
    a, b = leaf(7, 9), leaf(9, 5)
    c = a @ b
    d_c = torch.randn_like(c)
    d = gradients(c, d_c, (a, b))
    yield "matmul", "", dict(a=a, b=b), dict(c=c), {}
    yield "matmul_bwd", "", dict(a=a, b=b, d_c=d_c), dict(d_a=d[0], d_b=d[1]), {}
    for kind, f in enumerate((F.relu, torch.sigmoid, torch.tanh, F.gelu, F.silu, F.softplus)):
        x = leaf(100)
        y = f(x)
        d_y = torch.randn_like(y)
        name = f.__name__
        yield "activation_fwd", name, dict(x=x), dict(y=y), dict(kind=kind)
        yield "activation_bwd", name, dict(x=x, d_y=d_y), dict(d_x=gradients(y, d_y, (x,))[0]), dict(kind=kind)
    logits, labels = leaf(8, 11), torch.randint(0, 11, (8,))
    loss = F.cross_entropy(logits, labels, reduction="none")
    d_loss = torch.randn_like(loss)
    yield "softmax_xent_fwd", "", dict(logits=logits, labels=labels.to(I32)), dict(loss=loss), {}
    yield ("softmax_xent_bwd", "", dict(logits=logits, labels=labels.to(I32), d_loss=d_loss),
           dict(loss=loss, d_logits=gradients(loss, d_loss, (logits,))[0]), {})


def optimizer_cases():
    rate, beta1, beta2, eps, decay, steps = 0.01, 0.9, 0.99, 1e-8, 0.1, 4
    hyper = torch.tensor([[rate, beta1, beta2, eps, decay]])
    p, g, m, v = (torch.randn(50, dtype=torch.float64).float().double() for _ in range(4))
    v = v.abs()

    def stepped(make, state):
        q = p.clone().requires_grad_()
        q.grad = g.clone()
        optimizer = make([q])
        optimizer.state[q].update({k: t.clone() for k, t in state.items()})
        optimizer.step()
        return q.detach()

    adam = dict(step=torch.tensor(float(steps)), exp_avg=m, exp_avg_sq=v)
    settings = dict(lr=rate, betas=(beta1, beta2), eps=eps, weight_decay=decay)
    count = torch.tensor([steps], dtype=I32)
    yield "sgd", "", dict(hyper=hyper, gradient=g, param=p), dict(param=stepped(lambda q: torch.optim.SGD(q, rate, weight_decay=decay), {})), {}
    yield ("adamw", "", dict(hyper=hyper, gradient=g, param=p, m=m, v=v, steps=count),
           dict(param=stepped(lambda q: torch.optim.AdamW(q, **settings), adam)), {})
    yield ("adam", "", dict(hyper=hyper[0], gradient=g, param=p, m=m, v=v, steps=count),
           dict(param=stepped(lambda q: torch.optim.Adam(q, **settings), adam)), dict(group=50, zero_percent=0))
    # PyTorch's buffer is not scaled by 1 - beta; dampening scales what is added to it, where Nesterov's step has none.
    yield ("momentum", "", dict(hyper=hyper, gradient=g, param=p, m=m, steps=count),
           dict(param=stepped(lambda q: torch.optim.SGD(q, rate, beta1, dampening=beta1, weight_decay=decay), dict(momentum_buffer=m))), dict(corrected=0))
    yield ("nesterov", "", dict(hyper=hyper, gradient=g, param=p, m=m),
           dict(param=stepped(lambda q: torch.optim.SGD(q, rate * (1 - beta1), beta1, weight_decay=decay, nesterov=True), dict(momentum_buffer=m / (1 - beta1)))), {})


def stored(t):
    t = t.detach()
    return (t if t.dtype == I32 else t.to(F32)).contiguous()


def rungs(klab, op):
    """Those that can run here, and whether they round factors to 16 bits."""
    listed = json.loads(subprocess.run([klab, "list", op, "--all", "--json"], capture_output=True, text=True, check=True).stdout)
    by_id = {v["id"]: v for v in listed["variants"]}

    def coarse(v):
        said = v["header"].get("numerics", "")
        if said.startswith("as the parent") and v["parent"] in by_id:
            return coarse(by_id[v["parent"]])
        return "bfloat16" in said

    return [(v["id"], coarse(v)) for v in listed["variants"] if v["op"] == op and v["supported"]]


def compare_ops(klab):
    torch.manual_seed(1)
    agree = skipped = 0
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        given, found = os.path.join(folder, "in.safetensors"), os.path.join(folder, "out.safetensors")
        for cases in (conv_cases, pool_cases, norm_cases, other_cases, optimizer_cases):
            for op, name, inputs, expected, shape in cases():
                save_file({k: stored(t) for k, t in inputs.items()}, given)
                worst, count = 0.0, 0
                for rung, coarse in rungs(klab, op):
                    words = ["--shape", ",".join(f"{k}={v}" for k, v in shape.items())] if shape else []
                    said = subprocess.run([klab, "call", rung, "--in", given, "--out", found, *words], capture_output=True, text=True)
                    if said.returncode != 0:
                        skipped += 1  # a rung for other shapes or another machine says why
                        print(f"          {rung} did not run: {said.stderr.strip().splitlines()[-1]}")
                        continue
                    outputs = load_file(found)
                    for key, want in expected.items():
                        want = want.detach().double()
                        off = ((outputs[key].double() - want).abs().max() / want.abs().max().clamp(min=1e-6)).item()
                        worst = max(worst, off if not coarse else 0.0)
                        if off <= (2e-2 if coarse else 2e-5):
                            agree += 1
                        else:
                            wrong.append(f"{rung} {name}: {key} is off by {off:.1e} of its largest element")
                    count += 1
                print(f"{op:22}{name:28}{count:3} rungs, at most {worst:.1e} of the largest element apart")
    print(f"\n{agree} outputs agree, {len(wrong)} do not, {skipped} rungs did not run")
    for line in wrong:
        print("  " + line)
    return 1 if wrong or agree == 0 else 0


def read_idx(folder, kind, dims):
    files = sorted(p for p in pathlib.Path(folder).iterdir() if f"{kind}-idx{dims}-ubyte" in p.name.replace(".", "-"))
    if not files:
        sys.exit(f"{folder}: no *{kind}-idx{dims}-ubyte in it; name a folder with MNIST's files")
    data = (gzip.open if files[0].suffix == ".gz" else open)(files[0], "rb").read()
    sizes = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(dims)]
    return torch.frombuffer(bytearray(data[4 + 4 * dims:]), dtype=torch.uint8).reshape(sizes)


def lenet():
    """labs/learning/network/models.h, cnn."""
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 5), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(800, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 10))


def load_klab(model, file):
    t = load_file(file)
    names = {"conv1": 0, "norm1": 1, "conv2": 4, "norm2": 5, "linear1": 9, "linear2": 12}
    for name, at in names.items():
        layer = model[at]
        with torch.no_grad():
            if name.startswith("norm"):
                layer.weight.copy_(t[name + ".gamma"]), layer.bias.copy_(t[name + ".beta"])
                layer.running_mean.copy_(t[name + ".running_mean"]), layer.running_var.copy_(t[name + ".running_var"])
            else:
                w = t[name + ".weight"]
                layer.weight.copy_(w.t() if name.startswith("linear") else w), layer.bias.copy_(t[name + ".bias"])


def torch_step_times(x, y, batch, steps):
    model = lenet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    times = []
    for i in range(steps):
        at = i * batch % (len(x) - batch + 1)
        begin = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(model(x[at:at + batch]), y[at:at + batch]).backward()
        optimizer.step()
        times.append(time.perf_counter() - begin)
    return times[5:]


def compare_step(klab, data, threads, batch, rounds):
    torch.set_num_threads(threads)
    images, labels = read_idx(data, "images", 3), read_idx(data, "labels", 1).long()
    train = len(images) * 4 // 5
    x = images.float() / 255
    x = ((x - x[:train].mean()) / x[:train].std(unbiased=False)).unsqueeze(1)
    ours, theirs, same = [], [], None
    with tempfile.TemporaryDirectory() as folder:
        for round_ in range(rounds):
            subprocess.run([klab, "classify", data, "--model", "cnn", "--epochs", "1", "--batch", str(batch), "--plain",
                            "--threads", str(threads), "--out", folder], check=True, stdout=subprocess.DEVNULL)
            result = json.load(open(os.path.join(folder, "result.json")))
            ours.append(sum(result["times"].values()) / result["steps"])
            theirs.append(statistics.median(torch_step_times(x[:train], labels[:train], batch, 80)))
            print(f"round {round_ + 1}: a step of {batch} images takes klab {1000 * ours[-1]:.2f} ms, PyTorch {1000 * theirs[-1]:.2f} ms")
        model = lenet().eval()
        load_klab(model, os.path.join(folder, "model.safetensors"))
        with torch.no_grad():
            taken = model(x[train:]).argmax(1)
        confusion = torch.zeros(10, 10, dtype=torch.long)
        confusion.index_put_((labels[train:], taken), torch.ones_like(taken), accumulate=True)
        off = (confusion.flatten() - torch.tensor(result["confusion"])).abs().sum().item() // 2
        same = off <= 2  # of equal logits, rounding decides
    print(f"what klab has learned, in PyTorch: {100 * (taken == labels[train:]).double().mean():.2f} % right, "
          f"klab says {100 * result['accuracy']:.2f} %; {off} of {len(taken)} examples are taken for something else")
    ratio = statistics.median(t / o for o, t in zip(ours, theirs))
    print(f"PyTorch {torch.__version__} takes {ratio:.2f} times as long as klab for a step, {threads} threads, median of {rounds} rounds")
    return 0 if same else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("klab")
    parser.add_argument("what", choices=("ops", "step"))
    parser.add_argument("data", nargs="?")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    o = parser.parse_args()
    if o.what == "step" and not o.data:
        parser.error("step needs DATA, a folder with MNIST's files")
    sys.exit(compare_ops(o.klab) if o.what == "ops" else compare_step(o.klab, o.data, o.threads, o.batch, o.rounds))


if __name__ == "__main__":
    main()
