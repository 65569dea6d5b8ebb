#!/usr/bin/env python3
"""Carries connections to another port, and breaks all of them at once when told to.

    tests/kubernetes/relay.py FROM-PORT TO-PORT

TO-PORT may be a file that holds it, and may change it. SIGUSR1 cuts what is open; new connections are
carried as before.
"""
import os
import selectors
import signal
import socket
import sys

pairs, selector = {}, selectors.DefaultSelector()
told = []


def drop(s):
    for one in (s, pairs.get(s)):
        if one in pairs:
            del pairs[one]
            selector.unregister(one)
            one.close()


def accept(listener, to):
    here, _ = listener.accept()
    try:
        port = open(to, encoding="ascii").read() if os.path.exists(to) else to
        there = socket.create_connection(("127.0.0.1", int(port)))
    except OSError:
        here.close()
        return
    for one, other in ((here, there), (there, here)):
        pairs[one] = other
        selector.register(one, selectors.EVENT_READ)


def carry(s):
    try:
        data = s.recv(1 << 16)
        if data:
            pairs[s].sendall(data)
            return
    except OSError:
        pass
    drop(s)


def main():
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    selector.register(listener, selectors.EVENT_READ)
    signal.signal(signal.SIGUSR1, lambda *_: told.append(True))
    while True:
        while told:
            told.pop()
            for s in list(pairs):
                drop(s)
        for key, _ in selector.select(0.1):
            if key.fileobj is listener:
                accept(listener, sys.argv[2])
            elif key.fileobj in pairs:
                carry(key.fileobj)


main()
