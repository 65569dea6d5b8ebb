#!/usr/bin/env python3
"""A kubelet's server without a kubelet: TLS with a client certificate asked for, logs, exec and port-forward as a
container runtime would answer them, over SPDY/3.1 and WebSocket.

kubelet.py PORT CERT KEY CLIENT-CA: serves at 127.0.0.1:PORT (0: a free one, printed) until it is killed. What it is
asked goes to standard output, one line each.

    log      container "many" has 200,000 lines, "wait" is still starting, "follow" says a line every 0.2 s,
             others say which log was asked for
    exec     runs the command on this machine (tests only ever ask for echo, cat, sh); its streams are those of SPDY
    portforward   copies what it gets in upper case
"""
import base64, hashlib, os, socket, ssl, struct, subprocess, sys, threading, time, urllib.parse, zlib


def say(*words):
    print(*words, flush=True)


class Stop(Exception):
    pass


class Wire:
    """One connection: buffered reads, locked writes."""

    def __init__(self, sock):
        self.sock, self.data, self.lock = sock, b"", threading.Lock()

    def line(self):
        while b"\r\n" not in self.data:
            self.more()
        line, self.data = self.data.split(b"\r\n", 1)
        return line

    def more(self):
        got = self.sock.recv(65536)
        if not got:
            raise Stop
        self.data += got

    def exactly(self, n):
        while len(self.data) < n:
            self.more()
        got, self.data = self.data[:n], self.data[n:]
        return got

    def send(self, data):
        with self.lock:
            self.sock.sendall(data)


# ---- SPDY/3.1, as much of it as Kubernetes uses ----

WORDS = """options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age
allow authorization cache-control connection content-base content-encoding content-language content-length
content-location content-md5 content-range content-type date etag expect expires from host if-match if-modified-since
if-none-match if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate
proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning
www-authenticate method get status""".split()


def dictionary():
    out = b"".join(struct.pack(">I", len(w)) + w.encode() for w in WORDS)
    out += b"\0\0\0\x06" + b"200 OK" + b"\0\0\0\x07version\0\0\0\x08HTTP/1.1\0\0\0\x03url\0\0\0\x06public\0\0\0\x0aset-cookie"
    out += b"\0\0\0\x0akeep-alive\0\0\0\x06origin"
    out += (b"100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
            b"203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
            b"404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept "
            b"Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,"
            b"application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8"
            b"charset=iso-8859-1,utf-,*,enq=0.")
    return out


class Spdy:
    def __init__(self, wire):
        self.wire = wire
        self.unzip = zlib.decompressobj(zdict=dictionary())
        self.zip = zlib.compressobj(zdict=dictionary())

    def frame(self):
        """(type, stream, flags, headers or data)"""
        head = self.wire.exactly(8)
        flags, length = head[4], int.from_bytes(head[5:8], "big")
        body = self.wire.exactly(length)
        if not head[0] & 0x80:
            return "data", struct.unpack(">I", head[:4])[0], flags, body
        kind = struct.unpack(">H", head[2:4])[0]
        if kind == 1:  # SYN_STREAM
            return "open", struct.unpack(">I", body[:4])[0], flags, self.headers(body[10:])
        if kind == 6:  # PING
            self.wire.send(head + body)
        return {3: "reset", 7: "goaway"}.get(kind, "other"), struct.unpack(">I", body[:4])[0], flags, body[4:]

    def headers(self, block):
        text = self.unzip.decompress(block)
        count, at, out = struct.unpack(">I", text[:4])[0], 4, {}
        for _ in range(count):
            pair = []
            for _ in range(2):
                n = struct.unpack(">I", text[at:at + 4])[0]
                pair.append(text[at + 4:at + 4 + n].decode())
                at += 4 + n
            out[pair[0].lower()] = pair[1]
        return out

    def accept(self, stream):
        block = self.zip.compress(struct.pack(">I", 0)) + self.zip.flush(zlib.Z_SYNC_FLUSH)
        body = struct.pack(">I", stream) + block
        self.wire.send(b"\x80\x03\x00\x02\x00" + len(body).to_bytes(3, "big") + body)

    def data(self, stream, data, last=False):
        for i in range(0, max(len(data), 1), 16384):
            piece = data[i:i + 16384]
            end = last and i + 16384 >= len(data)
            self.wire.send(struct.pack(">I", stream) + bytes([1 if end else 0]) + len(piece).to_bytes(3, "big") + piece)


# ---- WebSocket, channels of v5.channel.k8s.io ----

class Channels:
    def __init__(self, wire):
        self.wire = wire

    def frame(self):
        """(channel, data); data None: the channel is closed; channel None: all is"""
        head = self.wire.exactly(2)
        op, n = head[0] & 15, head[1] & 127
        n = struct.unpack(">H", self.wire.exactly(2))[0] if n == 126 else struct.unpack(">Q", self.wire.exactly(8))[0] if n == 127 else n
        mask = self.wire.exactly(4)
        body = bytes(b ^ mask[i % 4] for i, b in enumerate(self.wire.exactly(n)))
        if op == 8:
            self.send(8, b"")
            return None, None
        if op == 9:
            self.send(10, body)
        if op != 2 or not body:
            return -1, b""
        return (body[1], None) if body[0] == 255 and len(body) == 2 else (body[0], body[1:])

    def send(self, op, body):
        n = len(body)
        size = bytes([n]) if n < 126 else b"\x7e" + struct.pack(">H", n) if n < 65536 else b"\x7f" + struct.pack(">Q", n)
        self.wire.send(bytes([0x80 | op]) + size + body)

    def data(self, channel, data):
        for i in range(0, len(data), 30000):
            self.send(2, bytes([channel]) + data[i:i + 30000])


# ---- what runs ----

def status_text(code):
    if code == 0:
        return b'{"metadata":{},"status":"Success"}'
    return (b'{"metadata":{},"status":"Failure","message":"command terminated with exit code %d","reason":"NonZeroExitCode",'
            b'"details":{"causes":[{"reason":"ExitCode","message":"%d"}]}}' % (code, code))


def pump(source, write):
    for data in iter(lambda: source.read1(65536), b""):
        write(data)


def run(query, wants_input, out, err, on_input):
    """Runs the command; on_input is given its standard input, in a thread of the caller's. Returns the exit code."""
    p = subprocess.Popen(query.get("command", ["true"]), stdin=subprocess.PIPE if wants_input else subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if wants_input:
        threading.Thread(target=on_input, args=(p.stdin,), daemon=True).start()
    pumps = [threading.Thread(target=pump, args=a) for a in ((p.stdout, out), (p.stderr, err))]
    for t in pumps:
        t.start()
    for t in pumps:
        t.join()
    return p.wait()


def exec_spdy(wire, query):
    spdy, streams = Spdy(wire), {}
    want = {"error", "stdout", "stderr"} if "stdin" not in query and "input" not in query else {"error", "stdout", "stderr", "stdin"}
    while not want <= set(streams):
        kind, stream, _, more = spdy.frame()
        if kind == "open":
            streams[more["streamtype"]] = stream
            spdy.accept(stream)

    def feed(stdin):
        try:
            while True:
                kind, stream, flags, data = spdy.frame()
                if kind == "data" and stream == streams["stdin"]:
                    if data:
                        stdin.write(data)
                        stdin.flush()
                    if flags & 1:
                        break
        except (Stop, OSError):
            pass
        stdin.close()

    code = run(query, "stdin" in want, lambda d: spdy.data(streams["stdout"], d), lambda d: spdy.data(streams["stderr"], d), feed)
    spdy.data(streams["stdout"], b"", True)
    spdy.data(streams["stderr"], b"", True)
    spdy.data(streams["error"], status_text(code), True)
    time.sleep(0.3)


def exec_channels(wire, query):
    ws = Channels(wire)

    def feed(stdin):
        try:
            while True:
                channel, data = ws.frame()
                if channel is None or (channel == 0 and data is None):
                    break
                if channel == 0:
                    stdin.write(data)
                    stdin.flush()
        except (Stop, OSError):
            pass
        stdin.close()

    code = run(query, "input" in query, lambda d: ws.data(1, d), lambda d: ws.data(2, d), feed)
    ws.data(3, status_text(code))
    ws.send(8, struct.pack(">H", 1000))
    time.sleep(0.3)


def forward_spdy(wire):
    spdy, data_streams, errors = Spdy(wire), set(), {}
    while True:
        kind, stream, flags, more = spdy.frame()
        if kind == "open":
            spdy.accept(stream)
            if more["streamtype"] == "data":
                data_streams.add(stream)
            else:
                errors[more["requestid"]] = stream
        elif kind == "data" and stream in data_streams:
            spdy.data(stream, more.upper(), bool(flags & 1))


# ---- requests ----

def logs(wire, parts, query):
    name = parts[3]
    if name == "wait":
        body = b'container "wait" in pod "p" is waiting to start: ContainerCreating'
        wire.send(b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        return
    wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = lambda d: wire.send(b"%x\r\n%s\r\n" % (len(d), d))
    if name == "many":
        for i in range(0, 200000, 1000):
            chunk(b"".join(b"line %d of a log that is long enough to fill every buffer on the way\n" % k for k in range(i, i + 1000)))
    elif name == "follow":
        for i in range(1000):
            chunk(b"tick %d\n" % i)
            time.sleep(0.2)
    else:
        options = " ".join(f"{k}={v[0]}" for k, v in sorted(query.items()))
        chunk(f"log of {'/'.join(parts[1:])} {options}\n".encode())
    wire.send(b"0\r\n\r\n")


def upgrade(wire, headers, parts, query):
    protocols = headers.get("sec-websocket-protocol", "")
    if headers.get("upgrade", "").lower() == "websocket":
        if "v5.channel.k8s.io" not in protocols or parts[0] == "portForward":
            wire.send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return
        accept = base64.b64encode(hashlib.sha1((headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        wire.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
                  + accept + b"\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n")
        exec_channels(wire, query)
    else:
        version = b"portforward.k8s.io" if parts[0] == "portForward" else b"v4.channel.k8s.io"
        wire.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\nX-Stream-Protocol-Version: " + version + b"\r\n\r\n")
        forward_spdy(wire) if parts[0] == "portForward" else exec_spdy(wire, query)


def serve(sock, tls):
    try:
        conn = tls.wrap_socket(sock, server_side=True)
        wire = Wire(conn)
        method, target, _ = wire.line().decode().split()
        headers = {}
        for line in iter(wire.line, b""):
            key, value = line.decode().split(":", 1)
            headers[key.lower()] = value.strip()
        cert = conn.getpeercert() or {}
        who = ",".join(f"{k}={v}" for rdn in cert.get("subject", ()) for k, v in rdn)
        say(method, target, who, "upgrade=" + headers.get("upgrade", "none"), "authorization=" + headers.get("authorization", "none"))
        path, _, text = target.partition("?")
        query, parts = urllib.parse.parse_qs(text), [urllib.parse.unquote(p) for p in path.strip("/").split("/")]
        if parts[0] == "containerLogs":
            logs(wire, parts, query)
        elif parts[0] == "switch":
            wire.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n%s\r\n" % (b"Upgrade: %s\r\n" % (b"x" * 100000) if "long" in query else b""))
        elif parts[0] in ("exec", "attach", "portForward"):
            upgrade(wire, headers, parts, query)
        else:
            body = wire.exactly(int(headers.get("content-length", 0)))
            body = f"{method} {target} {body.decode()}\n".encode()
            wire.send(b"HTTP/1.1 %d OK\r\nContent-Type: text/x-test\r\nContent-Length: %d\r\n\r\n%s" % (404 if parts[-1] == "none" else 200, len(body), body))
        try:
            conn.unwrap()
        except (OSError, ValueError):
            pass
        conn.close()
    except (Stop, OSError, ssl.SSLError) as e:
        say("broken", type(e).__name__, e)


def main():
    port, cert, key, ca = sys.argv[1:]
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    tls.load_verify_locations(ca)
    tls.verify_mode = ssl.CERT_REQUIRED
    s = socket.create_server(("127.0.0.1", int(port)))
    say("port", s.getsockname()[1])
    while True:
        threading.Thread(target=serve, args=(s.accept()[0], tls), daemon=True).start()


main()
