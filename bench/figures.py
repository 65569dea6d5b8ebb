"""What bench/run and bench/budgets share: building the programs and counting with callgrind.

A figure is instructions per operation. Callgrind runs a program once and writes one part per case
(see case.h). The C library picks its string functions by the processor's features; they are held at
the architecture's baseline here, so that the same compiler and library count the same everywhere.
"""
import concurrent.futures
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent
POD = HERE / "data" / "pod.json"
PROGRAMS = ["bench/bench-micro", "bench/bench-plane"]
JSON = "src/json/bench-json"
JSON_OPS = {"json-parse": "parse", "json-serialise": "serialise", "json-read-5": "read",
            "json-edit": "edit"}
JSON_ROUNDS = 20
BASELINE = "glibc.cpu.hwcaps=" + ",".join(
    "-" + cap for cap in ("SSSE3", "SSE4_1", "SSE4_2", "AVX", "AVX2", "AVX_Fast_Unaligned_Load",
                          "AVX512F", "AVX512VL", "AVX512BW", "ERMS", "FSRM", "BMI2", "MOVBE"))


class Broken(Exception):
    """A program that did not build or run; the text says which and why."""


def has_valgrind():
    return shutil.which("valgrind") is not None


def key(build):
    """gcc-12-x86_64: what instruction counts depend on."""
    compiler = run([os.path.join(build, PROGRAMS[0]), "--compiler"])[0].strip()
    return f"{compiler}-{platform.machine()}"


def why_not_comparable(build):
    """Counts are of -O2 without instrumentation; None when BUILD is that."""
    options = {o["name"]: o["value"]
               for o in json.loads(run(["meson", "introspect", "--buildoptions", build])[0])}
    if options["sanitize"]:
        return "built with sanitizers"
    if options["optimization"] != "2":
        return f"built with -O{options['optimization']}"
    return None


def place(build, name):
    """Where in BUILD the program of that name is made."""
    for target in json.loads(run(["meson", "introspect", "--targets", build])[0]):
        if target["name"] == name and target["type"] == "executable":
            return os.path.relpath(target["filename"][0], os.path.abspath(build))
    raise Broken(f"{build} knows no program {name}")


def make(build, *programs):
    """Builds them, or all that is counted. Nothing else in BUILD is touched."""
    done = subprocess.run(["ninja", "-C", build, *(programs or [*PROGRAMS, JSON])],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise Broken(done.stdout.decode("utf-8", "replace")[-4000:])


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          timeout=300, **more)
    if done.returncode != 0:
        raise Broken(f"{' '.join(command)}: exit {done.returncode}\n"
                     + done.stderr.decode("utf-8", "replace")[-2000:])
    return done.stdout.decode(), done.stderr.decode("utf-8", "replace")


def callgrind(out, command, *options):
    env = dict(os.environ, GLIBC_TUNABLES=BASELINE)
    return run(["valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=bench_op",
                f"--callgrind-out-file={out}", *options, *command], env=env)


def listed(program):
    """(name, operations per call, calls) of each case, in the order they run."""
    cases = []
    for line in run([program, "--list"])[0].splitlines():
        name, units, calls = line.split()
        cases.append((name, int(units), int(calls)))
    return cases


def count_cases(program):
    """{case: instructions} of a program written to case.h."""
    counts = {}
    with tempfile.TemporaryDirectory(prefix="grove-bench-") as folder:
        out = os.path.join(folder, "part")
        callgrind(out, [program], "--dump-after=bench_end")
        for number, (name, units, calls) in enumerate(listed(program), 1):
            text = pathlib.Path(f"{out}.{number}").read_text(encoding="utf-8")
            total = int(re.search(r"^totals: (\d+)", text, re.M).group(1))
            counts[name] = total // (units * calls)
    return counts


def count_json(program, name):
    """Ours of bench-json, one operation."""
    command = [program, "grove", JSON_OPS[name], str(JSON_ROUNDS), str(POD)]
    text = callgrind("/dev/null", command)[1]
    total = int(re.search(r"Collected : (\d+)", text).group(1))
    return {name: total // JSON_ROUNDS}


def count_all(build):
    """{case: instructions per operation} of everything, in a fixed order."""
    counts = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(count_json, os.path.join(build, JSON), name) for name in JSON_OPS]
        jobs += [pool.submit(count_cases, os.path.join(build, p)) for p in PROGRAMS]
        for job in jobs:
            counts.update(job.result())
    return counts


def wall_all(build):
    """{case: nanoseconds per operation} of the programs written to case.h."""
    figures = {}
    for program in PROGRAMS:
        for line in run([os.path.join(build, program), "--wall"])[0].splitlines():
            name, nsec = line.split()
            figures[name] = float(nsec)
    return figures
