"""An app that reports with OpenTelemetry's own SDK and exporter, as its lines of input say.

    otel_client.py ENDPOINT KEY    then on standard input: healthy N, crashing N, end
"""

import logging
import sys
import time
import uuid

from opentelemetry._logs import SeverityNumber
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource


def main():
    logging.basicConfig(level=logging.WARNING)
    endpoint, key = sys.argv[1:]
    resource = Resource.create({"service.name": "Shop for iOS", "service.version": "shop@1.2"})
    provider = LoggerProvider(resource=resource)
    exporter = OTLPLogExporter(
        endpoint=endpoint,
        headers={"Authorization": f"Bearer {key}"},
        compression=Compression.Gzip,
    )
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
    logger = provider.get_logger("app")
    number = 0

    def emit(event, severity=SeverityNumber.INFO, **attributes):
        named = {key.replace("__", "."): value for key, value in attributes.items()}
        named["app.installation.id"] = f"device-{number}"
        logger.emit(
            timestamp=time.time_ns(), severity_number=severity, event_name=event, attributes=named
        )

    for line in sys.stdin:
        words = line.split()
        if words == ["end"]:
            break
        for _ in range(int(words[1])):
            number += 1
            session = str(uuid.uuid4())
            emit("session.start", session__id=session)
            if words[0] == "crashing":
                emit(
                    "app.crash",
                    SeverityNumber.FATAL,
                    session__id=session,
                    app__crash__id=str(uuid.uuid4()),
                    exception__type="Broken",
                )
            else:
                if number % 10 == 0:
                    emit(
                        None,
                        SeverityNumber.ERROR,
                        session__id=session,
                        exception__type="Broken",
                    )
                emit("session.end", session__id=session)
            # What has no meaning for a brake, the collector has to take all the same.
            emit("app.widget.click", session__id=session)
        if not provider.force_flush(20_000):
            sys.exit("the exporter could not send")
        print("sent", line.strip(), flush=True)
    provider.shutdown()


main()
