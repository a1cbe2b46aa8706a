#!/bin/sh
# The base image where no registry is reachable: a Debian made from its package mirror, as a tar on stdout. Needs root and debootstrap.
# usage: debootstrap.sh FOLDER   (an empty one for the files; about 400 MB, to be removed afterwards)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$1/rootfs
# debootstrap needs chroot and mount, which not every account's PATH holds.
export PATH="$PATH:/usr/sbin:/sbin"
debootstrap --variant=minbase --include=bash,ca-certificates,git,procps,python3 \
  bookworm "$root" "${TADPOLE_DEBIAN_MIRROR:-http://deb.debian.org/debian}" >&2
cp "$here/setup.sh" "$root/setup.sh"
chroot "$root" sh /setup.sh >&2
rm "$root/setup.sh"
tar -C "$root" --one-file-system --exclude=./proc/* --exclude=./sys/* --exclude=./dev/* -cf - .
