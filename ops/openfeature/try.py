#!/usr/bin/env python3
"""Asks an edge for its flags by the OpenFeature provider of PyPI, as anyone's service would.

    python3 -m venv venv && venv/bin/pip install openfeature-provider-ofrep
    venv/bin/python try.py http://127.0.0.1:8083 my.app device-1

Prints one line a flag: its key, value, variant, reason and error. The exit status is that of the
conversation, not of what the flags say.
"""

import json
import sys

from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext


def main(edge, app, person):
    api.set_provider(OFREPProvider(edge))
    client = api.get_client()
    attributes = {"app": app} if app else {}
    context = EvaluationContext(targeting_key=person or None, attributes=attributes)
    asked = [
        ("ad_throttle_state", client.get_string_details, "none"),
        ("ads_interstitial", client.get_boolean_details, False),
        ("ads_banner", client.get_boolean_details, False),
        ("ads_rewarded", client.get_boolean_details, False),
        ("ad_caps", client.get_object_details, {}),
        ("no_such_flag", client.get_boolean_details, False),
    ]
    for key, ask, default in asked:
        details = ask(key, default, context)
        print(
            json.dumps(
                {
                    "key": key,
                    "value": details.value,
                    "variant": details.variant,
                    "reason": str(getattr(details.reason, "value", details.reason)),
                    "error": details.error_code and details.error_code.value,
                }
            )
        )


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
