#!/bin/sh
# One of two controllers of an endpoint is pulled out under its kernels: see one_pulled_out.test.
. /lab/guest.sh
modprobe nvme
. /lab/local.sh
for serial in LAB0 LAB1 LAB2 LAB3; do within 20 disk_of $serial 1; done
# The first of the list goes one way, the second the other.
stays=3 goes=2
[ "$WAY" = vfio ] && stays=2 goes=3
kept=$(address_of LAB$stays)
endpoint="$(address_of LAB2),$(address_of LAB3)?stripe=64K"

# survive ENDPOINT NUMBER: kernels read while controller NUMBER is pulled out.
survive() {
  gnstor survive "$1" --io 64K --mib 16 --timeout 5000 --seed 3 > /tmp/survive 2>&1 &
  surviving=$!
  within 20 grep -q reading /tmp/survive
  echo "nvme$2" > /share/pull
  wait $surviving || failed "survive: exit code $?"
  cat /tmp/survive
}

# Without an IOMMU alone: with one, Linux 6.1 oopses when the last user of the disk goes. It frees a
# controller's memory then (nvme_dbbuf_dma_free), by an address of an IOMMU that it has left.
if [ "$WAY" = bus ]; then
  step "Linux keeps both: a disk is gone at once"
  survive "$(address_of LAB0),$(address_of LAB1)?stripe=64K" 1
  must grep -E "pulled out: controller 1: .* of the other: right" /tmp/survive > /dev/null
  # Linux ends its reads as at a file's end, and its writes as on a full disk.
  for done in read written; do
    must grep -E "$done after a reset: controller 1: 128 requests failed.*code 82h" /tmp/survive \
      > /dev/null
  done
fi

step "nobody else has them: $endpoint, of which number $((goes - 2)) goes"
for serial in LAB2 LAB3; do must gnstorctl local bind "$(address_of $serial)" --driver $driver; done
survive "$endpoint" $goes
must grep -E "pulled out: controller $((goes - 2)): .*timed out" /tmp/survive > /dev/null
must grep -E "read after a reset: controller $((goes - 2)): 128 requests failed" /tmp/survive \
  > /dev/null
must grep "this CPU: " /tmp/survive > /dev/null
refuses "." gnstor dump "$endpoint" --mib 1

step "the other one alone, then Linux's again"
must gnstor dump "$kept" --mib 8 --image /tmp/kept
must gnstorctl local release "$kept"
within 20 disk_of LAB$stays 1
disk=$(disk_of LAB$stays 1)
within 10 test -b "$disk"
same "the half that is left" "$(sum_of "$disk" 8)" "$(sum /tmp/kept)"
[ "$(tr -d '\0' < /tmp/kept | wc -c)" -gt 8000000 ] || failed "nothing was written to it"
ends
