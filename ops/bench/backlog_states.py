#!/usr/bin/env python3
"""Recomputes the states that the policy `article` comes to, tick by tick, and compares them.

    backlog_states.py BOOTSTRAP PREFIX RECOMPUTE NOW_MS

Reads the sessions and crashes of a backlog and the throttle table (committed records only) with
kcat. What the rules call for at a tick is asked of RECOMPUTE (the peers' recompute.py, which knows
neither panes nor ticks): it is given what was appended before the tick, and a record of an app of
its own one millisecond before it in every partition, which tells it the time. The state moves one
level a tick towards that, as `article` says. Prints how many apps are in which state.
Exit status 1 when any app's state differs, or when no app is in trouble: that would prove nothing.
"""
import json
import re
import subprocess
import sys
from collections import Counter

TICK_MS = 120_000
STATES = ["NORMAL", "CAUTION", "THROTTLE", "HALT"]
TELLS_TIME = "tells.the.time"

bootstrap, prefix, recompute, now = sys.argv[1:4] + [int(sys.argv[4])]


def kcat(topic, form):
    command = ["kcat", "-C", "-q", "-e", "-b", bootstrap, "-t", prefix + topic, "-o", "beginning"]
    command += ["-X", "isolation.level=read_committed", "-f", form]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def called_for(facts, partitions, tick):
    """The apps that the rules call to another state than Normal at a tick."""
    lines = [line for append, line in facts if append < tick]
    lines += [f"session {place} {tick - 1} {TELLS_TIME}.{place}" for place in partitions]
    command = [sys.executable, recompute, "stream"]
    text = subprocess.run(
        command, check=True, capture_output=True, text=True, input="\n".join(lines) + "\n"
    ).stdout
    return {app: STATES.index(state) for app, state in (line.split() for line in text.splitlines())}


facts, partitions = [], set()
for topic in ["session", "crash"]:
    for line in kcat(topic, "%p %T %k %s\n"):
        partition, append, app, value = line.split(" ", 3)
        at = int(re.search(r'"at":(\d+)', value).group(1))
        facts.append((int(append), f"{topic} {partition} {min(at, int(append))} {app}"))
        partitions.add(partition)

first = min(append for append, _ in facts)
expected = Counter()
ticks = range((first // TICK_MS + 1) * TICK_MS, now + 1, TICK_MS)
for tick in ticks:
    calls = called_for(facts, partitions, tick)
    for app in set(calls) | set(expected):
        gap = calls.get(app, 0) - expected[app]
        expected[app] += (gap > 0) - (gap < 0)

actual = {}
for line in kcat("throttle", "%k %s\n"):
    app, value = line.split(" ", 1)
    actual[app] = json.loads(value)["severity"]

differing = [app for app in set(actual) | set(expected) if actual.get(app, 0) != expected[app]]
for app in sorted(differing)[:10]:
    print(f"{app}: {STATES[actual.get(app, 0)]}, recomputed {STATES[expected[app]]}")
troubled = Counter(STATES[state] for state in expected.values() if state > 0)
print(
    f"states of {len(actual)} apps after {len(ticks)} ticks: {len(differing)} differ; "
    + ", ".join(f"{troubled[state]} {state}" for state in STATES[1:])
)
sys.exit(1 if differing or not troubled else 0)
