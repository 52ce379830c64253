"""An app that reports with Sentry's own SDK, as its lines of input say.

    sentry_client.py DSN        then on standard input: healthy N, crashing N, end
"""

import sys

import sentry_sdk
from sentry_sdk.utils import event_from_exception


class Broken(Exception):
    pass


def fail():
    raise Broken("an ad has taken the app with it")


def crash():
    """Reports as the SDK's hook for uncaught exceptions does."""
    try:
        fail()
    except Broken:
        options = sentry_sdk.get_client().options
        mechanism = {"type": "excepthook", "handled": False}
        event, hint = event_from_exception(sys.exc_info(), options, mechanism=mechanism)
        sentry_sdk.capture_event(event, hint=hint)


def stumble():
    try:
        fail()
    except Broken as error:
        sentry_sdk.capture_exception(error)


def run(number, is_crashing):
    scope = sentry_sdk.get_isolation_scope()
    scope.set_user({"id": f"device-{number}"})
    scope.start_session(session_mode="application")
    if is_crashing:
        crash()
    elif number % 10 == 0:
        stumble()
    scope.end_session()


def main():
    sentry_sdk.init(
        dsn=sys.argv[1], release="shop@1.2", environment="test", traces_sample_rate=1.0
    )
    number = 0
    for line in sys.stdin:
        words = line.split()
        if words == ["end"]:
            break
        for _ in range(int(words[1])):
            number += 1
            run(number, words[0] == "crashing")
        # What has no meaning for a brake, the collector has to take all the same.
        with sentry_sdk.start_transaction(op="test", name="screen"):
            pass
        sentry_sdk.capture_message("looked at an ad", level="debug")
        sentry_sdk.flush(timeout=20)
        print("sent", line.strip(), flush=True)
    sentry_sdk.get_client().close(timeout=20)


main()
