#!/usr/bin/env bash
# Prints the folder of a Kafka: KAFKA_HOME, else ../shared/kafka beside the repository, else .kafka
# in it. With --fetch, and if none is there, Maven fetches Apache's jars into .kafka by pom.xml.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
fetched=$root/.kafka
# Tools and their classes; the scripts of Apache's own download have the same names.
tools=(
    kafka-acls=org.apache.kafka.tools.AclCommand
    kafka-configs=org.apache.kafka.tools.ConfigCommand
    kafka-console-consumer=org.apache.kafka.tools.consumer.ConsoleConsumer
    kafka-console-producer=org.apache.kafka.tools.ConsoleProducer
    kafka-consumer-groups=org.apache.kafka.tools.consumer.group.ConsumerGroupCommand
    kafka-delete-records=org.apache.kafka.tools.DeleteRecordsCommand
    kafka-storage=kafka.tools.StorageTool
    kafka-topics=org.apache.kafka.tools.TopicCommand
    kafka-transactions=org.apache.kafka.tools.TransactionsCommand
)

fail() {
    echo "kafka: $1" >&2
    exit 1
}

is_kafka() { [[ -x $1/bin/kafka-server-start.sh && -x $1/bin/kafka-storage.sh ]]; }

# A script of the name $1 that runs the class $2.
write_tool() {
    cat >"$fetched/bin/$1.sh" <<END
#!/bin/sh
exec "\$(dirname "\$0")/kafka-run-class.sh" $2 "\$@"
END
}

write_scripts() {
    local tool
    mkdir -p "$fetched/bin" "$fetched/config"
    cat >"$fetched/bin/kafka-run-class.sh" <<'END'
#!/bin/sh
# kafka-run-class.sh CLASS [ARGUMENTS]
home=$(cd "$(dirname "$0")/.." && pwd)
exec java ${KAFKA_HEAP_OPTS:--Xmx256m} -Dlog4j2.configurationFile="$home/config/log4j2.yaml" \
    ${KAFKA_OPTS:-} -cp "$home/libs/*" "$@"
END
    write_tool kafka-server-start kafka.Kafka
    for tool in "${tools[@]}"; do write_tool "${tool%%=*}" "${tool#*=}"; done
    chmod +x "$fetched"/bin/*.sh
    cat >"$fetched/config/log4j2.yaml" <<'END'
Configuration:
  Appenders:
    Console:
      name: STDERR
      target: SYSTEM_ERR
      PatternLayout: { pattern: "%d{ISO8601} %-5p %m (%c{1})%n" }
  Loggers:
    Root: { level: WARN, AppenderRef: { ref: STDERR } }
    Logger: { name: kafka.server.KafkaRaftServer, level: INFO }
END
}

fetch() {
    command -v java >/dev/null \
        || fail "Kafka needs Java 17 or later: apt install default-jre-headless"
    command -v mvn >/dev/null || fail "no Kafka found and no Maven to fetch one: \
apt install maven, or unpack a download of https://kafka.apache.org and set KAFKA_HOME"
    echo "kafka: fetching Apache Kafka into $fetched" >&2
    if ! mvn --batch-mode --quiet -f "$here/pom.xml" dependency:copy-dependencies \
        -DincludeScope=runtime -DoutputDirectory="$fetched/libs" >&2; then
        fail "Maven could not fetch Kafka: it needs a repository with the files of Maven Central. \
Or unpack a download of https://kafka.apache.org and set KAFKA_HOME to its folder"
    fi
    write_scripts
}

if [[ -n ${KAFKA_HOME+set} ]]; then
    is_kafka "$KAFKA_HOME" \
        || fail "KAFKA_HOME is '$KAFKA_HOME': no bin/kafka-server-start.sh is there"
    echo "$KAFKA_HOME"
    exit
fi
places=("$root/../shared/kafka" "$fetched")
for try in once again; do
    for place in "${places[@]}"; do
        if is_kafka "$place"; then
            (cd "$place" && pwd)
            exit
        fi
    done
    [[ $try == once && ${1:-} == --fetch ]] || fail "no Kafka found: 'make kafka' fetches one"
    fetch
done
