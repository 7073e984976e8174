#!/usr/bin/env python3
"""The live view as browsers and strangers meet it.

  live_view.py KLAB DOOR                    who is let in: token, host, path, address
  live_view.py KLAB TRAINING                pictures while it trains, two browsers, one killed, pause, save, share, a killed trainer
  live_view.py KLAB MODEL RUN               a trained model: depth, normals, error, exposure, crop
  live_view.py KLAB MUTATED RUN COUNT       mutated requests to klab view and klab train --view (tests/web/mutated_requests.py)
  live_view.py KLAB PAGE RUN                the page in headless Chromium; exit code 77 without it
  live_view.py KLAB REPORT PAGE             sliders and cameras of a report in headless Chromium
"""
import atexit, http.client, json, os, re, signal, socket, struct, subprocess, sys, tempfile, threading, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "web"))
import mutated_requests
from browser import Browser, chromium

PATIENCE = 120  # seconds until a test gives up; nothing depends on how fast this machine is


def fail(words):
    print("FAILED: " + words)
    sys.exit(1)


def need(true, words):
    if not true:
        fail(words)


def until(test, words):
    """Waits for a result that is true, and returns it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        got = test()
        if got:
            return got
        time.sleep(0.05)
    fail(words + f" within {PATIENCE} s")


class Klab:
    """A klab with a page, and its address."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        atexit.register(self.process.kill)
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            if found := re.match(r"view      http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/$", line):
                self.port, self.token = int(found[1]), found[2]
                break
        else:
            fail(f"{' '.join(map(str, command))} prints no address:\n{self.said}")
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.said += line

    def host(self):
        return f"127.0.0.1:{self.port}"

    def ask(self, path, method="GET", headers=None):
        """Returns status, headers and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request(method, path, headers=headers or {})
        reply = connection.getresponse()
        body = reply.read()
        connection.close()
        return reply.status, reply.headers, body

    def get(self, path, method="GET"):
        status, headers, body = self.ask(f"/{self.token}/{path}", method)
        need(status == 200, f"{path}: status {status}, {body[:200]!r}")
        return headers, body

    def state(self):
        return json.loads(self.get("state")[1])

    def ready(self):
        return self.ask(f"/{self.token}/state")[0] == 200

    def frame(self, client="one", **more):
        """Returns the facts and the bytes of a picture; None if there was nothing new."""
        query = {"client": client, "shows": "color", "size": "96,72", "target": "0.5,0.5,0.4", "azimuth": "0.7", "elevation": "0.5",
                 "distance": "1.5", "fov": "0.7", "moving": 1}
        query.update(more)
        status, headers, body = self.ask(f"/{self.token}/frame?" + "&".join(f"{k}={v}" for k, v in query.items() if v is not None))
        if status == 204:
            return None
        need(status == 200, f"frame {more}: status {status}, {body[:200]!r}")
        facts = json.loads(headers["X-Klab"])
        need(len(body) == 3 * facts["width"] * facts["height"], f"frame {more}: {len(body)} bytes for {facts}")
        return facts, body

    def finest(self, **more):
        """Returns the largest picture that rests, which gets finer step by step."""
        facts, body = self.frame(moving=0, **more)
        for _ in range(20):
            if facts["full"]:
                return facts, body
            facts, body = self.frame(moving=0, version=facts["version"], width=facts["width"], **more)
        fail(f"a picture that rests does not become full: {facts}")

    def raw(self, data, patience=PATIENCE):
        """Sends bytes as they are, and returns what comes back until the server closes or a time is over."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=patience) as s:
            got = b""
            try:
                s.sendall(data)
                while more := s.recv(65536):
                    got += more
            except OSError:
                pass  # the server may have closed it, or waits for the rest of a request
            return got

    def end(self, number=signal.SIGINT, code=0):
        self.process.send_signal(number)
        try:
            got = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            fail("it does not end:\n" + self.said)
        self.reader.join()
        need(got == code, f"exit code {got} instead of {code}:\n{self.said}")


def body_of(reply):
    return reply.split(b"\r\n\r\n", 1)[1] if b"\r\n\r\n" in reply else reply


def light(body):
    return sum(body) / len(body)


def door(klab, run):
    k = Klab(klab, "view", run, "--plan", f"{run}/plan.json", "--threads", 2)
    until(k.ready, "it does not answer")
    wrong = ("0" if k.token[0] != "0" else "1") + k.token[1:]
    refused = {}
    for name, path in {"no token": "/", "state without it": "/state", "a wrong token": f"/{wrong}/", "part of the token": f"/{k.token[:-1]}/state",
                       "more than the token": f"/{k.token}0/state", "the token elsewhere": f"/x/{k.token}/state", "in a query": f"/?{k.token}",
                       "a file": "/etc/passwd", "favicon": "/favicon.ico"}.items():
        refused[name] = f"GET {path} HTTP/1.1\r\nHost: {k.host()}\r\nConnection: close\r\n\r\n"
    good = f"GET /{k.token}/state HTTP/1.1\r\n"
    for name, head in {"another host": "Host: klab.example\r\n", "another host with the port": f"Host: klab.example:{k.port}\r\n", "another port": "Host: 127.0.0.1:1\r\n",
                       "no host": "", "two hosts": f"Host: {k.host()}\r\nHost: klab.example\r\n", "a page of another site": f"Host: {k.host()}\r\nOrigin: http://klab.example\r\n",
                       "a page from a file": f"Host: {k.host()}\r\nOrigin: null\r\n"}.items():
        refused[name] = good + head + "Connection: close\r\n\r\n"
    for name, request in refused.items():
        reply = k.raw(request.encode())
        need(reply.startswith(b"HTTP/1.1 403 "), f"{name}: {reply[:80]!r}")
        need(body_of(reply) == b"", f"{name}: served {body_of(reply)[:80]!r}")
        need(b"X-Klab" not in reply, f"{name}: {reply!r}")
    for path in ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "state/../../x", "metrics.csv", "model.safetensors", "page.js", "state/", "//etc/passwd",
                 "frame/", "pause"]:
        status, _, body = k.ask(f"/{k.token}/{path}")
        need(status == 404 and body == b"", f"{path}: status {status}, {body[:80]!r}")
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"]:
        status, _, body = k.ask(f"/{k.token}/state", method)
        need(status == 405 and body == b"", f"{method}: status {status}, {body[:80]!r}")
    for name in ["127.0.0.1", "localhost"]:
        reply = k.raw((good + f"Host: {name}:{k.port}\r\nOrigin: http://{name}:{k.port}\r\nConnection: close\r\n\r\n").encode())
        need(reply.startswith(b"HTTP/1.1 200 "), f"{name} is refused: {reply[:80]!r}")
    headers, page = k.get("")
    need(b"{{" not in page and b"http://" not in page.replace(b"http://www.w3.org/2000/svg", b"") and b"https://" not in page, "the page names other addresses")
    for name in ["Content-Security-Policy", "Referrer-Policy", "X-Content-Type-Options", "Cache-Control"]:
        need(name in headers, f"the page comes without {name}")
    others = [("127.0.0.2", socket.AF_INET), ("::1", socket.AF_INET6)]
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.connect(("192.0.2.1", 9))  # sends nothing; tells this machine's address in its network
            if s.getsockname()[0] != "127.0.0.1":
                others.append((s.getsockname()[0], socket.AF_INET))
    except OSError:
        pass  # this machine is in no network
    for other, family in others:
        try:
            with socket.socket(family) as s:
                s.settimeout(5)
                need(s.connect_ex((other, k.port)) != 0, f"it listens on {other}, too")
        except OSError:
            pass  # this machine has no such address

    # A second one does not take the port, and says which it takes.
    second = Klab(klab, "view", run, "--plan", f"{run}/plan.json", "--threads", 2, "--port", k.port)
    need(second.port > k.port, f"the second one has port {second.port}")
    until(lambda: f"note      port {k.port} is in use: this is port {second.port}" in second.said, "it is not told that the port is in use")
    need(second.token != k.token, "two have the same token")
    need(second.ask(f"/{k.token}/state")[0] == 403, "the token of another one is good here, too")
    second.end(signal.SIGTERM)
    k.end()


def training(klab, run):
    k = Klab(klab, "train", "built-in", "--downscale", 16, "--config", "small.json", "--plan", f"{run}/plan.json", "--threads", 2, "--seconds", 3000, "--no-eval",
             "--metrics-every", 0.2, "--checkpoint", 100000, "--out", "watched", "--view", 7400)
    until(k.ready, "it does not answer")
    # Frames change while it trains, for two browsers with cameras of their own.
    seen = {"one": [], "two": []}

    def browse(client, azimuth):
        while len(seen[client]) < 6:
            got = k.frame(client, azimuth=azimuth)
            if got:
                seen[client].append(got)

    browsers = [threading.Thread(target=browse, args=each, daemon=True) for each in [("one", 0.7), ("two", 2.5)]]
    for b in browsers:
        b.start()
    for b in browsers:
        b.join(PATIENCE)
    for client, list_ in seen.items():
        need(len(list_) == 6, f"browser {client} got {len(list_)} pictures")
        versions = [facts["version"] for facts, _ in list_]
        need(versions == sorted(set(versions)), f"browser {client} got the pictures of steps {versions}")
        need(list_[0][1] != list_[-1][1], f"the picture of browser {client} does not change while it trains")
    need(seen["one"][-1][1] != seen["two"][-1][1], "two cameras show the same")
    need(k.state()["frames"]["browsers"] >= 1, "no browser is counted")

    # Browsers that are killed while they wait.
    for _ in range(40):
        s = socket.create_connection(("127.0.0.1", k.port))
        s.sendall(f"GET /{k.token}/frame?client=killed&shows=color&size=2000,2000&target=0,0,0&azimuth=0&elevation=0&distance=1&fov=1 HTTP/1.1\r\nHost: {k.host()}\r\n\r\n".encode())
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, as from a process that died
        s.close()
    need(k.frame("one", azimuth=1), "no picture after browsers were killed")

    # Pictures take no more than their share of the time since training began, but for the first credit and one picture.
    s = k.state()
    most = s["most_share"] / (1 - s["most_share"]) * s["training_seconds"] + s["most_credit"] + s["frames"]["longest"]
    need(s["most_share"] <= 0.25 and s["viewing_seconds"] > 0, f"no bound: {s}")
    need(s["viewing_seconds"] <= most + 1e-3, f"pictures took {s['viewing_seconds']} s, more than {most} s")
    need(0 <= s["share"] <= 1, f"share {s['share']}")
    curves = {c["title"]: c["points"] for c in until(lambda: k.state().get("curves"), "there are no curves")}
    for title in ["loss", "PSNR of the batch", "learning rate"]:
        need(len(curves.get(title, [])) >= 1, f"no curve of {title}: {list(curves)}")
    stages = dict(k.state()["stages"])
    need(abs(sum(stages.values()) - 1) < 1e-6 and len(stages) > 5, f"shares of stages: {stages}")
    need("curves" not in json.loads(k.get(f"state?lines={k.state()['lines']}")[1]) or k.state()["lines"] > 0, "curves are sent again")

    # Pause: no step is made, pictures get finer, and all of them show the same step.
    k.get("pause?on=1", "POST")
    until(lambda: "paused at step" in k.said, "it does not pause")
    step = k.state()["step"]
    facts, _ = k.finest(client="one", size="320,240")
    need(facts["width"] == 320 and facts["version"] == step, f"paused at step {step}, and the picture is {facts}")
    need(k.frame("one", moving=0, size="320,240", version=facts["version"], width=facts["width"]) is None, "the same picture is made again and again")
    need(k.state()["phase"] == "paused" and k.state()["step"] == step, "it trains while it is paused")
    # Save: a checkpoint, which klab view shows.
    saved = json.loads(k.get("save", "POST")[1])
    need(saved["step"] == step and os.path.exists("watched/checkpoint.safetensors"), f"nothing was saved: {saved}")
    other = Klab(klab, "view", "watched", "--plan", f"{run}/plan.json", "--threads", 2)
    need("this is its last checkpoint" in other.said, "it is not said that this is a checkpoint")
    until(other.ready, "the view of a checkpoint does not answer")
    need(other.finest(size="64,48")[0]["full"], "no picture of a checkpoint")
    for path in ["pause?on=1", "save"]:
        status, _, body = other.ask(f"/{other.token}/{path}", "POST")
        need(status == 400 and b"not training" in body, f"{path} of a trained model: {status}, {body}")
    other.end()
    k.get("pause?on=0", "POST")
    until(lambda: k.state()["step"] > step, "it does not go on")
    # Comparison with a view: training views and test views, and their pictures.
    views = json.loads(k.get("views")[1])
    need(len(views["train"]) > 3 and len(views["test"]) > 0, f"views: {views}")
    got = k.frame("one", view="train:1", shows="error")
    need(got and 0 < got[0]["psnr"] < 60, f"no PSNR against a training view: {got and got[0]}")
    headers, photo = k.get("photo?view=train:1&width=100")
    facts = json.loads(headers["X-Klab"])
    need(len(photo) == 3 * facts["width"] * facts["height"] and len(set(photo)) > 10, f"the photo: {facts}")
    k.process.kill()
    k.process.wait()
    try:
        k.ask(f"/{k.token}/state")
        fail("a killed trainer answers")
    except OSError:
        pass


def same_model(klab, run):
    """A watched run learns what one does that nobody watches, and says how long pictures took."""
    command = [klab, "train", "built-in", "--downscale", 16, "--config", "small.json", "--plan", f"{run}/plan.json", "--threads", 2, "--steps", 150, "--no-eval"]
    subprocess.run([str(c) for c in command + ["--out", "alone"]], check=True, capture_output=True)
    k = Klab(*command, "--out", "together", "--view=7430")
    frames = 0
    try:
        while True:
            for n, shows in enumerate(["color", "normals"]):
                path = f"frame?client=c{n}&shows={shows}&size=96,72&target=0.5,0.5,0.4&azimuth={3 * n}&elevation=0.5&distance=1.5&fov=0.7&moving=1"
                status = k.ask(f"/{k.token}/{path}")[0]
                need(status in [200, 204, 410, 503], f"a picture of a watched run: status {status}")
                frames += status == 200
    except (OSError, http.client.HTTPException):
        pass  # it has ended
    need(k.process.wait(PATIENCE) == 0, f"the watched run failed:\n{k.said}")
    need(frames >= 1, "no picture of a watched run")
    models = [open(f"{name}/model.safetensors", "rb").read() for name in ["alone", "together"]]
    need(models[0] == models[1], "a watched run learned something else")
    need(json.load(open("together/result.json"))["seconds_viewing"] > 0, "the result does not say how long pictures took")
    need("seconds_viewing" not in json.load(open("alone/result.json")), "pictures of a run without a page")


def model(klab, run, field):
    # The plan of a training is one of pictures, too, for the hash field.
    k = Klab(klab, "view", run, "--plan", f"{run}/plan.json" if field == "hash" else "last", "--threads", 2)
    until(k.ready, "it does not answer")
    need(k.state()["phase"] == "showing" and k.state()["field"] == field, f"state: {k.state()}")
    need(len(k.state()["curves"]) >= 2 and k.state()["stages"], "no curves or stages of a trained model")
    pictures = {shows: k.finest(shows=shows, size="64,48")[1] for shows in ["color", "depth", "normals"]}
    need(len(set(pictures.values())) == 3, "color, depth and normals are the same")
    for shows, body in pictures.items():
        need(len(set(body)) > 3, f"the {shows} of {field} shows nothing")
    need(light(k.finest(exposure=-9, size="64,48")[1]) < 20, "less exposure is not darker")
    need(light(k.finest(exposure=1, size="64,48")[1]) > light(pictures["color"]), "more exposure is not lighter")
    box = {"low": "0.5,-9,-9", "high": "9,9,9"}
    if field == "frequency":
        status, _, body = k.ask(f"/{k.token}/frame?client=a&shows=color&size=64,48&target=0.5,0.5,0.4&azimuth=1&elevation=0.5&distance=1.5&fov=1&low=0.5,0,0&high=1,1,1")
        need(status == 400 and b"frequency has no cells" in body, f"crop: {status}, {body}")
        need("no cells" in json.loads(k.get("views")[1])["no_crop"], "the page is not told that it cannot crop")
    else:
        need(json.loads(k.get("views")[1])["no_crop"] == "", "the page is told that it cannot crop")
        half = k.finest(size="64,48", **box)[1]
        need(half != pictures["color"], "a crop box changes nothing")
        nothing = k.finest(size="64,48", low="7,7,7", high="8,8,8")[1]
        need(set(nothing) == {255}, "outside of the crop box something is left")
        need(k.finest(size="64,48")[1] == pictures["color"], "the whole field is not back")
    views = json.loads(k.get("views")[1])
    # At its full size a test view has the PSNR of the run's score.
    score = json.load(open(f"{run}/result.json")).get("score")
    if score:
        scored = score["views"][0]
        index = [v[0] for v in views["test"]].index(scored["name"])
        facts, _ = k.finest(view=f"test:{index}", size="400,400", shows="error")
        need(abs(facts["psnr"] - scored["psnr"]) < 0.02, f"PSNR {facts['psnr']} instead of {scored['psnr']}")
        need(facts["width"] == views["test"][index][1], f"{facts} of {views['test'][index]}")
    bad = {"shows=color&size=1,1": "size", "shows=nothing&size=64,48": "shows", "shows=error&size=64,48": "view", "shows=color&size=64,48&azimuth=nan": "azimuth",
           "shows=color&size=64,48&view=train:99999": "view", "shows=color&size=64,48&view=train:-1": "view", "shows=color&size=64,48&view=other": "view",
           "shows=color&size=64": "size", "shows=color&size=64,48&distance=1e300": "distance"}
    for more, word in bad.items():
        orbit = "".join(f"&{n}" for n in ["target=0.5,0.5,0.4", "azimuth=1", "elevation=0.5", "distance=1.5", "fov=1"] if n.split("=")[0] + "=" not in more)
        status, _, body = k.ask(f"/{k.token}/frame?client=a&{more}{orbit}")
        need(status == 400 and word.encode() in body and b"\n" not in body, f"{more}: {status}, {body}")
    k.end()


def mutated(klab, run, count):
    orbit = "target=0.5,0.5,0.4&azimuth=1&elevation=0.5&distance=1.5&fov=1"
    paths = ["", "state", "views", "photo?view=test:0&width=60", f"frame?client=a&shows=color&size=64,48&{orbit}", "frame?client=b&shows=error&view=train:1&size=64,48&exposure=1",
             "frame?client=c&shows=normals&view=test:0&size=64,48&low=0,0,0&high=1,1,0.5", "POST pause?on=0", "POST save"]
    small = ["--plan", f"{run}/plan.json", "--threads", 2]
    for what, command, code in [("view", ["view", run, *small], 0),
                                ("train", ["train", "built-in", "--downscale", 16, "--config", "small.json", *small, "--seconds", 3000, "--no-eval", "--out", "mutated", "--view", 7490], 130)]:
        k = Klab(klab, *command)
        until(k.ready, "it does not answer")
        try:
            mutated_requests.run(f"http://127.0.0.1:{k.port}/{k.token}/", k.process.pid, count, paths)
        except mutated_requests.Failed as failed:
            fail(f"klab {what}: {failed}\n{k.said}")
        if what == "train":
            k.get("pause?on=0", "POST")
            step = k.state()["step"]
            until(lambda: k.state()["step"] > step, "it trains no more after mutated requests")
        need(k.frame("after"), f"klab {what} shows nothing after mutated requests")
        k.end(code=code)


def page(klab, run):
    if not chromium():
        print("SKIPPED: no chromium here: the page was not opened")
        sys.exit(77)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        k = Klab(klab, "view", run, "--plan", f"{run}/plan.json", "--threads", 2)
        until(k.ready, "it does not answer")
        b = Browser(folder)
        b.open(f"http://127.0.0.1:{k.port}/{k.token}/")
        until(lambda: re.search(r"\d+ × \d+", b.text("caption")), "no picture")
        need(b.text("phase") == "trained model", f"phase {b.text('phase')!r}")
        for name, least in {"#camera option": 4, "#curves polyline": 2, "#stages .stage": 3, "#crop input": 6}.items():
            need(b.value(f"document.querySelectorAll('{name}').length") >= least, f"too few of {name}")

        # Mouse, keys, wheel and touch move the camera, and another picture follows.
        def moves(what, act, names):
            before, shown = b.value("({...klab.camera, x: klab.camera.target[0]})"), b.value("klab.shown.key")
            act()
            after = until(lambda: (now := b.value("({...klab.camera, x: klab.camera.target[0]})")) != before and now, f"{what} does not move the camera")
            need(all(after[n] != before[n] for n in names), f"{what} does not change {names}: {before}, {after}")
            until(lambda: b.value("klab.shown.key") != shown, f"{what}: no other picture")

        box = b.value("(r => [r.left + r.width / 2, r.top + r.height / 2])(document.getElementById('view').getBoundingClientRect())")
        x, y = int(box[0]), int(box[1])

        def drag(modifiers=0):
            b.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", buttons=1, clickCount=1, modifiers=modifiers)
            b.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + 60, y=y + 25, button="left", buttons=1, modifiers=modifiers)
            b.call("Input.dispatchMouseEvent", type="mouseReleased", x=x + 60, y=y + 25, button="left", buttons=0, clickCount=1, modifiers=modifiers)

        def key(name, modifiers=0):
            for kind in ["keyDown", "keyUp"]:
                b.call("Input.dispatchKeyEvent", type=kind, key=name, modifiers=modifiers)

        def touch(*steps):
            for kind, points in steps:
                b.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": px, "y": py, "id": i} for i, (px, py) in enumerate(points)])

        moves("a drag", drag, ["azimuth", "elevation"])
        moves("a drag with Shift", lambda: drag(8), ["x"])
        moves("an arrow", lambda: key("ArrowLeft"), ["azimuth"])
        moves("plus", lambda: key("+"), ["distance"])
        moves("the wheel", lambda: b.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=200), ["distance"])
        moves("a finger", lambda: touch(("touchStart", [(x, y)]), ("touchMove", [(x + 50, y + 20)]), ("touchEnd", [])), ["azimuth", "elevation"])
        moves("two fingers", lambda: touch(("touchStart", [(x - 40, y), (x + 40, y)]), ("touchMove", [(x - 90, y), (x + 90, y)]), ("touchEnd", [])), ["distance"])
        moves("Home", lambda: key("Home"), ["distance"])
        # How fine a picture gets at rest depends on the machine, and so does what it has while the camera moves.
        width = b.value("klab.shown.width")
        until(lambda: "of" not in b.text("caption") or b.value("klab.shown.width") > width, "a picture at rest does not get finer")

        # A test view next to its own picture, and its error.
        b.value("(c => { c.value = 'test:0'; c.dispatchEvent(new Event('change')); })(document.getElementById('camera'))")
        until(lambda: "PSNR" in b.text("caption") and "test view 0" in b.text("photo-caption"), "no comparison with a test view")
        b.value("document.querySelector('input[value=error]').click()")
        until(lambda: "shows=error" in b.value("klab.shown.key"), "no picture of the error")
        need(not b.messages, f"the console has messages: {b.messages}")
        k.end()
        until(lambda: "has ended" in b.text("gone-title"), "the page does not tell that klab view has ended")

        # A trainer that is killed while a browser watches.
        k = Klab(klab, "train", "built-in", "--downscale", 16, "--config", "small.json", "--plan", f"{run}/plan.json", "--threads", 2, "--seconds", 3000, "--no-eval", "--out", "killed", "--view", 7460)
        until(k.ready, "it does not answer")
        b.messages.clear()
        b.go(f"http://127.0.0.1:{k.port}/{k.token}/")
        until(lambda: b.text("phase") == "training" and "step" in b.text("caption"), "no picture of a training")
        until(lambda: "Pictures take" in b.text("cost"), "the page does not show what pictures cost")
        # So early the learning rate reads the same at both ends: its curve must not look as if it fell to nothing.
        heights = "[...document.querySelectorAll('.curve')].filter(c => c.textContent.startsWith('learning rate')).flatMap(c => c.querySelector('polyline').getAttribute('points').split(' ').map(p => p.split(',')[1]))"
        until(lambda: len(b.value(heights)) > 2, "no curve of the learning rate")
        need(len(set(b.value(heights))) == 1, f"the curve of the learning rate is not level: {b.value(heights)}")
        b.value("document.getElementById('pause').click()")
        until(lambda: b.text("phase") == "paused", "the button does not pause")
        need(not b.messages, f"the console has messages while it trains: {b.messages}")
        k.process.kill()
        until(lambda: b.text("gone-title") == "klab no longer answers", "a killed trainer is not told")
        need("klab train --resume killed" in b.text("gone-commands"), f"no command: {b.text('gone-commands')!r}")
        b.end()


def report(klab, page):
    """Sliders by mouse and keys, on paper and without scripts; nothing is loaded, and narrow windows need not be scrolled."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        bare = os.path.join(folder, "bare.html")
        text = open(page, encoding="utf-8").read()
        open(bare, "w", encoding="utf-8").write(re.sub(r"<script>.*?</script>", "", text, flags=re.S))
        b = Browser(os.path.join(folder, "profile"))
        b.open("file://" + os.path.abspath(page))
        need(b.value("performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.startsWith('data:'))") == [], "the report loads something")
        need(b.value("document.querySelectorAll('.compare input').length") >= 2, "there are no sliders")
        b.value("document.querySelector('.compare').scrollIntoView({block: 'center'}); document.querySelector('.compare input').focus()")
        shown = "[document.querySelector('.compare input').value, getComputedStyle(document.querySelector('.compare .model')).clipPath]"

        def at(percent):
            return [str(percent), f"inset(0px 0px 0px {percent}%)"]

        need(b.value(shown) == at(50), f"a slider begins at {b.value(shown)}")
        for kind in ["keyDown", "keyUp"]:
            b.call("Input.dispatchKeyEvent", type=kind, key="ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39)
        until(lambda: b.value(shown) == at(51), "a key does not move the slider")
        left, top, width, height = b.value("(r => [r.left, r.top, r.width, r.height])(document.querySelector('.compare .pair').getBoundingClientRect())")
        for kind, share in [("mousePressed", 0.5), ("mouseMoved", 0.25), ("mouseReleased", 0.25)]:
            b.call("Input.dispatchMouseEvent", type=kind, x=left + share * width, y=top + height / 2, button="left", buttons=0 if kind == "mouseReleased" else 1, clickCount=1)
        until(lambda: abs(int(b.value(shown)[0]) - 25) <= 1 and b.value(shown) == at(b.value(shown)[0]), "a drag does not move the slider")
        sides = "['truth', 'model'].map(n => document.querySelector('.compare .' + n).getBoundingClientRect()).map(r => [r.left, r.right])"
        need(b.value(sides)[0] == b.value(sides)[1], "the two pictures do not lie on each other")
        need(b.value("document.querySelectorAll('.cameras svg').length") == 2 and b.value("document.querySelectorAll('.cameras .poor').length") >= 2, "no plot of the cameras")
        for width in [1400, 400]:
            b.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            need(b.value("document.documentElement.scrollWidth") <= width, f"the page is wider than a window of {width} pixels")

        def side_by_side(where):
            (_, left_ends), (right_begins, right_ends) = b.value(sides)
            need(left_ends <= right_begins < right_ends, f"{where} the pictures are not next to each other")
            need(b.value("getComputedStyle(document.querySelector('.compare input')).display") == "none", f"{where} there is a slider that does nothing")

        b.call("Emulation.setEmulatedMedia", media="print")
        side_by_side("on paper")
        b.call("Emulation.setEmulatedMedia", media="")
        b.go("file://" + bare)
        need(b.value("document.querySelectorAll('script').length") == 0, "the report without scripts has some")
        side_by_side("without scripts")
        need(not b.messages, f"the console has messages: {b.messages}")
        b.end()


def main():
    klab, what, *rest = sys.argv[1:]
    {"DOOR": door, "TRAINING": training, "SAME": same_model, "MODEL": model, "PAGE": page, "REPORT": report,
     "MUTATED": lambda k, run, count: mutated(k, run, int(count))}[what](klab, *rest)
    print(what.lower() + ": ok")


main()
