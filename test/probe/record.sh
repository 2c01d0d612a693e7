#!/bin/sh
# Prints the files of this machine that gnstor-probe reads, as a tree for test/probe/trees/:
#   /PATH              a file, its lines behind '|' below
#   /PATH -> TARGET    a symbolic link
#   /PATH MODE         a device file: an empty file of that mode
# The unread rest of long files is left out. Run as root, or PCI capabilities stay unread.
release=$(cat /proc/sys/kernel/osrelease)
file() { [ -r "$1" ] && { echo "$1"; cat "$1" 2>/dev/null | tr -d '\000' | sed 's/^/|/'; }; }
some() { [ -r "$1" ] && { echo "$1"; grep -aE "$2" "$1" | sed 's/^/|/'; }; }
link() { [ -L "$1" ] && echo "$1 -> $(readlink "$1")"; }
modules='(ib_core|ib_uverbs|rdma_cm|rdma_ucm|mlx5_core|mlx5_ib|rdma_rxe|siw|nvmet|nvmet.rdma'
modules="$modules"'|nvme.rdma|nvidia|nvidia.uvm|nouveau|udmabuf|gdrdrv|nvidia.peermem)'

file /proc/sys/kernel/osrelease
some /proc/modules "^$modules "
some /proc/self/limits 'Max locked memory'
some /proc/self/status '^(Uid|Gid|Groups|CapEff):'
file /proc/self/uid_map
some "/lib/modules/$release/modules.dep" "/$modules\.ko[^:]*:" | sed "s/:.*/:/"
some "/lib/modules/$release/modules.builtin" "/$modules\.ko"
some "/boot/config-$release" '^CONFIG_(DMA_SHARED_BUFFER|INFINIBAND|RDMA_RXE|UDMABUF)='
some /proc/kallsyms ' dma_buf_export$'
file /proc/driver/nvidia/version
file /proc/driver/nvidia/params
for at in /proc/driver/nvidia/gpus/*; do file "$at/information"; done
for at in /sys/class/infiniband/*; do
  [ -e "$at" ] || continue
  for name in fw_ver node_type parent; do file "$at/$name"; done
  link "$at/device"; link "$at/device/driver"
  for port in "$at"/ports/*; do
    file "$port/state"; file "$port/link_layer"
    for gid in "$port"/gids/*; do
      grep -q '[1-9a-f]' "$gid" 2>/dev/null || continue
      file "$gid"
      file "$port/gid_attrs/types/${gid##*/}"; file "$port/gid_attrs/ndevs/${gid##*/}"
    done
  done
done
for at in /sys/class/infiniband_verbs/*; do file "$at/ibdev"; done
for at in /sys/class/net/*; do file "$at/type"; file "$at/operstate"; done
for at in /sys/bus/pci/devices/*; do
  [ -e "$at" ] || continue
  file "$at/vendor"; file "$at/class"; link "$at/iommu_group"
done
for at in /sys/kernel/iommu_groups/*; do [ -e "$at" ] && file "$at/type"; done
for at in /dev/infiniband/* /dev/nvidia[0-9]* /dev/nvidiactl /dev/nvidia-uvm /dev/udmabuf; do
  [ -c "$at" ] && echo "$at 0$(stat -c %a "$at")"
done
exit 0
