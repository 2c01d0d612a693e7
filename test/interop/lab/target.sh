# shellcheck shell=sh disable=SC2034,SC2154 # the scripts use its variables, and set address
# gnstor-target in a guest. Sourced after guest.sh: . /lab/target.sh
array_nqn=nqn.2026-11.io.gnstor:array
port=4420
volume_nqn=nqn.2026-11.io.gnstor:volume # .1, .2, and so on

# serve ADDRESS:PORT OPTION...: starts a target and waits until it is ready; serving is its process,
# /tmp/target what it says.
serve() {
  : > /tmp/target # what an earlier one said
  gnstor-target --listen "$@" > /tmp/target 2>&1 &
  serving=$!
  within 20 target_is_ready
  grep '^ready' /tmp/target
}
target_is_ready() { grep -q "^ready .*$array_nqn" /tmp/target; }
# stop_serving: a target that is asked to end does so without complaint.
stop_serving() {
  kill "$serving"
  wait "$serving" || failed "gnstor-target ended with $?"
  grep -iE 'error|warning|sanitizer|leak' /tmp/target && failed "gnstor-target complains"
  return 0
}
# plug NQN OPTION...: connects the kernel's host and waits for namespace 1. The options are those of
# nvme connect; the target is at $address, port $port. Over a link that loses packets ($LOSS) it
# tries three times: what ends while it is being made the kernel does not make again.
plug() {
  nqn=$1
  shift
  tries=1
  [ -z "${LOSS:-}" ] || tries=3
  until nvme connect -t rdma -a "$address" -s $port -n "$nqn" -i 2 "$@"; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || { failed "nvme connect to $nqn"; break; }
  done
  within 10 block_device "$nqn" 1
}
