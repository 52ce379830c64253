#!/usr/bin/env bash
# The rights of each stage in a Kafka with access lists, no more than it needs: prints them, grants
# them to principals, or takes them away again.
#
#   ops/kafka/acls.sh show
#   ops/kafka/acls.sh grant  STAGE=PRINCIPAL...     as collect=User:brake-collect
#   ops/kafka/acls.sh revoke STAGE=PRINCIPAL...
#
# Stages: operator, collect, evaluate, serve, admin (what an edge with --admin-listen needs besides
# serve's), dead (who looks at dead letters and retries them), consumer. A principal may have
# several. From the environment: BOOTSTRAP (localhost:9092), COMMAND_CONFIG (a file of Java client
# properties for an administrator of the cluster), ADBRAKE_PREFIX (adbrake-), KAFKA_HOME (else as
# find.sh finds it).
set -euo pipefail

prefix=${ADBRAKE_PREFIX:-adbrake-}
bootstrap=${BOOTSTRAP:-localhost:9092}
here=$(cd "$(dirname "$0")" && pwd)

fail() {
    echo "acls: $1" >&2
    exit 1
}

# STAGE KIND PATTERN OPERATIONS NAMES. Read and Write bring Describe with them; Write to a topic
# also lets an idempotent producer begin. Every stage looks at all topics when it starts.
rights() {
    local inputs=${prefix}session,${prefix}crash,${prefix}soft_error,${prefix}ad_event
    cat <<END
operator topic prefixed Create,Describe,DescribeConfigs,AlterConfigs $prefix
collect topic prefixed Describe $prefix
collect topic literal Write $inputs,${prefix}dead
evaluate topic prefixed Describe $prefix
evaluate topic literal Read $inputs,${prefix}control
evaluate topic literal Read,Write ${prefix}throttle,${prefix}epoch,${prefix}snapshot
evaluate topic literal Write ${prefix}stress
evaluate topic literal Write ${prefix}notice,${prefix}dead
evaluate group literal Read ${prefix}evaluate
evaluate transactional-id prefixed Write $prefix
serve topic prefixed Describe $prefix
serve topic literal Read ${prefix}throttle,${prefix}stress,${prefix}epoch
serve topic literal Read ${prefix}notice,${prefix}control
admin topic literal Write ${prefix}control
admin topic literal Read $inputs,${prefix}snapshot
dead topic prefixed Describe $prefix
dead topic literal Read,Write $inputs,${prefix}dead
dead transactional-id literal Write ${prefix}appender-dead-retry
consumer topic literal Read ${prefix}throttle,${prefix}stress,${prefix}notice
consumer group prefixed Read ${prefix}consumer
END
}

find_tool() {
    local home
    if home=$("$here/find.sh" 2>/dev/null) && [[ -x $home/bin/kafka-acls.sh ]]; then
        echo "$home/bin/kafka-acls.sh"
    else
        command -v kafka-acls.sh || fail "no kafka-acls.sh: set KAFKA_HOME, or see 'make kafka'"
    fi
}

# One right for one principal: $1 is --add or --remove.
apply() {
    local action=$1 principal=$2 kind=$3 pattern=$4 operations=$5 names=$6
    local arguments=("$action" --allow-principal "$principal" --resource-pattern-type "$pattern")
    local item
    for item in ${operations//,/ }; do arguments+=(--operation "$item"); done
    for item in ${names//,/ }; do arguments+=("--$kind" "$item"); done
    [[ $action == --add ]] || arguments+=(--force)
    "$tool" --bootstrap-server "$bootstrap" \
        ${COMMAND_CONFIG:+--command-config "$COMMAND_CONFIG"} "${arguments[@]}" >/dev/null
}

verb=${1:-show}
shift || true
case $verb in
    show)
        rights | awk '{ printf "%-9s %-17s %-9s %s on %s\n", $1, $2, $3, $4, $5 }'
        exit
        ;;
    grant) action=--add ;;
    revoke) action=--remove ;;
    *) fail "unknown verb $verb: show, grant or revoke" ;;
esac
[[ $# -gt 0 ]] || fail "$verb needs STAGE=PRINCIPAL, as collect=User:brake-collect"
for pair in "$@"; do
    [[ $pair == *=*:* ]] || fail "$pair is not STAGE=TYPE:NAME, as collect=User:brake-collect"
    rights | grep -q "^${pair%%=*} " || fail "${pair%%=*} is no stage; '$0 show' lists them"
done
tool=$(find_tool)
for pair in "$@"; do
    stage=${pair%%=*} principal=${pair#*=}
    while read -r _ kind pattern operations names; do
        apply "$action" "$principal" "$kind" "$pattern" "$operations" "$names"
        echo "$verb $principal: $operations on $kind $pattern ${names//,/ }"
    done < <(rights | grep "^$stage ")
done
