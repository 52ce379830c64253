#!/usr/bin/env python3
"""How soon an edge answers otherwise, from the moment that the record which crosses the limit is sent
to the collector, while a fleet sends 20 000 events a second beside it.

    Benchmarks/EdgeBench/scripts/latency.py sqlite [PROBES] [RATE]
    Benchmarks/EdgeBench/scripts/latency.py kafka:HOST:PORT [PROBES] [RATE]   topics made before, 4 partitions or so

Needs a release build. The bound is tick + idle lag + 300 ms: 1000 + 500 + 300.
"""

import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
BIN = os.environ.get("ADBRAKE_BIN", os.path.join(ROOT, ".build", "release"))
POLICY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "policy.json")
COLLECT, EVALUATE, SERVE = 18974, 18975, 18976
AT_ONCE = 4
LOOK_SECONDS = 0.004
SESSIONS, CRASHES = 30, 14


def start(arguments, folder, name):
    log = open(os.path.join(folder, name + ".log"), "w")
    return subprocess.Popen([f"{BIN}/adbrake"] + arguments, stdout=log, stderr=log)


def wait(port, path="/livez"):
    end = time.time() + 60
    while time.time() < end:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.1)
    sys.exit(f"nothing answers on port {port}")


def post(connection, events):
    connection.request("POST", "/v1/events", json.dumps(events))
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 202:
        sys.exit(f"the collector answers {answer.status} {body}")


def crash(app, number):
    return {
        "type": "crash", "id": f"{app}-c{number}", "app": app, "session": f"{app}-s{number}",
        "device": f"d{number}", "kind": "signal"}


def state(connection, app):
    connection.request("GET", f"/v1/apps/{app}")
    return json.loads(connection.getresponse().read())["state"]


def prepare(apps, collector):
    connection = http.client.HTTPConnection("127.0.0.1", collector)
    for app in apps:
        sessions = [
            {"type": "session", "id": f"{app}-{n}", "app": app, "session": f"{app}-s{n}",
             "device": f"d{n}"} for n in range(SESSIONS)]
        post(connection, sessions + [crash(app, n) for n in range(CRASHES)])


def probe(apps, collector, edge, results):
    reports = http.client.HTTPConnection("127.0.0.1", collector)
    asks = http.client.HTTPConnection("127.0.0.1", edge)
    while True:
        try:
            app = apps.pop()
        except IndexError:
            return
        # At any moment of a tick.
        time.sleep(random.random())
        if state(asks, app) == "Halt":
            sys.exit("halted too soon")
        before = time.time()
        post(reports, [crash(app, CRASHES), crash(app, CRASHES + 1)])
        after = time.time()
        while state(asks, app) != "Halt":
            if time.time() - after > 30:
                sys.exit("it never halted")
            time.sleep(LOOK_SECONDS)
        results.append((time.time() - before, after - before))


def percentile(values, share):
    values = sorted(values)
    return 1000 * values[min(len(values) - 1, int(len(values) * share))]


def main():
    where = sys.argv[1] if len(sys.argv) > 1 else "sqlite"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    rate = int(sys.argv[3]) if len(sys.argv) > 3 else 20_000
    running = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            if where == "sqlite":
                log = f"sqlite:{folder}/log.db"
                running.append(start(
                    ["run", "--listen", f"127.0.0.1:{COLLECT}", "--log", log, "--policy", POLICY],
                    folder, "run"))
                collector = edge = COLLECT
            else:
                log = ["--log", where, "--instance", "latency"]
                for stage, port in [("collect", COLLECT), ("evaluate", EVALUATE), ("serve", SERVE)]:
                    more = ["--policy", POLICY] if stage == "evaluate" else []
                    running.append(start(
                        [stage, "--listen", f"127.0.0.1:{port}"] + log + more, folder, stage))
                collector, edge = COLLECT, SERVE
            wait(collector)
            wait(edge, "/readyz")
            running.append(start(
                ["traffic", "--collector", f"http://127.0.0.1:{collector}", "--rate", str(rate),
                 "--batch", "200", "--speed", "20", "--apps", "100", "--quiet"],
                folder, "traffic"))
            run(count, collector, edge, where, rate, folder)
        finally:
            for process in reversed(running):
                process.terminate()
            for process in reversed(running):
                process.wait()


def accepted(collector):
    connection = http.client.HTTPConnection("127.0.0.1", collector)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    lines = [line for line in text.splitlines() if line.startswith("adbrake_collect_events_total")]
    return sum(float(line.split()[-1]) for line in lines)


def run(count, collector, edge, where, rate, folder):
    apps = [f"probe-{random.randrange(1 << 40)}-{n}" for n in range(count)]
    time.sleep(12)
    prepare(apps, collector)
    time.sleep(4)
    results = []
    began, events = time.time(), accepted(collector)
    threads = [
        threading.Thread(target=probe, args=(apps, collector, edge, results))
        for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.time() - began
    totals = [total for total, _ in results]
    uploads = [upload for _, upload in results]
    print(
        f"{where.split(':')[0]}: {len(results)} of {count} probes at "
        f"{(accepted(collector) - events) / took:.0f} events/s: from before the upload to the "
        f"changed answer p50 {percentile(totals, 0.5):.0f} ms, p99 {percentile(totals, 0.99):.0f} "
        f"ms, most {percentile(totals, 1):.0f} ms; of it the upload p50 "
        f"{percentile(uploads, 0.5):.0f} ms, p99 {percentile(uploads, 0.99):.0f} ms")


if __name__ == "__main__":
    main()
