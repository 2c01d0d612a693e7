# shellcheck shell=bash disable=SC2154 # sourced by guest-lab, which sets the variables
# Debian packages and a kernel, downloaded and unpacked below $cache/root and $cache/kernel.

# With what they depend on. rdma-core itself is left out: it holds udev rules only, and needs systemd.
packages=(qemu-system-x86 busybox-static dash kmod cpio iproute2 libibverbs1 ibverbs-providers
  ibverbs-utils librdmacm1 rdmacm-utils nvme-cli xfsprogs)

# Bulky, and needed by nothing but the packaging scripts of the above.
unwanted='^(perl|perl-.*|libperl.*|lib.*-perl|python3.*|libpython3.*|iso-codes|media-types|debconf'
unwanted+='|dpkg|adduser|passwd|usrmerge|dmsetup|libgstreamer.*|libasound2.*)$'

root=$cache/root
library_folder=usr/lib/x86_64-linux-gnu
loader=$root/lib64/ld-linux-x86-64.so.2
# fio is linked with a library in a folder of Ceph's.
library_path=$root/$library_folder:$root/$library_folder/ceph

no_lab() { die 77 "skipped: $*"; }

apt() { apt-get -q -o APT::Sandbox::User=root -o Debug::NoLocking=1 "$@"; }

# Prints what installing the packages would install if nothing at all were installed here: so the
# result does not depend on this machine.
resolve() {
  : > "$scratch/status"
  apt install -s --no-install-recommends -o Dir::State::status="$scratch/status" "$@" \
    2> "$scratch/apt" | awk '$1 == "Inst" { print $2 }'
}

# Downloads packages into a folder: download <folder> <package>...
download() { (cd "$1" && shift && apt download "$@") > "$scratch/apt" 2>&1; }

# Unpacks packages and their dependencies into $root, once: unpack <stamp> <package>...
unpack() {
  local stamp=$cache/stamps/$1 begun=$EPOCHREALTIME needed missing=() name deb
  shift
  [[ -e $stamp ]] && return
  [[ $(uname -m) == x86_64 ]] || no_lab "the lab's packages are for x86-64"
  command -v apt-get >/dev/null || no_lab "the lab needs apt-get to fetch packages of Debian 12"
  if ! needed=$(resolve "$@"); then
    [[ $(id -u) -eq 0 ]] && apt update > "$scratch/apt" 2>&1
    needed=$(resolve "$@") ||
      no_lab "apt cannot find $*: $(tail -1 "$scratch/apt") (apt-get update? Debian 12?)"
  fi
  while read -r name; do
    [[ -e $cache/stamps/package-$name ]] || missing+=("$name")
  done < <(grep -Ev "$unwanted" <<<"$needed")
  if [[ ${#missing[@]} -gt 0 ]]; then
    rm -rf "$scratch/debs"
    mkdir -p "$scratch/debs" "$root"/usr/{bin,sbin,lib,lib64}
    for name in bin sbin lib lib64; do [[ -e $root/$name ]] || ln -s "usr/$name" "$root/$name"; done
    download "$scratch/debs" "${missing[@]}" || no_lab "cannot download: $(tail -1 "$scratch/apt")"
    for deb in "$scratch"/debs/*.deb; do
      # dpkg -x would replace the links bin, lib, ... by folders.
      dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --keep-directory-symlink \
        --no-same-owner --exclude='./usr/share/'{doc,man,locale}'/*' || die 3 "cannot unpack $deb"
      note_version "$deb"
    done
    for name in "${missing[@]}"; do : > "$cache/stamps/package-$name"; done
  fi
  : > "$stamp"
  say "${#missing[@]} packages fetched and unpacked in $(seconds "$begun" "$EPOCHREALTIME") s"
}

# shellcheck disable=SC2016 # dpkg-deb fills it in
note_version() { dpkg-deb -W --showformat='${Package} ${Version}\n' "$1" >> "$cache/versions"; }

prepare_packages() {
  local name
  unpack "lab-$(md5sum <<<"${packages[*]}" | cut -c1-12)" "${packages[@]}"
  for name in "${packages_more[@]}"; do unpack "more-$name" "$name"; done
}

# The path of a program of the packages; fails if there is none.
find_program() {
  local folder path
  for folder in usr/sbin usr/bin; do
    path=$root/$folder/$1
    [[ -L $path && $(readlink "$path") == /* ]] && path=$root$(readlink "$path")
    [[ -e $path ]] && { echo "$path"; return; }
  done
  return 1
}

# Runs a program of the packages on this machine, with their loader and libraries.
run_here() {
  local name=$1 path
  path=$(find_program "$name") || die 3 "the lab's packages have no program $name"
  shift
  "$loader" --argv0 "$name" --library-path "$library_path" "$path" "$@"
}

# Sets kernel_folder and kernel_version; fetches and unpacks the kernel, once.
prepare_kernel() {
  local begun=$EPOCHREALTIME name=$kernel stamp
  case $kernel in
    6.1) name=linux-image-amd64 ;;
    6.12) name=linux-image-6.12-amd64 ;;
  esac
  stamp=$cache/stamps/$name  # what a meta package stands for is remembered
  if [[ $name =~ ^linux-image-([0-9.]+-)?amd64$ && ! -s $stamp ]]; then
    apt-cache show "$name" 2>/dev/null |
      sed -n 's/^Depends: \(linux-image-[^ ,]*\).*/\1/p' | head -1 > "$stamp"
    [[ -s $stamp ]] || no_lab "apt knows no $name (apt-get update? Debian 12?)"
  fi
  [[ ! -s $stamp ]] || name=$(<"$stamp")
  kernel_folder=$cache/kernel/$name kernel_version=${name#linux-image-}
  [[ -e $kernel_folder/ready ]] && return
  rm -rf "$kernel_folder" "$scratch/kernel"
  mkdir -p "$kernel_folder" "$scratch/kernel"
  download "$scratch/kernel" "$name" || no_lab "cannot download: $(tail -1 "$scratch/apt")"
  dpkg-deb -x "$scratch"/kernel/*.deb "$kernel_folder" || die 3 "cannot unpack $name"
  note_version "$scratch"/kernel/*.deb
  [[ -d $kernel_folder/lib/modules ]] || ln -s usr/lib "$kernel_folder/lib"
  run_here depmod -b "$kernel_folder" "$kernel_version" || die 3 "depmod failed for $name"
  unpack_kernel_image "$kernel_folder/boot/vmlinuz-$kernel_version" "$kernel_folder/vmlinux"
  : > "$kernel_folder/ready"
  say "kernel $name ready in $(seconds "$begun" "$EPOCHREALTIME") s"
}

# The guest's processor is emulated, so the kernel is decompressed here: QEMU boots the ELF file
# inside. unpack_kernel_image <bzImage> <ELF file>
unpack_kernel_image() {
  local magic tool offset
  while read -r magic tool; do
    for offset in $(LC_ALL=C grep -aobP "$magic" "$1" | cut -d: -f1 | head -8); do
      # shellcheck disable=SC2086 # a command with options
      tail -c +$((offset + 1)) "$1" | $tool > "$2" 2>/dev/null
      [[ $(head -c 4 "$2" | tail -c 3) == ELF ]] && return
    done
  done <<'FORMATS'
\xFD7zXZ\x00 xz -dc --single-stream
\x28\xB5\x2F\xFD zstd -dcq
\x1F\x8B\x08 gzip -dc
FORMATS
  rm -f "$2"
  say "the kernel cannot be decompressed here: each guest does it itself, 3 s slower"
}
