#!/usr/bin/env bash
# Runs scripts/run.sh and scripts/test.sh of the committed HEAD in a fresh Debian 12 root, and prints their times.
#
# Usage: scripts/clean_room.sh [--keep] [run | test]...     default: run test; needs root and mmdebstrap
# The root is made from the package sources that this machine's apt is configured with, and removed afterwards.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

keep=no scripts_to_run=()
for argument in "$@"; do
  case $argument in
    --keep) keep=yes ;;
    run | test) scripts_to_run+=("$argument") ;;
    *)
      printf 'clean_room.sh: unknown argument %s\n' "$argument" >&2
      exit 2
      ;;
  esac
done
((${#scripts_to_run[@]})) || scripts_to_run=(run test)
((EUID == 0)) || die "clean_room.sh makes a root file system and enters it, so it must be run by root"
command -v mmdebstrap >/dev/null || die "mmdebstrap is missing: apt-get install mmdebstrap"

# deb lines of bookworm and its updates, as apt itself understood its configuration.
sources=$(apt-get indextargets --format '$(TARGET_OF)|$(SITE)|$(RELEASE)|$(COMPONENT)' |
  awk -F'|' '$1 == "deb" && $3 ~ /^bookworm/ {print "deb " $2 " " $3 " " $4}' | sort -u)
[[ -n $sources ]] || die "apt has no source for bookworm configured"

room=$(mktemp -d -t tenon-clean-room.XXXXXX)
clean_up() {
  for point in dev proc; do
    if mountpoint -q "$room/$point"; then umount -R -l "$room/$point"; fi
  done
  if [[ $keep == yes ]]; then say "kept: $room"; else rm -rf --one-file-system "$room"; fi
}
trap clean_up EXIT

say "making a minimal Debian 12 root"
printf '%s\n' "$sources" |
  mmdebstrap --variant=minbase --mode=root --quiet bookworm "$room" - || die "mmdebstrap failed"
for file in /etc/resolv.conf /etc/hosts; do
  if [[ -e $file ]]; then cp -L "$file" "$room$file"; fi
done
cp -r /etc/apt/apt.conf.d/. "$room/etc/apt/apt.conf.d/"
mount -t proc proc "$room/proc"
mount --rbind /dev "$room/dev"
mount --make-rslave "$room/dev"

mkdir -p "$room/src/tenon"
git -C "$root" archive HEAD | tar -x -C "$room/src/tenon"
status=0 summary=()
for script in "${scripts_to_run[@]}"; do
  say "scripts/$script.sh in the clean room"
  begin=$SECONDS result=ok
  chroot "$room" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    LANG=C.UTF-8 bash "/src/tenon/scripts/$script.sh" </dev/null || { result=FAILED status=1; }
  summary+=("$(printf '%-8s %-7s %4d s' "$script.sh" "$result" $((SECONDS - begin)))")
done
say "clean room, from nothing, on $jobs cores:"
printf '    %s\n' "${summary[@]}"
exit $status
