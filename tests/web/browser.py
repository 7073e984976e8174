"""Headless Chromium, told through a pipe what to do, and what its console says."""
import atexit, fcntl, json, os, shutil, subprocess, time

PATIENCE = 120  # seconds until a test gives up; nothing depends on how fast this machine is


class BrowserFailed(RuntimeError):
    pass


def chromium():
    """Returns the path of Chromium, None where it is not installed."""
    return shutil.which("chromium")


class Browser:
    def __init__(self, folder, *flags):
        """Starts Chromium with a profile in `folder`."""
        down, up = os.pipe(), os.pipe()
        there = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (down[0], up[1])]

        def connect():
            os.dup2(there[0], 3)
            os.dup2(there[1], 4)

        self.process = subprocess.Popen([chromium(), "--headless", "--no-sandbox", *(flags or ["--disable-gpu"]), "--disable-dev-shm-usage", f"--user-data-dir={folder}",
                                         "--remote-debugging-pipe", "about:blank"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=connect, close_fds=False)
        atexit.register(self.process.kill)
        for fd in [down[0], up[1], *there]:
            os.close(fd)
        self.out, self.into, self.number, self.session, self.rest, self.messages = down[1], up[0], 0, None, b"", []

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                more = os.read(self.into, 1 << 16)
                if not more:
                    raise BrowserFailed("the browser has ended")
                self.rest += more
            one, self.rest = self.rest.split(b"\0", 1)
            reply = json.loads(one)
            self.listen(reply)
            if reply.get("id") == self.number:
                if "error" in reply:
                    raise BrowserFailed(f"{method}: {reply['error']}")
                return reply["result"]

    def listen(self, event):
        """Keeps what the console shows: its messages, exceptions, and requests that fail or are forbidden."""
        params = event.get("params", {})
        if event.get("method") == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif event.get("method") == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.messages.append(details.get("exception", {}).get("description", details["text"]))
        elif event.get("method") == "Log.entryAdded":
            self.messages.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")

    def open(self, address, width=800, height=600):
        """Opens a window."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.resize(width, height)
        for events in ["Runtime.enable", "Log.enable"]:
            self.call(events)
        self.go(address)

    def go(self, address):
        """Opens an address in the same window, and waits until it is loaded."""
        self.value("window.klabPageBefore = true")
        self.call("Page.navigate", url=address)
        self.until("window.klabPageBefore === undefined && document.readyState === 'complete'", f"{address} is not loaded")

    def resize(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def value(self, expression):
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in got:
            raise BrowserFailed(f"{expression}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def text(self, name):
        return self.value(f"document.getElementById('{name}')?.textContent ?? ''")  # a page that is being loaded has none

    def until(self, expression, words):
        """Waits for a value that is true, and returns it."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if got := self.value(expression):
                    return got
            except BrowserFailed as failed:  # a page that is being left has no context
                if "context" not in str(failed):
                    raise
            time.sleep(0.05)
        raise BrowserFailed(f"{words} within {PATIENCE} s: {expression}")

    def end(self):
        self.process.kill()
        self.process.wait()
