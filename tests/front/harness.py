"""What tests of the commands share: a control plane, ways to run the program against it and to
compare what it says, and the loop over the tests (TAP).

What is drawn anew in every run (suffixes of pods, times, addresses) is replaced before comparing.
"""
import base64
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
GROVE = str(BUILD / "grove")
TESTS = []
TEMP = tempfile.TemporaryDirectory(prefix="grove-commands-")
WORK = pathlib.Path(TEMP.name)
os.environ["XDG_RUNTIME_DIR"] = str(WORK)
os.environ["HOME"] = str(WORK)
os.environ.pop("NO_COLOR", None)
os.environ.pop("KUBECONFIG", None)


class Skip(Exception):
    """Why a test cannot be done here."""


def test(function):
    TESTS.append(function)
    return function


def expect(good, *said):
    if not good:
        raise AssertionError(" ".join(str(word) for word in said))


def run(*command, **more):
    """(exit code, stdout, stderr)"""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=120,
                          universal_newlines=True, **({"stdin": subprocess.DEVNULL} | more))
    return done.returncode, done.stdout, done.stderr


def grove(*words, **more):
    return run(GROVE, *words, **more)


def plain(text):
    """Without what differs from run to run."""
    text = re.sub(r"(-(?:router|prefill|decode|worker))-[bcdfghjklmnpqrstvwxz2456789]{5}\b", r"\1-*",
                  text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", text)
    text = re.sub(r"fake-node-\d+", "NODE", text)
    return text.replace(str(WORK), "WORK")


def aged(text):
    """And without ages, which differ from call to call."""
    return re.sub(r"(?m)(?<= )(?:\d+[dhms])+(?= |$)", "AGE", plain(text))


def good(*words):
    code, out, err = grove(*words)
    expect(code == 0 and err == "", words, code, out, err)
    return plain(out)


def same(got, want):
    """want begins with a line break, as it is written below."""
    want = want.lstrip("\n")
    expect(got == want, f"\n--- got\n{got}--- want\n{want}")


def fails(words, code, said):
    """Nothing on stdout, one line on stderr."""
    got, out, err = grove(*words)
    expect(got == code, words, "exit", got, out, err)
    expect(out == "" and err.count("\n") == 1, words, out, err)
    expect(plain(err) == f"grove: {said}\n", words, plain(err))


def until(what, said, limit=30):
    end = time.monotonic() + limit
    while not what():
        expect(time.monotonic() < end, "never:", said)
        time.sleep(0.05)


# ---- manifests ----

def manifest(name, prefill="", replicas=2, least=1, router=""):
    file = WORK / f"{name}.yaml"
    file.write_text(f"""apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {{name: {name}}}
spec:
  replicas: 1
  template:
    cliqueStartupType: CliqueStartupTypeExplicit
    cliques:
    - name: router
      annotations: {{{router}}}
      spec:
        roleName: router
        replicas: 1
        podSpec: {{containers: [{{name: c, image: "r:1", resources: {{requests: {{cpu: 1}}}}}}]}}
    - name: prefill
      spec:
        roleName: prefill
        replicas: 2
        startsAfter: [router]
        podSpec:
          {prefill}
          containers: [{{name: c, image: "e:1", resources: {{limits: {{nvidia.com/gpu: 4}}}}}}]
    - name: decode
      spec:
        roleName: decode
        replicas: 1
        startsAfter: [router]
        podSpec:
          containers: [{{name: c, image: "e:1", resources: {{limits: {{nvidia.com/gpu: 8}}}}}}]
    podCliqueScalingGroups:
    - {{name: engine, cliqueNames: [prefill, decode], replicas: {replicas}, minAvailable: {least}}}
""", encoding="utf-8")
    return file


def is_available(name):
    return grove("status", name)[1].startswith(f"pcs/{name} available:")


def is_at_rest(name):
    """Numbers in status follow the pods within half a second; two looks further apart agree."""
    before = grove("tree", name, "-o", "json")[1]
    time.sleep(0.8)
    return grove("tree", name, "-o", "json")[1] == before


def deployed(name, **more):
    good("apply", "-f", manifest(name, **more))
    until(lambda: is_available(name), f"{name} available")
    until(lambda: is_at_rest(name), f"{name} at rest")


def removed(name):
    good("delete", "pcs", name)
    until(lambda: grove("get", "pods", "-o", "name")[1] == "", "all pods are gone")


def waits(name, said):
    until(lambda: said in grove("explain", name)[1], f"{name}: {said}")


def on_terminal(*words, **env):
    master, slave = pty.openpty()
    done = subprocess.Popen([GROVE, *words], stdin=slave, stdout=slave, stderr=slave,
                            env={**os.environ, "TERM": "xterm", **env})
    os.close(slave)
    text = b""
    try:
        while True:
            more = os.read(master, 65536)
            if not more:
                break
            text += more
    except OSError:
        pass
    done.wait()
    os.close(master)
    return text.decode()


# ---- who may not ----

STRANGER = 'User "system:serviceaccount:default:stranger"'


def account(name):
    """A kubeconfig of a service account of that name, which has no rights but those it is given."""
    file = WORK / f"{name}.yaml"
    file.write_text(f"""apiVersion: v1
kind: ServiceAccount
metadata: {{name: {name}}}
---
apiVersion: v1
kind: Secret
metadata: {{name: {name}, annotations: {{kubernetes.io/service-account.name: {name}}}}}
type: kubernetes.io/service-account-token
""", encoding="utf-8")
    good("apply", "-f", file)

    def data():
        return json.loads(grove("get", "secret", name, "-o", "json")[1]).get("data", {})
    until(lambda: "token" in data(), "the token")
    token = base64.b64decode(data()["token"]).decode()
    text = (WORK / "kubeconfig").read_text(encoding="utf-8")
    text = re.sub(r"client-certificate-data: .*", f"token: {token}", text)
    text = re.sub(r"\n *client-key-data: .*", "", text)
    (WORK / name).write_text(text, encoding="utf-8")
    return WORK / name


def stranger():
    """One that may do nothing."""
    return account("stranger")


def nowhere():
    """A kubeconfig of a server that is not there."""
    file = WORK / "nowhere"
    file.write_text((WORK / "kubeconfig").read_text(encoding="utf-8").replace(
        PLANE.said[0].split("https://")[1].strip(), "127.0.0.1:1"), encoding="utf-8")
    return file


# ---- a control plane ----

class Plane:
    def __init__(self, *words):
        self.process = subprocess.Popen(
            [GROVE, "up", "--listen", "127.0.0.1:0", "--kubeconfig", WORK / "kubeconfig", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        self.began = time.monotonic()
        self.said = []
        for line in self.process.stdout:
            self.said.append(line)
            if "Ctrl-C" in line:
                break
        self.took = time.monotonic() - self.began

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


PLANE = Plane()
os.environ["KUBECONFIG"] = str(WORK / "kubeconfig")


def main():
    """All of them, or those whose names were given behind BUILD."""
    chosen = [function for function in TESTS if not sys.argv[2:] or function.__name__ in sys.argv[2:]]
    print(f"1..{len(chosen)}")
    failed = 0
    for number, function in enumerate(chosen, 1):
        name = function.__name__
        try:
            function()
            print(f"ok {number} - {name}", flush=True)
        except Skip as why:
            print(f"ok {number} - {name} # SKIP {why}", flush=True)
        except (AssertionError, LookupError, OSError, ValueError, subprocess.SubprocessError) as why:
            failed += 1
            print(f"not ok {number} - {name}", flush=True)
            for line in str(why).splitlines():
                print(f"# {line}")
            for name in grove("get", "pcs", "-o", "name")[1].split():
                grove("delete", "pcs", name.split("/")[1])
    return 1 if failed else 0


def finish():
    """Runs all tests and ends the program."""
    try:
        code = main()
    finally:
        PLANE.stop()
        TEMP.cleanup()
    sys.exit(code)
