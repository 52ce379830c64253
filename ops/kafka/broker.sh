#!/usr/bin/env bash
# One Kafka broker on this machine only, for development and tests.
#
#   ops/kafka/broker.sh start DIR [--port P] [--config KEY=VALUE]... [--secure] [--cluster-id ID]
#   ops/kafka/broker.sh stop|kill|pause|resume|restart DIR
#   ops/kafka/broker.sh certificate DIR NAME...
#
# Data, log and pid lie in DIR. The broker listens on P (9092), its controller on P+1. With --secure
# also on P+2, by mutual TLS: a certificate is the identity, User:NAME; what no access list allows
# is refused there, while P is an administrator's. `certificate` writes DIR/tls/NAME.pem and
# NAME.key, signed by DIR/tls/ca.pem, and DIR/tls/NAME.conf for --kafka-config. Several brokers form
# a cluster by one --cluster-id and settings of their own, as chaos.sh has them.
set -euo pipefail

start_seconds=60
stop_seconds=30

fail() {
    echo "broker: $1" >&2
    exit 1
}

[[ $# -ge 2 ]] || fail "usage: broker.sh start|stop|kill|pause|resume|restart|certificate DIR ..."
verb=$1 folder=$2
shift 2
home=$("$(dirname "$0")/find.sh")

# A key and a certificate for the name $1, valid for the addresses $2.
issue() {
    openssl req -newkey rsa:2048 -nodes -subj "/CN=$1" -keyout "$folder/tls/$1.key" \
        -out "$folder/tls/$1.csr" 2>/dev/null
    openssl x509 -req -days 30 -in "$folder/tls/$1.csr" -CA "$folder/tls/ca.pem" \
        -CAkey "$folder/tls/ca.key" -CAcreateserial -out "$folder/tls/$1.pem" \
        -extfile <(echo "subjectAltName=$2") 2>/dev/null
    rm "$folder/tls/$1.csr"
    cat >"$folder/tls/$1.conf" <<END
security.protocol=ssl
ssl.ca.location=$folder/tls/ca.pem
ssl.certificate.location=$folder/tls/$1.pem
ssl.key.location=$folder/tls/$1.key
END
}

plain_properties() {
    local secure=
    [[ $is_secure == no ]] || secure=",SSL://127.0.0.1:$((port + 2))"
    cat <<END
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$((port + 1))
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))$secure
advertised.listeners=PLAINTEXT://127.0.0.1:$port$secure
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL
log.dirs=$folder/data
auto.create.topics.enable=false
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=8388608
END
}

secure_properties() {
    cat <<END
ssl.keystore.type=PEM
ssl.keystore.location=$folder/tls/broker.keys
ssl.truststore.type=PEM
ssl.truststore.location=$folder/tls/ca.pem
ssl.client.auth=required
ssl.principal.mapping.rules=RULE:^CN=([^,]+).*\$/\$1/,DEFAULT
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
allow.everyone.if.no.acl.found=false
END
}

make_authority() {
    mkdir -p "$folder/tls"
    openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj "/CN=test authority" \
        -keyout "$folder/tls/ca.key" -out "$folder/tls/ca.pem" 2>/dev/null
    issue broker IP:127.0.0.1,DNS:localhost
    cat "$folder/tls/broker.key" "$folder/tls/broker.pem" >"$folder/tls/broker.keys"
}

# One that has ended and that nobody has buried yet is not alive.
is_alive() {
    local state
    state=$(sed 's/.*) //; s/ .*//' "/proc/$(cat "$folder/pid")/stat" 2>/dev/null) || return 1
    [[ -n $state && $state != Z ]]
}

launch() {
    KAFKA_HEAP_OPTS=${KAFKA_HEAP_OPTS:--Xms128m -Xmx384m} LOG_DIR=$folder \
        "$home/bin/kafka-server-start.sh" "$folder/server.properties" \
        >"$folder/broker.log" 2>&1 </dev/null &
    echo $! >"$folder/pid"
    for ((tries = 0; tries < start_seconds * 5; tries++)); do
        if grep -q 'Kafka Server started' "$folder/broker.log"; then return; fi
        is_alive || break
        sleep 0.2
    done
    tail -n 20 "$folder/broker.log" >&2
    fail "the broker did not start"
}

start() {
    local extra=() identity=
    port=9092 is_secure=no
    while [[ $# -gt 0 ]]; do
        case $1 in
            --port) port=$2 && shift 2 ;;
            --config) extra+=("$2") && shift 2 ;;
            --secure) is_secure=yes && shift ;;
            --cluster-id) identity=$2 && shift 2 ;;
            *) fail "unknown option $1" ;;
        esac
    done
    [[ ! -e $folder/server.properties ]] || fail "$folder holds a broker: restart it, or remove it"
    mkdir -p "$folder/data"
    folder=$(cd "$folder" && pwd)
    {
        plain_properties
        if [[ $is_secure == yes ]]; then secure_properties; fi
        [[ ${#extra[@]} -eq 0 ]] || printf '%s\n' "${extra[@]}"
    } >"$folder/server.properties"
    if [[ $is_secure == yes ]]; then make_authority; fi
    [[ -n $identity ]] \
        || identity=$("$home/bin/kafka-storage.sh" random-uuid 2>/dev/null | tail -n 1)
    "$home/bin/kafka-storage.sh" format -t "$identity" -c "$folder/server.properties" \
        >"$folder/format.log" 2>&1 || { cat "$folder/format.log" >&2 && fail "no storage"; }
    launch
    echo "127.0.0.1:$port"
}

stop() {
    kill -CONT "$(cat "$folder/pid")" 2>/dev/null || true
    kill "$(cat "$folder/pid")" 2>/dev/null || true
    for ((tries = 0; tries < stop_seconds * 5; tries++)); do
        is_alive || return 0
        sleep 0.2
    done
    kill -KILL "$(cat "$folder/pid")"
}

if [[ $verb != start ]]; then
    [[ -e $folder/pid ]] || fail "$folder holds no broker"
    folder=$(cd "$folder" && pwd)
fi
case $verb in
    start) start "$@" ;;
    stop) stop ;;
    kill) kill -KILL "$(cat "$folder/pid")" ;;
    pause) kill -STOP "$(cat "$folder/pid")" ;;
    resume) kill -CONT "$(cat "$folder/pid")" ;;
    restart) ! is_alive || stop && launch ;;
    certificate) for name in "$@"; do issue "$name" "DNS:$name"; done ;;
    *) fail "unknown verb $verb" ;;
esac
