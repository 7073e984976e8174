#!/usr/bin/env python3
"""Mutated requests to a page of klab, from a fixed seed, and strangers that hold on to connections.

  mutated_requests.py ADDRESS PID COUNT PATH...      PATH: behind the token, "POST save" for another method

What is sent is read here by rules of its own: where the whole of it names neither the token nor this host, no byte of content may come
back. The server must answer after it, with the memory and the open files that it had.
"""
import os, random, re, socket, sys, time, urllib.parse

PATIENCE = 120  # seconds until a test gives up; nothing depends on how fast this machine is
OUTSIDE = b"root:x:0"  # how a file that no request may reach begins


class Failed(Exception):
    pass


def need(true, words):
    if not true:
        raise Failed(words)


def replies_of(got):
    """Splits what a server sent into (status, head, body); the last one may be cut off."""
    replies = []
    while got:
        head, end, rest = got.partition(b"\r\n\r\n")
        need(head.startswith(b"HTTP/1.1 ") and head[9:12].isdigit(), f"no reply of HTTP: {got[:80]!r}")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        size = int(length[1]) if length else 0
        replies.append((int(head[9:12]), head, rest[:size]))
        got = rest[size:] if end else b""
    return replies


class Page:
    """A page of klab, and strangers that ask for it."""

    def __init__(self, address, pid, paths):
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", address)
        need(found, f"no address of a page: {address}")
        self.port, self.token, self.pid = int(found[1]), found[2], pid
        self.host = f"127.0.0.1:{self.port}"
        self.good = []
        for path in paths:
            method, _, path = path.rpartition(" ")
            self.good.append(self.request(path, method or "GET"))

    def request(self, path, method="GET", host=None, token=None, close=True):
        token = self.token if token is None else token
        body = "none" if method == "POST" else ""
        return (f"{method} /{token}/{path} HTTP/1.1\r\nHost: {host or self.host}\r\n" + ("Connection: close\r\n" if close else "") +
                (f"Content-Length: {len(body)}\r\n" if body else "") + "\r\n" + body).encode()

    def knows(self, data):
        """Returns whether bytes name the token and this host, however they do it."""
        plain = urllib.parse.unquote_to_bytes(data)
        hosts = re.findall(rb"(?i)host[ \t]*:[ \t]*([^\r\n]*)", data)
        return self.token.encode() in plain and any(h.strip() in (self.host.encode(), f"localhost:{self.port}".encode()) for h in hosts)

    def raw(self, data, patience=PATIENCE, more_patience=PATIENCE):
        """Sends bytes as they are, and returns what comes back until the server closes or a time is over."""
        got = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=patience) as s:
            try:
                s.sendall(data)
                while more := s.recv(65536):
                    got += more
                    s.settimeout(more_patience)
            except OSError:
                pass  # the server may have closed it, or waits for the rest of a request
        return got

    def alive(self, when):
        try:
            os.kill(self.pid, 0)
            state = open(f"/proc/{self.pid}/stat").read().rpartition(")")[2].split()[0]
        except OSError:
            state = "Z"
        need(state != "Z", f"{when}: the process has ended")
        got = replies_of(self.raw(self.request("state")))
        need(len(got) == 1 and got[0][0] == 200 and got[0][2], f"{when}: no answer: {got}")

    def memory(self):
        """Returns the bytes of memory that the process has."""
        return 1024 * int(re.search(r"VmRSS:\s*(\d+)", open(f"/proc/{self.pid}/status").read())[1])

    def files(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


HEADERS = [b"Range: bytes=" + b"0-0," * 1500 + b"0-0\r\n", b"Range: bytes=-\r\n", b"Range: bytes=5-1\r\n", b"Range: bytes=" + b"1" * 8000 + b"-\r\n", b"Range: lines=1-2\r\n",
           b"Transfer-Encoding: chunked\r\n", b"Content-Length: 99999999999999999999\r\n", b"Content-Length: -1\r\n", b"Content-Length: 4\r\nContent-Length: 5\r\n",
           b"Expect: 100-continue\r\n", b"Accept-Encoding: gzip, br, deflate\r\n", b"Content-Type: multipart/form-data; boundary=\r\n", b"X: " + b"y" * 9000 + b"\r\n",
           b"X: 1\r\n" * 3000, b"X" * 100000 + b": 1\r\n", b" folded\r\n", b": no name\r\n", b"Upgrade: websocket\r\nConnection: Upgrade\r\n", b"Host: " + b"a" * 4000 + b"\r\n",
           b"Host: klab.example\r\n", b"Origin: http://klab.example\r\n", b"X-Forwarded-Host: klab.example\r\n"]
WORDS = [b"%", b"%00", b"%zz", b"..", b"/", b"//", b"?", b"&", b"=", b",", b"nan", b"inf", b"-1", b"1e999", b"9" * 400, b"\x00", b"\r\n", b"\n", b"\r\n\r\n", b"\xff\xfe", b" ",
         b"#", b"+", b"train:", b"18446744073709551616", b"A" * 10000, b"&client=" * 500]
METHODS = [b"HEAD", b"PUT", b"DELETE", b"PATCH", b"OPTIONS", b"TRACE", b"CONNECT", b"PRI", b"get", b"", b"X" * 300, b"GET GET", b"\x00"]
OUTWARD = ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "%252e%252e%252fetc%252fpasswd", "..%5c..%5cetc%5cpasswd", "%c0%ae%c0%ae/etc/passwd", "//etc/passwd",
           "/etc/passwd", "state/../../../etc/passwd", "./state", "..;/etc/passwd", "%00", "state%00.html", "file:///etc/passwd", "%2fetc%2fpasswd", "..", ".", "..%00/etc/passwd", "state/"]


def mutate(good, rng):
    data = bytearray(rng.choice(good))
    for _ in range(rng.choice([1, 1, 1, 2, 4, 12])):
        at, kind = rng.randrange(len(data) + 1), rng.randrange(8)
        if kind == 0:
            data[at:at + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            data[at:at] = rng.choice(WORDS)
        elif kind == 2:
            del data[at:at + rng.choice([1, 2, 8, 64])]
        elif kind == 3:
            del data[at:]
        elif kind == 4:
            data[at:at] = data[max(0, at - rng.randrange(1, 40)):at] * rng.choice([1, 2, 30])
        elif kind == 5:
            line = data.find(b"\r\n") + 2
            data[line:line] = rng.choice(HEADERS)
        elif kind == 6:
            data += rng.choice(good)
        else:
            data[0:data.find(b" ") if b" " in data else 1] = rng.choice(METHODS)
        if not data:
            data = bytearray(b"\r\n")
    return bytes(data)


def wrong_token(page, rng):
    t = page.token
    at = rng.randrange(len(t))
    return rng.choice([t[:at] + ("0" if t[at] != "0" else "1") + t[at + 1:], t[:at], t + "0", "0" * 32, "", t[::-1] + "x", "%00", "x/" + t[:31], t[:16] + "/" + t[16:], t[:31] + "%"])


def wrong_host(page, rng):
    return rng.choice(["klab.example", f"klab.example:{page.port}", "127.0.0.1:1", f"127.0.0.1.klab.example:{page.port}", f"127.0.0.2:{page.port}", f"[::1]:{page.port}", f"0.0.0.0:{page.port}",
                       "127.0.0.1", "localhost", f"{page.host}.", f"x@{page.host}", f"{page.host}/", "%31", f"2130706433:{page.port}"])


def strangers(page, rng):
    """Returns requests that lack the token, or name another host."""
    paths = [g.split(b" ", 2)[1].decode().split("/", 2)[2] for g in page.good]
    if rng.randrange(2):
        return page.request(rng.choice(paths), rng.choice(["GET", "GET", "POST"]), token=wrong_token(page, rng))
    return page.request(rng.choice(paths), rng.choice(["GET", "GET", "POST"]), host=wrong_host(page, rng))


def send(page, data, kinds, kind, ends=False):
    """`ends`: the server closes the connection after its answers. A request whose head has no end is waited for by the server."""
    got = page.raw(data) if ends else page.raw(data, 6 if b"\r\n\r\n" in data else 0.02, 0.01)
    need(OUTSIDE not in got, f"served a file: {data[:200]!r}")
    replies = replies_of(got)
    if not page.knows(data):
        for status, head, body in replies:
            need(body == b"" and status >= 400 and b"X-Klab" not in head, f"status {status} and {len(body)} bytes of content for a stranger: {data[:300]!r}")
    name = str(replies[0][0]) if replies else "none"
    kinds[kind] = kinds.get(kind, {})
    kinds[kind][name] = kinds[kind].get(name, 0) + 1
    return replies


def pipelined(page, rng, kinds):
    """Requests one after the other on a connection: the first that is refused is the last that is answered."""
    wanted = [rng.choice([200, 200, 403]) for _ in range(rng.randrange(2, 6))]
    data = b""
    for i, status in enumerate(wanted):
        wrong = {} if status == 200 else rng.choice([{"host": "klab.example"}, {"token": "0" * 32}])
        data += page.request("state", close=i + 1 == len(wanted), **wrong)
    if 403 in wanted:
        wanted = wanted[:wanted.index(403) + 1]
    replies = [(status, body != b"") for status, _, body in send(page, data, kinds, "pipelined", ends=True)]
    need(replies == [(status, status == 200) for status in wanted], f"{replies} instead of {wanted}")


def hold_on(page, slowly):
    """Strangers that send lines without an end, keep connections, and if `slowly` send a request byte by byte."""
    page.alive("before strangers hold on")
    before = page.memory()
    for begin in [b"", b"GET /" + page.token.encode() + b"/", b"GET / HTTP/1.1\r\nX: ", b"GET / HTTP/1.1\r\n"]:
        with socket.create_connection(("127.0.0.1", page.port), timeout=PATIENCE) as s:
            sent, line = 0, b"X: y\r\n" * 4000 if begin.endswith(b"\n") else b"y" * 24000
            try:
                s.sendall(begin)
                while sent < 64_000_000:
                    s.sendall(line)
                    sent += len(line)
            except OSError:
                pass
            need(sent < 32_000_000, f"{sent} bytes of a request were taken")
    need(page.memory() < before + 24_000_000, f"{before} bytes of memory became {page.memory()}")
    files = page.files()
    held = []
    for _ in range(600):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(("127.0.0.1", page.port))
        held.append(s)
    end, most = time.monotonic() + 1, 0
    while time.monotonic() < end:
        most = max(most, page.files())
        time.sleep(0.02)
    need(most < files + 200, f"{most} open files for connections that ask for nothing")
    for s in held:
        s.close()
    page.alive("after connections that asked for nothing")
    if slowly:
        with socket.create_connection(("127.0.0.1", page.port), timeout=PATIENCE) as s:
            end = time.monotonic() + PATIENCE
            s.sendall(b"GET / HTTP/1.1\r\nX: ")
            try:
                while time.monotonic() < end:
                    s.sendall(b"y")
                    time.sleep(0.5)
            except OSError:
                pass
            need(time.monotonic() < end, f"a request byte by byte is waited for longer than {PATIENCE} s")


def run(address, pid, count, paths):
    """Sends them; raises Failed. Prints what came back."""
    page, rng, kinds = Page(address, pid, paths), random.Random(20), {}
    page.alive("before the first request")
    for i in range(count):
        kind = rng.randrange(8)
        if kind < 2:
            send(page, mutate(page.good, rng), kinds, "mutated")
        elif kind == 2:
            send(page, strangers(page, rng), kinds, "strangers")
        elif kind == 3:
            send(page, mutate([strangers(page, rng)], rng), kinds, "mutated strangers")
        elif kind == 4:
            send(page, rng.randbytes(rng.randrange(1, 3000)) + rng.choice([b"", b"\r\n\r\n"]), kinds, "random bytes")
        elif kind == 5:
            path = rng.choice(OUTWARD)
            for status, _, body in send(page, page.request(path), kinds, "outward"):
                need(status in (400, 404, 414) and len(body) < 40, f"{path}: status {status}, {body[:80]!r}")
        elif kind == 6:
            good = rng.choice(page.good)
            line = good.find(b"\r\n") + 2
            send(page, good[:line] + rng.choice(HEADERS) + good[line:], kinds, "odd headers")
        else:
            pipelined(page, rng, kinds)
        if i % 50 == 49:
            page.alive(f"after request {i}")
    hold_on(page, count > 1000)
    replies = {status for statuses in kinds.values() for status in statuses}
    need({"200", "400", "403", "404"} <= replies, f"the mutations are too weak or too strong: {kinds}")
    for kind, statuses in sorted(kinds.items()):
        print(f"{sum(statuses.values())} {kind}: {dict(sorted(statuses.items()))}")


if __name__ == "__main__":
    try:
        run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    except Failed as failed:
        print(f"FAILED: {failed}")
        sys.exit(1)
