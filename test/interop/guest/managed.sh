#!/bin/sh
# An array that gnstor-target serves and manages, for gnstor's hosts and the kernel's.
. /lab/guest.sh
. /lab/target.sh
address=10.1.0.1
start_rdma $address
start_host
# However busy this machine is: an SSD is detached by who is asked to, or because it says that it is
# dead.
: > /tmp/faults
serve $address:4420 --array 'emu:?ssds=4&capacity=128M' --manage --ssd-timeout 20000 \
  --metrics 127.0.0.1:9400 --faults /tmp/faults
manager='gnstor://127.0.0.1?keep_alive_ms=10000'  # the guest is slow

step "two of gnstor's hosts, by the manager alone"
must interop_managed share --endpoint "$manager"
refuses "the array has a manager" interop_managed share --endpoint "rdma://$address/$array_nqn"

step "an operator makes a volume, and the kernel's host uses it"
must gnstorctl volume create disk --size 16M
says "0 torn|healthy|nothing" gnstorctl array health
vid=$(gnstorctl volume show disk | sed -n 's/^id *\([0-9]*\)$/\1/p')
offered() { nvme discover -t rdma -a $address -s 4420 | grep -q "$volume_nqn.$vid\$"; }
within 10 offered # the target looks for new volumes every second
plug "$volume_nqn.$vid"
disk=$(block_device "$volume_nqn.$vid" 1)
head -c 16777216 /dev/urandom > /tmp/image
must dd if=/tmp/image of="$disk" bs=64k oflag=direct
says "gnstor-target|client|[0-9]" gnstorctl lease list

step "an SSD is detached and comes back under all of them, a kernel of gnstor too: no error"
interop_managed steady --endpoint "$manager" --until /tmp/enough > /tmp/steady 2>&1 &
steady=$!
interop_managed kernel --endpoint "$manager" --until /tmp/enough > /tmp/kernel 2>&1 &
kernel=$!
in_sync() { gnstorctl array health; }
comes_back() {
  must gnstorctl ssd detach $1
  head -c 16777216 /dev/urandom > /tmp/image
  must dd if=/tmp/image of="$disk" bs=64k oflag=direct
  must gnstorctl ssd replace $1
  within 60 in_sync
  same "what the kernel's host wrote" "$(sha256sum < /tmp/image)" \
    "$(dd if="$disk" bs=64k iflag=direct 2> /dev/null | sha256sum)"
}
both_write() { gnstorctl volume show steady && gnstorctl volume show counters; }
within 30 both_write
comes_back 1
: > /tmp/enough
wait $steady || failed "a session sees an error"
wait $kernel || failed "a kernel sees an error"
comes_back 2
cat /tmp/steady /tmp/kernel

step "an SSD dies under the kernel's host, and comes back by itself: no error"
head -c 16777216 /dev/urandom > /tmp/image
copy() { dd if=/tmp/image of="$disk" bs=64k oflag=direct; }
absent() { gnstorctl --format json array show | grep -q STATE_ABSENT; }
(copy && copy && copy) > /tmp/copies 2>&1 &
copies=$!
echo '3 dead' > /tmp/faults
within 30 absent
wait $copies || failed "the kernel's host does not write: $(cat /tmp/copies)"
: > /tmp/faults
within 60 in_sync
same "what the kernel's host wrote" "$(sha256sum < /tmp/image)" \
  "$(dd if="$disk" bs=64k iflag=direct 2> /dev/null | sha256sum)"
dmesg | grep -iE 'nvme.*(error|timeout|reset)' && failed "the kernel's host sees an error"
must nvme disconnect -n "$volume_nqn.$vid"

step "Prometheus hears in which phases the requests of the kernel's host were"
must busybox wget -q -O /tmp/metrics http://127.0.0.1:9400/metrics
# phase NAME FIELD: gnstor_request_phase_seconds_FIELD, in whole numbers
phase() {
  sed -n "s/^gnstor_request_phase_seconds_$2{phase=\"$1\"} \([0-9]*\).*/\1/p" /tmp/metrics
}
for one in receiving queued flash sending; do
  echo "$one: $(phase $one count)"
  [ "$(phase $one count)" -gt 500 ] || failed "$one: $(grep "\"$one\"" /tmp/metrics)"
done
# Each command's answer was sent; those of writes got their data first.
[ "$(phase sending count)" -gt "$(phase receiving count)" ] || failed "reads are not counted"
[ "$(grep -c '^gnstor_requests_in_phase{.*} 0$' /tmp/metrics)" = 6 ] \
  || failed "in a phase still: $(grep ^gnstor_requests_in_phase /tmp/metrics)"

step "deleted by its name, the volume is gone"
released() { ! gnstorctl lease list | grep -q disk; }
within 10 released
must gnstorctl volume delete disk --yes
refuses "no volume is called" gnstorctl volume show disk
kill "$serving"
wait "$serving" || failed "gnstor-target ended with $?"
cat /tmp/target
ends
