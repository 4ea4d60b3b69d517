# SPDX-License-Identifier: GPL-2.0-or-later
"""A headless Chromium, by its debugging pipe: one page, and all that it asks for or complains about."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find():
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, width=1280, height=1000, *options):
        self.home = tempfile.TemporaryDirectory()
        to, self.write = os.pipe()
        self.read, back = os.pipe()
        command = [find(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--disable-background-networking", "--no-first-run", "--remote-debugging-pipe",
                   f"--window-size={width},{height}", "--user-data-dir=" + self.home.name, *options,
                   "about:blank"]

        def pipes():
            # The ends may be numbered 3 and 4 themselves.
            a, b = os.dup(to), os.dup(back)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(command, preexec_fn=pipes, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to)
        os.close(back)
        self.last, self.buffer, self.events, self.session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.write)  # the end of the pipe ends it
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.read)
        self.home.cleanup()

    def message(self):
        while b"\0" not in self.buffer:
            assert select.select([self.read], [], [], 60)[0], "the browser says nothing"
            data = os.read(self.read, 1 << 20)
            assert data, "the browser has gone"
            self.buffer += data
        one, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(one)

    def call(self, method, **params):
        self.last += 1
        request = {"id": self.last, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.write, data):]
        while True:
            got = self.message()
            if got.get("id") == self.last:
                assert "error" not in got, f"{method}: {got.get('error')}"
                return got["result"]
            self.events.append(got)

    def open(self, path):
        self.events.clear()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.message())
        time.sleep(0.2)  # what comes late
        self.call("Page.getFrameTree")

    def run(self, script):
        got = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in got, got.get("exceptionDetails")
        return got["result"].get("value")

    def look(self, **features):
        """Emulates what a style sheet asks about: prefers_color_scheme='dark'."""
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": k.replace("_", "-"), "value": v} for k, v in features.items()])

    def picture(self, width, height=None):
        """A PNG of the page at a width, all of it unless a height is given."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height or 1000, deviceScaleFactor=1,
                  mobile=False)
        return base64.b64decode(self.call("Page.captureScreenshot", format="png",
                                          captureBeyondViewport=not height)["data"])

    def key(self, name, text=""):
        """A key, down and up: "Tab", "Enter" (with "\\r"), " " (with " "), "ArrowDown"."""
        code = {"Tab": 9, "Enter": 13, " ": 32, "ArrowDown": 40, "ArrowUp": 38}[name]
        for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code="Space" if name == " " else name,
                      windowsVirtualKeyCode=code, text=text if kind == "keyDown" else "")

    def paper(self, width=None):
        """As it is laid out on paper of that width in pixels; None: on a screen again."""
        self.call("Emulation.setEmulatedMedia", media="print" if width else "")
        if width:
            self.call("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False)

    def pdf(self):
        """The page on paper, as its style sheet has it, without colours of backgrounds."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])

    def requests(self):
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def complaints(self):
        """What is on the console, errors of scripts, what the policy refused."""
        return [e for e in self.events if e.get("method") in (
            "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")]
