#!/bin/sh
# Installs the servers that the tests in this folder need, on Debian, and starts none of them.
set -e
packages="nginx-light swift-proxy swift-account swift-container swift-object memcached"
packages="$packages radosgw ceph-mon ceph-osd ceph-common"
packages="$packages slurmctld slurmd slurm-client munge"
export DEBIAN_FRONTEND=noninteractive
as_root=$([ "$(id -u)" = 0 ] || echo sudo)
# Packages start their servers unless a policy forbids it.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
  $as_root chmod +x $policy
  trap '$as_root rm -f $policy' EXIT
fi
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root apt-get install -y --no-install-recommends $packages >/dev/null
