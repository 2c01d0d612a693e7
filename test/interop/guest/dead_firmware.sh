#!/bin/sh
# The firmware of gnstor-target's array fails under a host's write: the target ends with exit code 1
# and the reason. Started again it has what was acknowledged, and the host goes on where it was.
. /lab/guest.sh
. /lab/target.sh
address=10.1.0.1
array='emu:?ssds=1&capacity=64M&replicas=1&flash=/tmp/flash'
mkdir /tmp/flash
start_rdma $address
start_host

target_has_ended() { ! grep -qs '^State:.[^Z]' "/proc/$serving/status"; }

step "a host writes"
serve $address:4420 --array "$array" --volume 32M
plug $volume_nqn.1 --reconnect-delay 1 --ctrl-loss-tmo 60
device=$(block_device $volume_nqn.1 1)
head -c 1048576 /dev/urandom > /tmp/first
must dd if=/tmp/first of="$device" bs=128k oflag=direct 2>/dev/null
# What was written last lies in the flash block whose count goes wrong with the next write.
must dd if=/tmp/first of="$device" bs=4k count=1 oflag=direct 2>/dev/null

step "the firmware fails under an overwrite"
must interop_spoil "$array"
head -c 4096 /dev/urandom > /tmp/second
dd if=/tmp/second of="$device" bs=4k oflag=direct 2> /tmp/dd &
writer=$!
within 20 target_has_ended
wait "$serving"
code=$?
[ $code = 1 ] || failed "gnstor-target ended with $code"
says "^gnstor-target: the array's firmware has failed.*live != 0" cat /tmp/target

step "started again"
serve $address:4420 --array "$array"
within 30 grep -q '^live' "/sys/class/nvme/$(controller $volume_nqn.1)/state"
within 30 grep -q records /tmp/dd
wait $writer || cat /tmp/dd
head -c 4096 "$device" > /tmp/read
cmp /tmp/second /tmp/read || cmp -n 4096 /tmp/first /tmp/read || failed "neither old nor new"
must cmp -n 1044480 /tmp/first "$device" 4096 4096
must nvme disconnect -n $volume_nqn.1
stop_serving
ends
