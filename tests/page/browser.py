"""Drives a real browser (Debian's chromium, headless) by its own protocol over a pipe: no other software is
needed. One Browser has one tab; everything it logs or asks the network for is kept for the tests to judge.
"""
import base64
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
         "--disable-default-apps", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
         "--no-default-browser-check", "--force-color-profile=srgb", "--remote-debugging-pipe"]


def find():
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Failed(Exception):
    pass


class Browser:
    def __init__(self, width=1280, height=800):
        self.profile = tempfile.mkdtemp(prefix="grove-page-")
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()

        def hand_over():
            os.dup2(theirs_in, 1003)
            os.dup2(theirs_out, 1004)
            os.dup2(1003, 3)
            os.dup2(1004, 4)
            os.closerange(5, 1005)

        self.process = subprocess.Popen(
            [find(), *FLAGS, f"--user-data-dir={self.profile}", f"--window-size={width},{height}", "about:blank"],
            preexec_fn=hand_over, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(theirs_in)
        os.close(theirs_out)
        self.out = os.fdopen(ours_out, "wb", buffering=0)
        self.input = os.fdopen(ours_in, "rb", buffering=0)
        self.answers, self.number = queue.Queue(), 0
        self.console, self.requests, self.dialogs = [], [], []
        threading.Thread(target=self._read, daemon=True).start()
        self.session = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Network", "Log":
            self.send(f"{domain}.enable")
        self.size(width, height)

    def _read(self):
        rest = b""
        while True:
            try:
                data = self.input.read(1 << 16)
            except (OSError, ValueError):
                return
            if not data:
                return
            *messages, rest = (rest + data).split(b"\0")
            for text in messages:
                self._take(json.loads(text))

    def _take(self, message):
        what, params = message.get("method"), message.get("params", {})
        if what is None:
            self.answers.put(message)
        elif what == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.console.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif what == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description") or details["text"])
        elif what == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.console.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))
        elif what == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif what == "Page.javascriptDialogOpening":
            self.dialogs.append(params["message"])
            threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        self.number += 1
        self._write({"id": 1_000_000 + self.number, "method": "Page.handleJavaScriptDialog",
                     "params": {"accept": True}, "sessionId": self.session})

    def _write(self, message):
        self.out.write(json.dumps(message).encode() + b"\0")

    def send(self, method, **params):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self._write(message)
        while True:
            answer = self.answers.get(timeout=30)
            if answer.get("id") != number:
                continue
            if "error" in answer:
                raise Failed(f"{method}: {answer['error']}")
            return answer["result"]

    def size(self, width, height, scale=1):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def theme(self, name):
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def open(self, url):
        self.send("Page.navigate", url=url)

    def run(self, script):
        result = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise Failed(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def wait(self, script, timeout=15):
        """Until the expression is true; its value. Raises Failed with what it was."""
        end, value = time.monotonic() + timeout, None
        while time.monotonic() < end:
            try:
                value = self.run(script)
            except Failed as e:
                value = e
            if value and not isinstance(value, Failed):
                return value
            time.sleep(0.05)
        raise Failed(f"not within {timeout} s: {script} (is {value!r})")

    def click(self, selector):
        self.wait(f"!!document.querySelector({json.dumps(selector)})")
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def key(self, key):
        text = key if len(key) == 1 else None
        for kind in "keyDown", "keyUp":
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, **extra)

    def mouse(self, x, y, kind="mouseMoved"):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y,
                  **({"button": "left", "clickCount": 1} if kind != "mouseMoved" else {}))

    def screenshot(self, path):
        data = self.send("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def close(self):
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.out.close()
        shutil.rmtree(self.profile, ignore_errors=True)
