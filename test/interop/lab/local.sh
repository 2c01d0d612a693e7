# shellcheck shell=sh
# Controllers of the bus, for scripts of guests: who is where, and gnstor's kernels on them. WAY:
# bus (resource0 and huge pages) or vfio. Sourced after guest.sh: . /lab/local.sh
# shellcheck disable=SC2034 # driver is for those that source this file
mount -t tmpfs tmpfs /run 2>/dev/null
driver=none
if [ "$WAY" = vfio ]; then
  modprobe -a vfio_iommu_type1 vfio-pci
  driver=vfio-pci
else
  echo 160 > /proc/sys/vm/nr_hugepages
fi
# address_of SERIAL: the controller's place on the bus.
address_of() {
  for one in /sys/class/nvme/nvme*; do
    [ "$(tr -d ' ' < "$one/serial")" = "$1" ] && basename "$(readlink "$one/device")" && return
  done
  return 1
}
# disk_of SERIAL NSID: the block device.
disk_of() {
  for one in /sys/class/nvme/nvme*; do
    [ "$(tr -d ' ' < "$one/serial")" = "$1" ] || continue
    for space in "$one"/nvme*n*; do
      [ "$(cat "$space/nsid" 2>/dev/null)" = "$2" ] && echo "/dev/$(basename "$space")" && return
    done
  done
  return 1
}
# gnstor COMMAND ADDRESS[?OPTIONS] [option]...
gnstor() {
  verb=$1
  where=$2
  shift 2
  interop_local_nvme "$verb" --endpoint "nvme://$where" "$@"
}
# sum FILE
sum() { sha256sum < "$1" | cut -d' ' -f1; }
