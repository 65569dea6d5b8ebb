"""Tests in one file each: TAP on standard output, one line per test, its failure after it."""
import sys
import traceback

TESTS = []


class Skip(Exception):
    """Why a test cannot be done here."""


def test(function):
    TESTS.append(function)
    return function


def expect(good, *said):
    if not good:
        raise AssertionError(" ".join(str(word) for word in said) or "not so")


def main(*arguments):
    failed = 0
    for number, function in enumerate(TESTS, 1):
        name = function.__name__.replace("_", " ")
        try:
            function(*arguments)
            print(f"ok {number} - {name}")
        except Skip as why:
            print(f"ok {number} - {name} # SKIP {why}")
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} - {name}")
            print("\n".join("# " + line for line in traceback.format_exc().splitlines()[-8:]))
        sys.stdout.flush()
    print(f"1..{len(TESTS)}")
    sys.exit(failed > 0)
