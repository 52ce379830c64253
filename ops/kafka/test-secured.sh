#!/usr/bin/env bash
# Proves the rights that acls.sh lists on a Kafka with mutual TLS and access lists: every stage
# works with its own rights alone, and says which one is missing, on what, when one is. On loopback,
# with a broker of its own; five minutes. Exit status not 0 when something is otherwise.
#   ops/kafka/test-secured.sh     ADBRAKE=PATH for another program than .build/release/adbrake;
#                                 ONLY=STAGE,... takes rights from those stages alone
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
program=${ADBRAKE:-$here/../../.build/release/adbrake}
home=$("$here/find.sh")
first_port=${PORT:-29492}
# For a stage to be ready, or to say what it misses.
patience=40
stages=(operator collect evaluate serve admin dead consumer)
token=0123456789abcdef0123456789abcdef
failures=0 checks=0

folder=$(mktemp -d)
pids=()
cleanup() {
    local status=$?
    trap - EXIT INT TERM
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    if [[ -e $folder/broker/pid ]]; then "$here/broker.sh" stop "$folder/broker" || true; fi
    rm -rf "$folder"
    exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for tool in curl kcat openssl java; do
    command -v "$tool" >/dev/null || { echo "secured: $tool is missing" >&2 && exit 1; }
done
[[ -x $program ]] || { echo "secured: $program is missing: 'make build'" >&2 && exit 1; }

report() { # whether it held, what
    checks=$((checks + 1))
    if [[ $1 == yes ]]; then
        echo "ok    $2"
    else
        echo "FAIL  $2"
        failures=$((failures + 1))
    fi
}

declare -A ports=([collect]=$((first_port + 5)) [evaluate]=$((first_port + 6))
    [serve]=$((first_port + 7)) [admin]=$((first_port + 8)) [people]=$((first_port + 9)))
log_of() { echo "kafka:127.0.0.1:$((first_port + 2))"; }
conf_of() { echo "$folder/broker/tls/$1.conf"; }

begin() { # stage, options: starts it and sets `pid`
    local stage=$1 command=$1
    shift
    if [[ $stage == admin ]]; then
        command=serve
        set -- --admin-listen "127.0.0.1:${ports[people]}" --admin-tokens "$folder/tokens" "$@"
    fi
    timeout --foreground 300 "$program" "$command" --log "$(log_of)" \
        --kafka-config "$(conf_of "$stage")" --instance test \
        --listen "127.0.0.1:${ports[$stage]}" "$@" >"$folder/$stage.log" 2>&1 &
    pid=$!
    pids+=("$pid")
}

end() { kill "$1" 2>/dev/null || true; wait "$1" 2>/dev/null || true; }

wait_until() { # command...
    local deadline=$((SECONDS + patience))
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        sleep 0.2
    done
}

is_well() { "$program" health --edge "http://127.0.0.1:${ports[$1]}" >/dev/null 2>&1; }
says() { grep -qE "$2" "$folder/$1.log"; }

# A session of an app that nobody has heard of; and something that is no event.
post() {
    curl -s -m 15 -o "$folder/answer" "http://127.0.0.1:${ports[collect]}/v1/events" \
        -d "[{\"type\":\"$1\",\"id\":\"$RANDOM$RANDOM\",\"app\":\"app.$RANDOM\",\"session\":\"s\"}]"
}
accepted() { post "$1" && grep -q '"accepted":1' "$folder/answer"; }
shows_app() {
    curl -s -m 5 "http://127.0.0.1:${ports[serve]}/v1/apps" | grep -q '"cause":"initial"'
}
# A decision of a person, tried or taken down.
decides() {
    "$program" admin pin --app '*' --state Halt --reason night --token-file "$folder/token" \
        --admin "http://127.0.0.1:${ports[people]}" "$@" >"$folder/said" 2>&1
}
# Whether an edge shows what was decided.
obeys() {
    curl -s -m 5 "http://127.0.0.1:${ports[$1]}/v1/apps" | grep -q '"cause":"override"'
}
dead() {
    "$program" dead "$@" --log "$(log_of)" --kafka-config "$(conf_of dead)" \
        >"$folder/dead.log" 2>&1
}
# An event under another app's key, longer than a letter keeps, which the evaluator sets aside.
misplace() {
    printf 'other.app\t{"type":"session","app":"late.app","session":"s","pad":"%01500d"}' 0 \
        | kcat -b "127.0.0.1:$first_port" -P -t adbrake-session -p 0 -K $'\t'
}
lies_there() { # so many letters
    dead count --reason wrong_app --json && grep -q "\"letters\":$1," "$folder/dead.log"
}
reads() { kcat -F "$(conf_of consumer)" -b "127.0.0.1:$((first_port + 2))" -C -e -q "$@" 2>&1; }

acl() { # --add or --remove, principal, operation, kind, name
    local force=()
    [[ $1 == --add ]] || force=(--force)
    "$home/bin/kafka-acls.sh" --bootstrap-server "127.0.0.1:$first_port" "$1" "${force[@]}" \
        --deny-principal "User:$2" --operation "$3" "--$4" "$5" >/dev/null
}

# Takes one right from a stage and expects it to be named, with what it is about.
without() { # stage, operation, kind, name, pattern; then options
    local stage=$1 operation=$2 kind=$3 name=$4 pattern=$5
    shift 5
    [[ -z ${ONLY:-} || ,$ONLY, == *,$stage,* ]] || return 0
    acl --add "$stage" "$operation" "$kind" "$name"
    case $stage in
        operator) "$program" topics create --log "$(log_of)" --replicas 1 --partitions 4 \
            --kafka-config "$(conf_of operator)" "$@" >"$folder/operator.log" 2>&1 || true ;;
        consumer) reads -t "$name" >"$folder/consumer.log" || true ;;
        dead) dead retry --reason wrong_app || true ;;
        admin)
            begin admin
            if wait_until is_well admin; then
                # What the person is told counts, beside what the log says.
                decides "$@" || sed 's/^/told: /' "$folder/said" >>"$folder/admin.log"
            fi
            ;;
        collect)
            begin collect
            if wait_until is_well collect; then post session || true; fi
            ;;
        *) begin "$stage" "$@" ;;
    esac
    if wait_until says "$stage" "$pattern"; then
        report yes "$stage without $operation on $kind $name says so"
    else
        report no "$stage without $operation on $kind $name says: $(tail -n 2 "$folder/$stage.log")"
    fi
    case $stage in operator | consumer | dead) ;; *) end "$pid" ;; esac
    acl --remove "$stage" "$operation" "$kind" "$name"
}

"$here/broker.sh" start "$folder/broker" --port "$first_port" --secure >/dev/null
"$here/broker.sh" certificate "$folder/broker" "${stages[@]}"
grants=()
for stage in "${stages[@]}"; do grants+=("$stage=User:$stage"); done
grants+=(serve=User:admin)
echo "$token anna write" >"$folder/tokens"
echo "$token" >"$folder/token"
BOOTSTRAP=127.0.0.1:$first_port "$here/acls.sh" grant "${grants[@]}" >/dev/null

echo "Each stage with its own rights:"
topics() {
    "$program" topics "$1" --log "$(log_of)" --kafka-config "$(conf_of operator)" --replicas 1 \
        --partitions 4 >/dev/null
}
if topics create && topics check; then report yes "operator makes and checks the topics"
else report no "operator makes and checks the topics"; fi
begin collect && collector=$pid
begin evaluate && evaluator=$pid
begin serve && edge=$pid
for stage in collect evaluate serve; do
    if wait_until is_well "$stage"; then report yes "$stage is well"
    else report no "$stage is well: $(tail -n 2 "$folder/$stage.log")"; fi
done
if wait_until accepted session; then report yes "collect takes an event"
else report no "collect takes an event: $(cat "$folder/answer")"; fi
if wait_until shows_app; then report yes "evaluate decides and serve shows it"
else report no "evaluate decides and serve shows it"; fi
post nonsense
if grep -q unknown_type "$folder/answer"; then report yes "collect sets a bad event aside"
else report no "collect sets a bad event aside: $(cat "$folder/answer")"; fi
if [[ $(reads -t adbrake-throttle | tail -n 1) == *'"cause":"initial"'* ]]; then
    report yes "an own consumer reads throttle"
else report no "an own consumer reads throttle: $(reads -t adbrake-throttle | tail -n 2)"; fi
begin admin && desk=$pid
if wait_until is_well admin && decides --dry-run && grep -q 'another way' "$folder/said"; then
    report yes "admin tries a decision"
else report no "admin tries a decision: $(tail -n 2 "$folder/said" "$folder/admin.log")"; fi
if decides && wait_until obeys admin && wait_until obeys serve; then
    report yes "admin takes a decision down, and every edge shows it"
else report no "admin takes a decision down: $(tail -n 2 "$folder/said" "$folder/admin.log")"; fi
misplace
if wait_until lies_there 1 && dead list && grep -q wrong_app "$folder/dead.log"; then
    report yes "dead counts and lists letters"
else report no "dead counts and lists letters: $(tail -n 2 "$folder/dead.log")"; fi
if dead retry --reason wrong_app && grep -q '1 letters retried' "$folder/dead.log"; then
    report yes "dead retries a letter that is read from its input"
else report no "dead retries a letter: $(tail -n 2 "$folder/dead.log")"; fi
misplace
wait_until lies_there 2 || report no "a second letter comes"
end "$desk"
end "$edge"
end "$evaluator"
if grep -hE '"level":"error"' "$folder"/{collect,evaluate,serve,admin}.log; then
    report no "nobody had anything to complain of"
else report yes "nobody had anything to complain of"; fi

echo "Each with one right less:"
without evaluate Read topic adbrake-crash 'adbrake-crash.*AUTHORIZATION.* Read on'
without evaluate Read topic adbrake-epoch 'adbrake-epoch.*AUTHORIZATION.* Read on'
without evaluate Read topic adbrake-snapshot '"error".*adbrake-snapshot.*AUTHORIZATION.* Read on'
without evaluate Read topic adbrake-control 'adbrake-control.*AUTHORIZATION.* Read on'
without evaluate Read group adbrake-evaluate 'adbrake-evaluate.*AUTHORIZATION.* Read on the group'
without evaluate Write transactional-id adbrake-test-0 \
    'adbrake-test-0.*AUTHORIZATION.* Write on the transactional id'
without evaluate Write topic adbrake-epoch 'AUTHORIZATION.*adbrake-epoch.* Write \(on'
accepted session
without evaluate Write topic adbrake-throttle 'AUTHORIZATION.*adbrake-throttle.* Write \(on'
without evaluate Write topic adbrake-snapshot 'AUTHORIZATION.*adbrake-snapshot.* Write \(on' \
    --snapshot-every 1s
echo '{' | kcat -b "127.0.0.1:$first_port" -P -t adbrake-session -p 0
without evaluate Write topic adbrake-dead 'AUTHORIZATION.*adbrake-dead.* Write \(on'
end "$collector"
without collect Write topic adbrake-session 'append.*adbrake-session.*AUTHORIZATION.* Write on'
without collect Describe topic adbrake-control 'adbrake-control.*AUTHORIZATION.* Describe on'
without serve Read topic adbrake-throttle 'adbrake-throttle.*AUTHORIZATION.* Read on'
without serve Read topic adbrake-stress 'adbrake-stress.*AUTHORIZATION.* Read on'
without serve Read topic adbrake-epoch 'adbrake-epoch.*AUTHORIZATION.* Read on'
without serve Read topic adbrake-notice 'adbrake-notice.*AUTHORIZATION.* Read on'
without serve Read topic adbrake-control 'adbrake-control.*AUTHORIZATION.* Read on'
# Its only Write: without it the broker lets it be no idempotent producer at all.
without admin Write topic adbrake-control \
    'told: .*append.*adbrake-control.*CLUSTER_AUTHORIZATION'
without admin Read topic adbrake-session 'adbrake-session.*AUTHORIZATION.* Read on' --dry-run
without dead Read topic adbrake-dead 'adbrake-dead.*AUTHORIZATION.* Read on'
without dead Read topic adbrake-session 'adbrake-session.*AUTHORIZATION.* Read on'
without dead Write topic adbrake-session 'AUTHORIZATION.*adbrake-session.* Write'
without dead Write topic adbrake-dead 'AUTHORIZATION.*adbrake-dead.* Write'
without dead Write transactional-id adbrake-appender-dead-retry \
    'adbrake-appender-dead-retry.*AUTHORIZATION.* Write on the transactional id'
without consumer Read topic adbrake-throttle 'Topic authorization failed'
without operator DescribeConfigs topic adbrake-crash \
    'adbrake-crash.*AUTHORIZATION.* DescribeConfigs on'
without operator Create topic adbrake-x-crash 'adbrake-x-crash.*AUTHORIZATION.* Create on' \
    --prefix adbrake-x-

echo "$checks checks, $failures failed"
[[ $failures -eq 0 ]]
