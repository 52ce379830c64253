#!/usr/bin/env python3
"""Many clients of the stream at once: how soon a change reaches them, what each takes of memory, and
how their return is spread after a restart.

    Benchmarks/EdgeBench/scripts/streams.py [CLIENTS] [CHANGES]

Needs release builds of adbrake and EdgeBench, and as many open files as clients.
"""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
BIN = os.environ.get("ADBRAKE_BIN", os.path.join(ROOT, ".build", "release"))
PORT = 18970
BASE = f"http://127.0.0.1:{PORT}"
CONNECTING_MAX = 500


class Client:
    __slots__ = ("socket", "tail", "retry", "isOpen", "seen", "backAt")

    def __init__(self):
        self.socket = None
        self.tail = b""
        self.retry = 1000
        self.isOpen = False
        self.seen = 0
        self.backAt = 0.0


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))] if values else float("nan")


def memory(pid):
    with open(f"/proc/{pid}/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return int(fields["VmRSS"].split()[0])


def start_edge(log, clients):
    edge = subprocess.Popen(
        [f"{BIN}/adbrake", "serve", "--listen", f"127.0.0.1:{PORT}", "--log", f"sqlite:{log}",
         "--streams", str(clients + 100)],
        stderr=subprocess.DEVNULL)
    end = time.time() + 20
    while time.time() < end:
        try:
            if urllib.request.urlopen(BASE + "/readyz", timeout=2).status == 200:
                return edge
        except OSError:
            time.sleep(0.05)
    sys.exit("the edge did not become ready")


class Crowd:
    def __init__(self, count):
        self.selector = selectors.EpollSelector()
        self.clients = [Client() for _ in range(count)]
        self.opened = 0
        self.refused = 0
        self.arrivals = {}
        self.ended = []

    def connect(self, client):
        client.socket = socket.socket()
        client.socket.setblocking(False)
        client.socket.connect_ex(("127.0.0.1", PORT))
        client.tail = b""
        client.isOpen = False
        self.selector.register(client.socket, selectors.EVENT_WRITE, client)

    def drop(self, client, now):
        self.selector.unregister(client.socket)
        client.socket.close()
        if client.isOpen:
            self.opened -= 1
        client.isOpen = False
        client.socket = None
        self.ended.append((now, client))

    def poll(self, wait):
        for key, events in self.selector.select(wait):
            client = key.data
            if events & selectors.EVENT_WRITE:
                error = client.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if error:
                    self.refused += 1
                    self.drop(client, time.time())
                    continue
                client.socket.send(b"GET /v1/stream HTTP/1.1\r\nHost: bench\r\n\r\n")
                self.selector.modify(client.socket, selectors.EVENT_READ, client)
                continue
            try:
                data = client.socket.recv(65536)
            except OSError:
                data = b""
            now = time.time()
            if not data:
                self.drop(client, now)
                continue
            text = client.tail + data
            if not client.isOpen and b"event: reset" in text:
                client.isOpen = True
                self.opened += 1
                start = text.find(b"retry: ")
                client.retry = int(text[start + 7:text.find(b"\n", start)])
            at = text.rfind(b'"app":"bench"')
            if at >= 0:
                at = text.find(b'"revision":', at)
                end = text.find(b",", at)
                if at >= 0 and end >= 0:
                    revision = int(text[at + 11:end])
                    if revision > client.seen:
                        client.seen = revision
                        self.arrivals.setdefault(revision, []).append(now)
            client.tail = text[-400:]

    def open_all(self):
        waiting = list(self.clients)
        began = time.time()
        while self.opened < len(self.clients):
            under_way = len(self.clients) - len(waiting) - self.opened
            for _ in range(min(len(waiting), max(0, CONNECTING_MAX - under_way))):
                self.connect(waiting.pop())
            self.poll(0.05)
            if self.ended or time.time() - began > 120:
                sys.exit(f"only {self.opened} streams opened, {len(self.ended)} ended")
        return time.time() - began


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    changes = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.db")
        subprocess.run([f"{BIN}/EdgeBench", "fleet", f"sqlite:{log}", "100"], check=True)
        edge = start_edge(log, count)
        try:
            run(edge, log, count, changes)
        finally:
            if edge.poll() is None:
                edge.kill()


def run(edge, log, count, changes):
    before = memory(edge.pid)
    crowd = Crowd(count)
    seconds = crowd.open_all()
    time_left = time.time() + 2
    while time.time() < time_left:
        crowd.poll(0.05)
    each = (memory(edge.pid) - before) / count
    print(f"{count} streams opened in {seconds:.1f} s; {each:.1f} kB of memory each")

    writer = subprocess.Popen(
        [f"{BIN}/EdgeBench", "changes", f"sqlite:{log}", str(changes), "1000"],
        stdout=subprocess.PIPE, text=True)
    end = time.time() + changes + 5
    while time.time() < end:
        crowd.poll(0.02)
    appended = {}
    for line in writer.stdout.read().splitlines():
        change = json.loads(line)
        appended[change["revision"]] = change["before"] / 1000
    delays = [
        at - appended[revision]
        for revision, times in crowd.arrivals.items() for at in times if revision in appended]
    missed = count * changes - len(delays)
    print(
        f"{changes} changes to {count} clients: p50 {1000 * percentile(delays, 0.5):.0f} ms, "
        f"p99 {1000 * percentile(delays, 0.99):.0f} ms, most {1000 * max(delays):.0f} ms after the "
        f"log was given them; {missed} not received")

    restart(crowd, edge, log, count)


def restart(crowd, edge, log, count):
    """Ends the edge and starts another; clients come back as their last `retry` says."""
    edge.send_signal(signal.SIGTERM)
    while edge.poll() is None or crowd.opened:
        crowd.poll(0.02)
    again = start_edge(log, count)
    try:
        returns = []
        for ended, client in crowd.ended:
            client.backAt = ended + client.retry / 1000
        first = min(client.backAt for _, client in crowd.ended)
        waiting = sorted((client for _, client in crowd.ended), key=lambda c: -c.backAt)
        crowd.ended = []
        end = time.time() + 60
        while (crowd.opened < count or waiting) and time.time() < end:
            while waiting and waiting[-1].backAt <= time.time():
                client = waiting.pop()
                returns.append(client.backAt)
                crowd.connect(client)
            crowd.poll(0.01)
        lasted = time.time() - first
        seconds = {}
        for at in returns:
            seconds[int(at - first)] = seconds.get(int(at - first), 0) + 1
        most = max(seconds.values())
        print(
            f"after a restart {crowd.opened} of {count} were back within {lasted:.1f} s; at most "
            f"{most} ({100 * most / count:.1f} %) came in one second; {crowd.refused} refused")
    finally:
        again.kill()


if __name__ == "__main__":
    main()
