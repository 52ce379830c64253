#!/usr/bin/env python3
"""Follows `throttle`: prints the state of every app as it is now, then each change.

    python3 -m venv venv && venv/bin/pip install confluent-kafka
    venv/bin/python throttle_follow.py --bootstrap localhost:9092 [--config FILE] [--once]

The topic is a table: the last record of a key is what holds, a record without a value deletes. It is
read from its beginning, without a group: every copy of this program needs the whole table, and a
restart reads it again. Only committed records are seen; the transaction that decided brought each.
"""
import argparse
import json
import sys

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

TIMEOUT_SECONDS = 30.0
BATCH_RECORDS_MAX = 1000
# Told while brokers are away; the library goes on by itself when they are back.
PASSING = {KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._TIMED_OUT}


def arguments():
    parser = argparse.ArgumentParser(description="Follow the states of all apps.")
    parser.add_argument("--bootstrap", default="localhost:9092")
    parser.add_argument("--prefix", default="adbrake-")
    parser.add_argument("--config", help="librdkafka's properties, as for adbrake --kafka-config")
    parser.add_argument("--once", action="store_true", help="end when the table is complete")
    return parser.parse_args()


def properties(options):
    settings = {}
    if options.config:
        with open(options.config, encoding="utf-8") as file:
            for line in map(str.strip, file):
                if line and not line.startswith("#"):
                    name, _, value = line.partition("=")
                    settings[name.strip()] = value.strip()
    settings.update({
        "bootstrap.servers": options.bootstrap,
        # The library asks for a name, though nothing is committed and nothing is shared.
        "group.id": options.prefix + "consumer",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        # Tells the end of a partition even when its last offsets are markers of transactions, which
        # are never handed out: "position == high watermark - 1" would wait for ever.
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
    })
    return settings


def partitions_of(consumer, topic):
    found = consumer.list_topics(topic, timeout=TIMEOUT_SECONDS).topics[topic]
    if found.error is not None:
        raise KafkaException(found.error)
    return sorted(found.partitions)


class Table:
    """The apps with their records, by the rule that an older revision never replaces a newer one."""

    def __init__(self):
        self.apps = {}

    def apply(self, message):
        """Returns the change in words, or nothing when the record says nothing new."""
        app = message.key().decode()
        if message.value() is None:
            return f"{app}: deleted" if self.apps.pop(app, None) else None
        record = json.loads(message.value())
        before = self.apps.get(app)
        if before is not None and before["revision"] >= record["revision"]:
            return None
        self.apps[app] = record
        old = before["state"] if before else "nothing"
        return f"{app}: {old} -> {record['state']} ({record['cause']}, revision {record['revision']})"

    def show(self):
        for app, record in sorted(self.apps.items()):
            print(f"{app:<24} {record['state']:<9} revision {record['revision']:<4} {record['cause']}")


def follow(consumer, topic, once):
    # Where the table ended when we began: the high watermarks. It is complete once each partition was
    # read up to there: by a record at or after it, by the end of the partition, or since it was empty.
    waiting = {}
    for partition in partitions_of(consumer, topic):
        low, high = consumer.get_watermark_offsets(
            TopicPartition(topic, partition), timeout=TIMEOUT_SECONDS)
        if low < high:
            waiting[partition] = high
    consumer.assign([
        TopicPartition(topic, partition, OFFSET_BEGINNING)
        for partition in partitions_of(consumer, topic)])

    table = Table()
    is_complete = False
    while True:
        if not waiting and not is_complete:
            is_complete = True
            print(f"{len(table.apps)} apps:")
            table.show()
            if once:
                return
            print("changes:", flush=True)
        for message in consumer.consume(BATCH_RECORDS_MAX, timeout=1.0):
            error, partition = message.error(), message.partition()
            if error is not None and error.code() in PASSING:
                continue
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            if error is None:
                change = table.apply(message)
                if is_complete and change:
                    print(change, flush=True)
            # An end tells the next offset, a record its own.
            reached = message.offset() if error is not None else message.offset() + 1
            if partition in waiting and reached >= waiting[partition]:
                del waiting[partition]


def main():
    options = arguments()
    consumer = Consumer(properties(options))
    try:
        follow(consumer, options.prefix + "throttle", options.once)
    except KeyboardInterrupt:
        pass
    except KafkaException as fault:
        sys.exit(f"throttle_follow: {fault.args[0].str()} [{fault.args[0].name()}]")
    finally:
        consumer.close()


if __name__ == "__main__":
    main()
